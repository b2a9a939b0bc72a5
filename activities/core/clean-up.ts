import { createHash } from 'node:crypto';
import type { ActionOutputs, ObjectReference } from '../../api/plan/types.js';
import { describeKey } from '../../kube/object.js';
import type { CleanupOutcome, CleanupTask } from '../../workflows/plan/contract-tasks.js';
import { HELPER_TIMEOUT_MS, inherited, notBegun, pulseOf, readError } from './attempt.js';
import { PODS_REMAIN } from './handler.js';
import type { Attempt, AttemptResult, Handler, Leftover } from './handler.js';
import { deleteObject } from './object-delete.js';
import { keyIn } from './objects.js';
import { prepare } from './prepare.js';
import type { AttemptDeps } from './prepare.js';
import { resumeSeries } from './series.js';

/** Longest wait until a hook's object is gone (S1.22). */
const GONE_MS = 120_000;

type Done = Extract<CleanupOutcome, { kind: 'done' }>;

/**
 * Deletes what a hook leaves behind (S1.22). Before: whatever has the names that the action is
 * about to create, so that it can. After: what this very action has created, by uid. Repeated until it is gone or its
 * bounds are reached; what is gone already is success.
 */
export async function cleanUpAction(
  task: CleanupTask,
  handler: Handler,
  deps: AttemptDeps,
): Promise<CleanupOutcome> {
  const series = resumeSeries(task, deps.notes);
  const pulse = pulseOf(series, HELPER_TIMEOUT_MS, deps);
  let result: AttemptResult | Done;
  try {
    // The hook's condition is evaluated only before it: afterwards, the caller knows that it held.
    const method = task.moment === 'before' ? 'capture' : 'settle';
    const prepared = await prepare(task, method, pulse, inherited(series), deps);
    result = 'attempt' in prepared ? await cleanUp(task, prepared.attempt, handler) : prepared;
  } catch (error) {
    result = readError(error, task, pulse, deps);
  } finally {
    pulse.stop();
  }
  return result.kind === 'done' ? result : notBegun(result, pulse, 'interrupted before it was cleaned up');
}

async function cleanUp(task: CleanupTask, attempt: Attempt, handler: Handler): Promise<AttemptResult | Done> {
  const found = task.moment === 'before' ? await handler.leftovers?.(attempt) : madeBy(task.made);
  if (found === undefined) return { kind: 'done' };
  if ('kind' in found) return found;
  const removed: string[] = [];
  for (const { key, uid } of found) {
    const deletion = await deleteObject(
      attempt.kube,
      { key, uid },
      {
        signal: attempt.signal,
        finalizerWaitMs: GONE_MS,
        deadline: attempt.deadline,
        beforeEffect: () => attempt.beforeEffect(),
      },
    );
    if (deletion.kind === 'terminating') {
      const { message } = deletion;
      return deletion.final
        ? { kind: 'failed', reason: 'HookCleanupFailed', message, effect: 'None' }
        : { kind: 'retry', reason: 'Terminating', message, round: 'Unclear' };
    }
    if (deletion.kind === 'deleted') removed.push(describeKey(key));
  }
  const stopUnconfirmed: string[] = [];
  for (const { outlived } of found) {
    const pods = await outlived?.();
    if (pods?.kind === 'waiting') {
      return attempt.signal.reason === 'timeout'
        ? { kind: 'retry', reason: PODS_REMAIN, message: pods.said, round: 'Unclear', afterMs: 1 }
        : { kind: 'interrupted', message: pods.said, effect: 'None' };
    }
    if (pods?.kind === 'unconfirmed') stopUnconfirmed.push(...pods.places);
  }
  return {
    kind: 'done',
    ...(removed.length > 0 && { message: `removed ${removed.join(', ')}` }),
    ...(stopUnconfirmed.length > 0 && { stopUnconfirmed }),
  };
}

/** What an action has created, last first. */
function madeBy({ created = [], jobRef }: ActionOutputs = {}): Leftover[] {
  const job: ObjectReference[] =
    jobRef === undefined ? [] : [{ ...jobRef, apiVersion: 'batch/v1', kind: 'Job' }];
  return [...job, ...created].reverse().flatMap((reference) => {
    const key = keyIn(reference);
    // Without a uid it could be somebody else's by now.
    return key === undefined || reference.uid === undefined ? [] : [{ key, uid: reference.uid }];
  });
}

/**
 * Label value by which the Jobs of a hook are found again, whose names differ from run to run: plan and place of the
 * action.
 */
export function hookId({ run, at, name }: Pick<Attempt['task'], 'run' | 'at' | 'name'>): string {
  const { namespace, name: plan } = run.plan;
  const place = JSON.stringify([namespace, plan, at.stage, at.workflow, name]);
  return createHash('sha256').update(place).digest('hex').slice(0, 32);
}
