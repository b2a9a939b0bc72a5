import type { RunDescription } from '../../client/runs/runs.js';
import type { Cacheable } from '../../kube/informer.js';
import type { ReleaseCause, RunView } from './kind.js';
import {
  describeRun,
  isMismatched,
  mayBeStarting,
  POLL_WHILE_DELETING_MS,
  POLL_WHILE_STARTING_MS,
  terminateRun,
} from './run-context.js';
import type { RunContext } from './run-context.js';

/** Lets an object that is being deleted go, once its run has ended: it is cancelled, waited for, and never forgotten. */
export async function removeRun<T extends Cacheable>(
  context: RunContext<T>,
  object: T,
  view: RunView,
): Promise<number | undefined> {
  const { kind, log, memoryOf, now, runs, times } = context;
  if (!view.held) {
    await kind.release(object);
    return undefined;
  }
  const letGo = async (cause: ReleaseCause): Promise<undefined> => {
    await kind.beforeRelease(object, cause);
    await kind.release(object);
    log.info({ ...kind.logFields(object), cause }, 'deletion released');
    return undefined;
  };
  if (view.ended) {
    if (view.needed === undefined || view.forceRelease) return letGo('ended');
    await kind.blocked(object, view.needed.reason, view.needed.message);
    return POLL_WHILE_DELETING_MS;
  }
  if (view.forceRelease) return letGo('forced');
  const workflowId = view.run?.workflowId ?? kind.workflowId(object);
  if (await isMismatched(context, object, view, context.temporal)) return times.silenceMs;
  const memory = memoryOf(object);
  let found: RunDescription | undefined;
  try {
    if (view.terminate !== undefined) await terminateRun(context, object, workflowId, view.terminate);
    found = await describeRun(context, object, view.run ?? { workflowId });
    if (found?.state === 'Running' && memory.deleteAcceptedAt === undefined) {
      const sent = await runs.signalCancel(workflowId, {
        via: 'Delete',
        reason: `the ${kind.words.one} was deleted`,
      });
      if (sent === 'accepted') memory.deleteAcceptedAt = now();
      log.info({ ...kind.logFields(object), workflowId, sent }, 'cancel sent for a deletion');
    }
  } catch (error) {
    await kind.blocked(
      object,
      'TemporalUnreachable',
      `waiting for Temporal to cancel run "${workflowId}": ${error instanceof Error ? error.message : String(error)}`,
    );
    throw error;
  }
  if (found === undefined) {
    if (view.run !== undefined) {
      return (await isMismatched(context, object, view, await runs.where()))
        ? times.silenceMs
        : letGo('lost');
    }
    return (await mayBeStarting(context, object)) ? POLL_WHILE_STARTING_MS : letGo('neverStarted');
  }
  if (found.state !== 'Running') {
    // A run that was started but not recorded has no status to project its end onto.
    const again = view.run === undefined ? undefined : await kind.closed(object, found);
    return again ?? letGo('ended');
  }
  if (memory.deleteAcceptedAt !== undefined && now() - memory.deleteAcceptedAt >= times.deleteWaitMs) {
    return letGo('late');
  }
  return POLL_WHILE_DELETING_MS;
}
