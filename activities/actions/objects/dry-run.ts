/**
 * One write as the API server would take it, by server-side dry run: nothing is stored, and the cluster's admission is
 * asked as for a real write. Reports what the action itself would report.
 */
import { lostItems } from '../../../api/core/named-lists.js';
import { keyOf } from '../../../kube/client.js';
import type { KubeClient } from '../../../kube/client.js';
import { isNotFound, isRetryable, KubeError } from '../../../kube/error.js';
import { describeKey } from '../../../kube/object.js';
import type { KubeObject } from '../../../kube/object.js';
import { fromKubeError, isSchemaFault } from '../../core/kube-errors.js';
import { describeTaken, takenAway } from './managed-fields.js';
import { aboutObject } from './object-errors.js';
import { lossMessage, takenMessage, validationOf } from './object-effect.js';
import { patchBody, replacement } from './object-body.js';
import type { Finding } from '../../core/finding.js';
import type { ObjectTask } from '../../core/object-task.js';
import { describeConflicts, ownershipConflicts, withOthers } from './ownership.js';

/** Who tries. */
export interface DryRunOptions {
  kube: KubeClient;
  identity: string;
  /** Field manager of the action. */
  manager: string;
  signal: AbortSignal;
  /** Whether Replace deletes and creates (Subscription), rather than sends a PUT. */
  replaceDeletes: boolean;
}

/** Tries one write. The object carries its marks. */
export async function dryRun(task: ObjectTask, options: DryRunOptions): Promise<[Finding, ...Finding[]]> {
  const key = keyOf(task.object);
  const shown = describeKey(key);
  try {
    return await attemptWrite(task, options);
  } catch (error) {
    if (options.signal.aborted || !(error instanceof KubeError)) throw error;
    if (isRetryable(error) && error.code !== 409 && !isSchemaFault(error)) {
      return [{ level: 'problem', reason: error.reason, message: `${shown}: ${error.message}` }];
    }
    const told = aboutObject(error, task.object);
    const { reason, message } = fromKubeError(told, { identity: options.identity, effect: 'None' });
    return [{ level: 'problem', reason, message }];
  }
}

type Found = [Finding, ...Finding[]];

const accepted = (message: string): Found => [{ level: 'ok', reason: 'Accepted', message }];

const writeOptions = (task: ObjectTask, { manager, signal }: DryRunOptions) => ({
  dryRun: true,
  fieldManager: manager,
  fieldValidation: validationOf(task, 'forward'),
  signal,
});

async function attemptWrite(task: ObjectTask, options: DryRunOptions): Promise<Found> {
  const { kube, signal } = options;
  const { object } = task;
  const key = keyOf(object);
  const shown = describeKey(key);
  const write = writeOptions(task, options);
  const missing = (verb: string): Found => [
    { level: 'problem', reason: 'NotFound', message: `${shown} does not exist, so it cannot be ${verb}` },
  ];
  switch (task.operation) {
    case 'Create':
      await kube.create(object, write);
      return accepted(`${shown} would be created`);
    case 'Apply':
      return tryApply(task, options);
    case 'Patch': {
      // Read first, as the action records the state before it changes it.
      const current = await kube.get(key, { signal });
      if (current === undefined) return missing('patched');
      const { patchType = 'merge' } = task;
      const body = patchBody(object);
      const stored = await kube.patch(key, body, { kind: patchType, ...write });
      const lost = patchType === 'merge' ? lostItems(body, current, stored) : [];
      const message = `${shown} would be patched`;
      if (lost.length === 0) return accepted(message);
      return [{ level: 'warning', reason: 'ReplacesList', message: `${message}; but ${lossMessage(lost)}` }];
    }
    case 'Replace': {
      const current = await kube.get(key, { signal });
      if (options.replaceDeletes) return replaceByDelete(task, current, options);
      if (current === undefined) return missing('replaced');
      await kube.replace(replacement(object, current), write);
      return accepted(`${shown} would be replaced`);
    }
    case 'Delete': {
      const current = await kube.get(key, { signal });
      if (current === undefined) return accepted(`${shown} is not there, so nothing would be deleted`);
      const { uid } = current.metadata;
      try {
        await kube.delete(key, { dryRun: true, signal, ...(uid !== undefined && { uid }) });
      } catch (error) {
        if (!isNotFound(error)) throw error;
      }
      return accepted(`${shown} would be deleted`);
    }
  }
}

async function tryApply(task: ObjectTask, options: DryRunOptions): Promise<Found> {
  const { kube, signal, manager } = options;
  const { object } = task;
  const key = keyOf(object);
  const shown = describeKey(key);
  const current = await kube.get(key, { signal });
  const what = `${shown} ${current === undefined ? 'would be created' : 'would be changed'}`;
  const apply = (force: boolean): Promise<KubeObject> =>
    kube.patch(key, object, { kind: 'apply', force, ...writeOptions(task, options) });
  const warnings: Finding[] = [];
  let stored: KubeObject;
  try {
    stored = await apply(false);
  } catch (error) {
    const conflicts = ownershipConflicts(error);
    if (conflicts === undefined) throw error;
    const others = withOthers(conflicts, manager);
    const shownConflicts = describeConflicts(others);
    if (task.force === false && others.length > 0) {
      const message = `${shown} would not be applied: ${shownConflicts}, and force is false`;
      return [{ level: 'problem', reason: 'Conflict', message }];
    }
    stored = await apply(true);
    if (others.length > 0) {
      const message = `${what}, and taken over from others: ${shownConflicts}`;
      warnings.push({ level: 'warning', reason: 'TakesOver', message });
    }
  }
  const taken = takenAway(current, stored, manager);
  if (taken.length > 0) {
    const message = `${what}, which ${takenMessage('takes away', describeTaken(taken))}`;
    warnings.push({ level: 'warning', reason: 'TakesAway', message });
  }
  const [first, ...more] = warnings;
  return first === undefined ? accepted(what) : [first, ...more];
}

async function replaceByDelete(
  task: ObjectTask,
  current: KubeObject | undefined,
  options: DryRunOptions,
): Promise<Found> {
  const { kube, signal } = options;
  const { object } = task;
  const key = keyOf(object);
  const write = writeOptions(task, options);
  if (current === undefined) {
    await kube.create(object, write);
    return accepted(`${describeKey(key)} would be created`);
  }
  await kube.patch(key, object, { kind: 'apply', force: true, ...write });
  await kube.delete(key, { dryRun: true, signal });
  return accepted(`${describeKey(key)} would be deleted and created again`);
}
