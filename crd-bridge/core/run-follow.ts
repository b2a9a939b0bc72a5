import type { Cacheable } from '../../kube/informer.js';
import type { RunView } from './kind.js';
import { describeRun, isMismatched, terminateRun } from './run-context.js';
import type { RunContext } from './run-context.js';

/** Follows a run that was started: tells it what there is to tell, and describes it once it has been silent for long. */
export async function followRun<T extends Cacheable>(
  context: RunContext<T>,
  object: T,
  view: RunView,
): Promise<number | undefined> {
  const { kind, memoryOf, now, room, runs, times } = context;
  const { run } = view;
  if (run === undefined) return undefined;
  const memory = memoryOf(object);
  if (view.spoken) room.takenUp(object.metadata.uid ?? '');
  if (await isMismatched(context, object, view, context.temporal)) return times.silenceMs;
  await deliver(context, object, { ...view, run });
  const wait = memory.lookAt - now();
  if (wait > 0) return wait;
  const found = await describeRun(context, object, run, { withStages: true });
  if (found === undefined) {
    if (await isMismatched(context, object, view, await runs.where())) return times.silenceMs;
    await kind.lost(object);
  } else if (found.state !== 'Running') {
    const again = await kind.closed(object, found);
    if (again !== undefined) {
      memory.isSettling = true;
      memory.lookAt = now() + again;
      return again;
    }
  } else {
    const again = await kind.alive(object, found);
    if (again !== undefined) {
      memory.lookAt = now() + again;
      return again;
    }
  }
  memory.lookAt = now() + times.silenceMs;
  return times.silenceMs;
}

/** Says what the run has to be told and was not yet. */
async function deliver<T extends Cacheable>(
  context: RunContext<T>,
  object: T,
  { run, cancel, cancelKnown, deliveries, terminate }: RunView & Required<Pick<RunView, 'run'>>,
): Promise<void> {
  const { kind, log, memoryOf, runs } = context;
  const memory = memoryOf(object);
  if (terminate !== undefined) await terminateRun(context, object, run.workflowId, terminate);
  else if (cancel !== undefined && !cancelKnown && !memory.cancelled.has('cancel')) {
    const sent = await runs.signalCancel(run.workflowId, cancel);
    memory.cancelled.add('cancel');
    log.info({ ...kind.logFields(object), workflowId: run.workflowId, sent }, 'cancel sent');
    if (sent === 'notRunning') memory.lookAt = 0;
  }
  for (const { id, about, send } of deliveries) {
    if (memory.delivered.has(id)) continue;
    const sent = await send(run.workflowId);
    memory.delivered.add(id);
    log.info({ ...kind.logFields(object), ...about, sent }, 'message delivered to the run');
  }
}
