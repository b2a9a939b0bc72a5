import { formatDuration } from '../api/duration.js';
import { isObject } from '../api/json.js';
import { renderString } from '../api/render.js';
import type { ActionOutputs, ObjectReference } from '../api/types.js';
import { keyOf } from '../kube/client.js';
import { isRetryable, KubeError } from '../kube/error.js';
import { describeKey } from '../kube/object.js';
import type { KubeObject } from '../kube/object.js';
import { subscriptionSpec } from './clusternet-body.js';
import { APPS, bindingOf, listClusters, missingKind, stopUnconfirmed } from './clusternet.js';
import type { ManagedCluster } from './clusternet.js';
import type { Attempt, AttemptResult, Handler } from './handler.js';
import { isMarkedBy } from './marks.js';
import {
  captureAll,
  FINALIZER_WAIT_MS,
  isAutomaticUndo,
  performAll,
  refused,
  settleAll,
  settleUndo,
  undoAll,
} from './object-action.js';
import type { ObjectHandlerOptions, Performed, Refusal } from './object-action.js';
import { deleteObject } from './object-delete.js';
import { carryOut } from './object-effect.js';
import type { EffectBounds, ObjectEffect, ObjectTask } from './object-effect.js';
import { lookUp } from './objects.js';
import { operationOf } from './operations.js';
import { waitUntilReady } from './subscription-ready.js';
import type { Before, Waited } from './subscription-ready.js';
import { chooseTargets } from './subscription-targets.js';

/** An attempt ends this long before its deadline, so that it can still say what it waited for. */
const MARGIN_MS = 1500;
/** Longest look at readiness when an attempt that waited for it was lost. */
const SETTLE_LOOK_MS = 5000;

/**
 * Subscription actions: which clusters run what (seed: SubscriptionAction; plan semantics, §3). Replace deletes, waits
 * until the old one is gone, and creates: Clusternet removes asynchronously, and a new Subscription of the same name is
 * refused before. It is also what gets a deployment going again that Clusternet has given up.
 */
export function createSubscriptionHandler(options: Partial<ObjectHandlerOptions> = {}): Handler {
  const bounds = { finalizerWaitMs: options.finalizerWaitMs ?? FINALIZER_WAIT_MS };
  return {
    async run(attempt) {
      const plan = await render(attempt);
      if (!plan.ok) return refused(plan);
      const { task, warning } = plan;
      // An apply or patch that drops a cluster is known by what was bound before it.
      const before =
        task.operation === 'Create'
          ? undefined
          : await lookUp(attempt.kube, keyOf(task.object), attempt.signal);
      const performed = await performAll([task], attempt, {
        bounds,
        outputsOf,
        perform: (one, tracked) =>
          one.operation === 'Replace' ? replace(one, tracked, bounds) : carryOut(one, tracked, bounds),
      });
      if (performed.stopped !== undefined) return performed.stopped;

      const former = performed.state?.documents[0]?.object ?? before;
      const unconfirmed = await unconfirmedStops(task, plan.matched, former, attempt);
      const notes = [unconfirmed, warning, performed.notes];
      const isWaitedFor = attempt.action.waitReady === true && task.operation !== 'Delete';
      if (!isWaitedFor) return succeeded(performed, notes);
      return awaitReady(task, performed, former, notes, attempt);
    },
    async capture(attempt) {
      const plan = await render(attempt);
      if (!plan.ok) return { kind: 'failed', reason: plan.reason, message: plan.message };
      return captureAll([plan.task], attempt);
    },
    async undo(attempt) {
      const removed: string[] = [];
      const result = await undoAll(attempt, {
        bounds,
        forwardTasks: async () => {
          const plan = await render(attempt, { checkTargets: false });
          return plan.ok ? [plan.task] : [];
        },
        beforeDelete: (object) => {
          removed.push(...bindingsOf(object));
          return Promise.resolve();
        },
      });
      if (result.kind !== 'succeeded' || removed.length === 0) return result;
      const warning = stopUnconfirmed(removed, await listClusters(attempt.kube, attempt.signal));
      return warning === undefined ? result : { ...result, message: joined([warning, result.message]) };
    },
    async settle(attempt) {
      if (isAutomaticUndo(attempt)) return settleUndo();
      const plan = await render(attempt, { checkTargets: false });
      if (!plan.ok) return refused(plan);
      const settled = await settleAll([plan.task], attempt, outputsOf);
      const uid = settled.kind === 'succeeded' ? settled.outputs?.subscriptionRef?.uid : undefined;
      if (settled.kind !== 'succeeded' || uid === undefined || attempt.action.waitReady !== true)
        return settled;
      const waited = await waitUntilReady(
        attempt,
        { ...nameOf(plan.task), uid },
        plan.task.operation === 'Create' ? undefined : { generation: undefined, specHash: undefined },
        { timeoutMs: Math.min(SETTLE_LOOK_MS, attempt.deadline - Date.now() - MARGIN_MS) },
      );
      if (waited.kind === 'ready') return settled;
      return {
        kind: 'failed',
        reason: 'NotReady',
        message: `the Subscription is written, but not ready: ${waitedFor(waited)}`,
        effect: 'Done',
        ...(settled.outputs !== undefined && { outputs: settled.outputs }),
      };
    },
  };
}

type Plan =
  | {
      ok: true;
      task: ObjectTask;
      /** Clusters that the written subscribers choose; undefined when none are written. */
      matched?: ManagedCluster[];
      warning?: string;
    }
  | ({ ok: false } & Refusal);

async function render(
  { action, scope, kube, task, signal }: Attempt,
  options: { checkTargets: boolean } = { checkTargets: true },
): Promise<Plan> {
  const block = action.subscription;
  if (block === undefined) {
    return invalid(`action "${action.name}" has no block "subscription"; write the Subscription to change`);
  }
  const named = operationOf('Subscription', block.operation, scope);
  if (!named.ok) return named;
  const { operation } = named;
  const body = subscriptionSpec(block, scope);
  if (!body.ok) return body;
  const { spec } = body;
  const missing = await missingKind(kube, 'Subscription');
  if (missing !== undefined) return { ok: false, ...missing };
  const namespace = renderString(block.namespace ?? '', scope) || task.run.namespace;
  const object: KubeObject = {
    apiVersion: APPS,
    kind: 'Subscription',
    metadata: { name: renderString(block.name, scope), namespace },
    spec,
  };
  const objectTask: ObjectTask = { operation, object };
  if (operation === 'Delete') return { ok: true, task: objectTask };

  const isWhole = operation === 'Create' || operation === 'Replace';
  if ((isWhole && spec.feeds === undefined) || spec.feeds === null || isEmptyList(spec.feeds)) {
    return invalid(
      'feeds is empty; name at least one source. To stop what is deployed use operation Delete: Clusternet leaves it running when only its feeds go',
    );
  }
  const writesSubscribers = isWhole || Object.hasOwn(spec, 'subscribers');
  if (!writesSubscribers || !options.checkTargets) return { ok: true, task: objectTask };
  const targets = chooseTargets(spec.subscribers, await listClusters(kube, signal));
  if (!targets.ok) return targets;
  return {
    ok: true,
    task: objectTask,
    matched: targets.matched,
    ...(targets.warning !== undefined && { warning: targets.warning }),
  };
}

/** Deletes the Subscription that was there before, waits until it is gone, and creates the new one. */
async function replace(task: ObjectTask, attempt: Attempt, bounds: EffectBounds): Promise<ObjectEffect> {
  const { kube, signal } = attempt;
  const key = keyOf(task.object);
  const current = await lookUp(kube, key, signal);
  const former = task.prior?.object ?? undefined;
  const isFormer =
    current !== undefined &&
    (former === undefined
      ? task.prior === undefined && !isMarkedBy(current, attempt.key)
      : current.metadata.uid === former.metadata.uid);
  let deleted = former !== undefined && current === undefined;
  if (isFormer) {
    // Refused only after the delete, a bad spec would leave nothing deployed at all.
    await kube.patch(key, task.object, { kind: 'apply', force: true, dryRun: true, signal });
    const result = await deleteObject(
      kube,
      { key, uid: current.metadata.uid },
      {
        signal,
        deadline: attempt.deadline,
        finalizerWaitMs: bounds.finalizerWaitMs,
        beforeEffect: () => attempt.beforeEffect(),
      },
    );
    if (result.kind === 'terminating') {
      return {
        kind: result.final ? 'failed' : 'retry',
        reason: 'StillTerminating',
        message: result.message,
        effect: 'Done',
      };
    }
    deleted = true;
  }
  try {
    const effect = await carryOut({ ...task, operation: 'Create' }, attempt, bounds);
    if (effect.kind !== 'done') return deleted ? { ...effect, effect: 'Done' } : effect;
    return { ...effect, created: task.prior === undefined ? !deleted : task.prior.object === null };
  } catch (error) {
    if (!deleted || signal.aborted || !(error instanceof KubeError)) throw error;
    return {
      kind: isRetryable(error) ? 'retry' : 'failed',
      reason: error.reason,
      message: `${describeKey(key)} was deleted, but could not be created again: ${error.message}`,
      effect: 'Done',
    };
  }
}

/** The warning about clusters that are out of reach and from which this action removed something. */
async function unconfirmedStops(
  task: ObjectTask,
  matched: ManagedCluster[] | undefined,
  former: KubeObject | undefined,
  attempt: Attempt,
): Promise<string | undefined> {
  if (former === undefined || (task.operation !== 'Delete' && matched === undefined)) return undefined;
  const kept = new Set(task.operation === 'Delete' ? [] : matched?.map(bindingOf));
  const removed = bindingsOf(former).filter((binding) => !kept.has(binding));
  if (removed.length === 0) return undefined;
  try {
    return stopUnconfirmed(removed, await listClusters(attempt.kube, attempt.signal));
  } catch (error) {
    if (!(error instanceof KubeError)) throw error;
    return `StopUnconfirmed: whether ${removed.join(', ')} stopped what was deployed there is not known (${error.message})`;
  }
}

async function awaitReady(
  task: ObjectTask,
  performed: Performed,
  former: KubeObject | undefined,
  notes: (string | undefined)[],
  attempt: Attempt,
): Promise<AttemptResult> {
  const [effect] = performed.effects;
  const uid = effect?.reference.uid ?? '';
  const isNew = former === undefined || former.metadata.uid !== uid;
  const before: Before | undefined = isNew
    ? undefined
    : {
        generation: former.metadata.generation,
        specHash: isObject(former.status) ? former.status.specHash : undefined,
      };
  const started = Date.now();
  let waitingFor = 'Clusternet to bind clusters';
  let waited: Waited;
  try {
    waited = await waitUntilReady(attempt, { ...nameOf(task), uid }, before, {
      timeoutMs: attempt.deadline - Date.now() - MARGIN_MS,
      progress: (text) => {
        waitingFor = text;
      },
    });
  } catch (error) {
    if (!attempt.signal.aborted) throw error;
    return {
      kind: 'interrupted',
      outputs: performed.outputs,
      effect: 'Done',
      message: joined([`waited for ${waitingFor}`, ...notes]) ?? '',
    };
  }
  const { outputs } = performed;
  switch (waited.kind) {
    case 'ready':
      return succeeded(performed, [...notes, `applied in ${waited.bindings.join(', ')}`]);
    case 'gone':
      return {
        kind: 'failed',
        reason: 'Replaced',
        message:
          joined([
            `${describeKey(keyOf(task.object))} was deleted by someone else while it was waited for`,
            ...notes,
          ]) ?? '',
        outputs,
        effect: 'Done',
      };
    case 'waiting':
      return {
        kind: 'retry',
        reason: waited.failure === undefined ? 'NotReady' : 'DeploymentFailed',
        message:
          joined([
            `${describeKey(keyOf(task.object))} is written, but after ${formatDuration(Date.now() - started)} not ready: ${waitedFor(waited)}`,
            ...notes,
          ]) ?? '',
        outputs,
        ambiguous: true,
        effect: 'Done',
      };
  }
}

function succeeded(performed: Performed, notes: (string | undefined)[]): AttemptResult {
  const message = joined(notes);
  return { kind: 'succeeded', outputs: performed.outputs, ...(message !== undefined && { message }) };
}

function waitedFor(waited: Waited): string {
  switch (waited.kind) {
    case 'ready':
      return 'nothing';
    case 'gone':
      return 'it is gone';
    case 'waiting':
      return waited.failure ?? `it waits for ${waited.for}`;
  }
}

function joined(parts: (string | undefined)[]): string | undefined {
  const present = parts.filter((part) => part !== undefined);
  return present.length === 0 ? undefined : present.join('; ');
}

function bindingsOf(subscription: KubeObject): string[] {
  const { status } = subscription;
  return isObject(status) && Array.isArray(status.bindingClusters) ? status.bindingClusters.map(String) : [];
}

const nameOf = ({ object }: ObjectTask): { name: string; namespace: string } => ({
  name: object.metadata.name,
  namespace: object.metadata.namespace ?? '',
});

const isEmptyList = (value: unknown): boolean => Array.isArray(value) && value.length === 0;

const invalid = (message: string): { ok: false } & Refusal => ({ ok: false, reason: 'InvalidSpec', message });

const outputsOf = (references: ObjectReference[], created: ObjectReference[]): ActionOutputs => ({
  ...(references[0] !== undefined && { subscriptionRef: references[0] }),
  ...(created.length > 0 && { created }),
});
