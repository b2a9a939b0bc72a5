/** The start of a run: its turn, what comes before it, its record. */
import { ANNOTATIONS } from '../../api/core/group.js';
import { readTraceContext } from '../../api/core/trace-context.js';
import type { Cacheable } from '../../kube/informer.js';
import { droverAttributes, NO_TRACING } from '../../runtime/tracing/tracing.js';
import type { PreparedRun, RunView } from './kind.js';
import { mayBeStarting, POLL_WHILE_STARTING_MS } from './run-context.js';
import { keyOf } from './object-ref.js';
import type { RunContext } from './run-context.js';

/** After this long, the status shows what keeps a start waiting (S5.7). */
const TELL_AFTER_MS = 4_000;

/** Starts the run of an object that has none, or waits for its turn. @returns after how many milliseconds to look again */
export async function startRun<T extends Cacheable>(
  context: RunContext<T>,
  object: T,
  view: RunView,
): Promise<number | undefined> {
  const { kind, memoryOf, room, runs } = context;
  const workflowId = kind.workflowId(object);
  let goesOn = view.goesOn;
  if (view.cancel !== undefined) {
    // Status may lag behind a start that was interrupted: only Temporal knows that nothing runs.
    const found = await runs.describe(workflowId);
    if (found === undefined) {
      if (!(await mayBeStarting(context, object))) await kind.cancelBeforeStart(object, view.cancel);
      // Look again in either case: an object that has ended costs nothing to look at.
      return POLL_WHILE_STARTING_MS;
    }
    goesOn = true;
  }
  const uid = object.metadata.uid ?? '';
  if (!goesOn && !room.enter(uid, keyOf(object))) return awaitTurn(context, object);
  const memory = memoryOf(object);
  delete memory.waitingSince;
  delete memory.waitingSaid;
  return whileTelling(context, object, () => begin(context, object, workflowId));
}

/** The room wakes the object when its turn comes; until then its status shows what it waits for. */
async function awaitTurn<T extends Cacheable>(
  { kind, memoryOf, now, room }: RunContext<T>,
  object: T,
): Promise<number | undefined> {
  const memory = memoryOf(object);
  memory.waitingSince ??= now();
  const left = memory.waitingSince + TELL_AFTER_MS - now();
  if (left > 0) return left;
  // Written only once: each write brings the object up again, and the number that waits has changed by then.
  if (memory.waitingSaid === true) return undefined;
  await kind.held(
    object,
    'WaitingForTurn',
    `${room.waiting} ${kind.words.several} wait for their turn: workers have not taken up yet what was started before; it starts by itself, and can be cancelled at once`,
  );
  memory.waitingSaid = true;
  return undefined;
}

/** Shows in the status that a step hangs, as a call to an unreachable Temporal does, before the step fails. */
async function whileTelling<T extends Cacheable, R>(
  { kind }: RunContext<T>,
  object: T,
  step: () => Promise<R>,
): Promise<R> {
  let telling: Promise<void> | undefined;
  const timer = setTimeout(() => {
    telling = kind
      .held(object, 'Starting', 'its start takes long: Temporal or the API server has not answered yet')
      .catch(() => undefined);
  }, TELL_AFTER_MS);
  try {
    return await step();
  } finally {
    clearTimeout(timer);
    await telling;
  }
}

async function begin<T extends Cacheable>(
  context: RunContext<T>,
  object: T,
  workflowId: string,
): Promise<number | undefined> {
  const { kind, room, tracing = NO_TRACING } = context;
  const { annotations } = object.metadata;
  return tracing.inSpan(
    {
      name: `start ${kind.words.one}`,
      attributes: droverAttributes(kind.logFields(object)),
      parent: readTraceContext({ traceparent: annotations?.[ANNOTATIONS.traceparent] }),
    },
    async (span) => {
      const decision = await kind.prepareStart(object);
      if (decision.kind !== 'start') room.leave(object.metadata.uid ?? '');
      switch (decision.kind) {
        case 'wait':
          // It is tried again, maybe often: a trace shows the try that began the run.
          span.drop();
          return decision.ms;
        case 'refused':
          span.fail('Refused');
          return undefined;
        case 'start':
          return startPrepared(context, object, workflowId, decision.prepared);
      }
    },
  );
}

async function startPrepared<T extends Cacheable>(
  { kind, log, memoryOf, now, onStart, room, runs, times }: RunContext<T>,
  object: T,
  workflowId: string,
  prepared: PreparedRun,
): Promise<number | undefined> {
  const started = await prepared.start();
  onStart();
  const found = started.kind === 'started' ? started : await runs.describe(workflowId);
  if (found === undefined) throw new Error(`run ${workflowId} was there and is gone`);
  const { runId } = found;
  if ('workflowId' in found && !(await prepared.adopt(found))) {
    room.leave(object.metadata.uid ?? '');
    return undefined;
  }
  await prepared.record({ workflowId, runId });
  log.info({ ...kind.logFields(object), workflowId, runId }, 'run started');
  const memory = memoryOf(object);
  memory.lookAt = started.kind === 'started' ? now() + times.firstLookMs : 0;
  return memory.lookAt - now();
}
