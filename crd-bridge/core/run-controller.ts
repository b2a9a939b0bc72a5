import type { Cacheable } from '../../kube/informer.js';
import { removeRun } from './run-removal.js';
import type { Memory, RunContext } from './run-context.js';
import type { RunControllerOptions } from './run-controller-options.js';
import { followRun } from './run-follow.js';
import { startRun } from './run-start.js';
import { troubleOf } from './trouble.js';

/** Brings objects of one kind and their runs together. */
export interface RunController<T extends Cacheable> {
  /**
   * Looks at an object and does the next thing. Level-triggered: whatever state a crash has left, the same call mends it.
   *
   * @returns after how many milliseconds to look again, if at all
   */
  reconcile(object: T): Promise<number | undefined>;
  /** A run has sent an update about itself. */
  heard(uid: string): void;
  /** Forgets what is remembered of an object; its status stays as it is. */
  forget(uid: string): void;
}

/** A failure that passes within this time is not shown in the status. */
const TELL_FAILURE_MS = 1_000;

/**
 * The order of steps, and what a crash between two of them leaves:
 *
 * | crash after | leaves | mended by |
 * |---|---|---|
 * | prepare (metadata, lock, snapshot written) | an object without a run that holds its lock | the next reconcile: `prepareStart` finds its own lock and goes on; if it is too late to start, it refuses and frees the lock |
 * | start | a run that the status does not know | the next reconcile: `start` is idempotent by id, finds the run and records it; mirrors are retried until then |
 * | record | nothing | – |
 * | the run's end, before its last mirror | a run that waits for the mirror | Temporal hands the mirror to the next bridge |
 * | plan written, execution not | an execution that is Running, its plan free | the same mirror, retried: it is idempotent |
 * | cancel sent | nothing | the status carries the request once the run has reported it; until then, sending it again changes nothing |
 * | run terminated | a run that has closed without its last mirror | the next reconcile describes it, settles what its stages had begun and writes the end |
 * | deletion: cancel sent | an object with finalizer | the next reconcile sends it again and begins the wait anew |
 * | deletion: history written | an object with finalizer | the next reconcile writes nothing new and removes the finalizer |
 *
 * A cancel or a deletion seen by one replica can race with a start by another. The end of an object without a run first
 * describes the run and then looks at the lock; a start first takes the lock and then starts the run:
 *
 * | the end looks | it finds | and leaves |
 * |---|---|---|
 * | before the lock | neither run nor lock | an object that has ended or is gone. If its watch is quick, the start sees this before it starts and gives the lock back; otherwise it starts, finds the end when it records, and cancels its run at once |
 * | between lock and start | a lock without a run | everything unchanged: it looks again until the run exists. After 15 s it takes the start for dead; if the start does go on, it finds the end when it records, and cancels its run |
 * | after the start | the run | the run to be cancelled; whichever side comes first records it |
 */
export function createRunController<T extends Cacheable>(options: RunControllerOptions<T>): RunController<T> {
  const { room, times } = options;
  const now = options.now ?? Date.now;
  const memories = new Map<string, Memory>();
  const forget = (uid: string): void => {
    room.leave(uid);
    memories.delete(uid);
  };
  const context: RunContext<T> = {
    ...options,
    now,
    forget,
    memoryOf(object) {
      const uid = object.metadata.uid ?? '';
      // A run older than this process is described right away: it may have ended in the meantime.
      const memory = memories.get(uid) ?? { lookAt: 0, cancelled: new Set(), delivered: new Set() };
      memories.set(uid, memory);
      return memory;
    },
  };

  return {
    async reconcile(object) {
      try {
        const again = await advance(context, object);
        delete memories.get(object.metadata.uid ?? '')?.failingSince;
        return again;
      } catch (error) {
        await tell(context, object, error);
        throw error;
      }
    },
    heard(uid) {
      room.takenUp(uid);
      const memory = memories.get(uid);
      if (memory !== undefined && memory.isSettling !== true) memory.lookAt = now() + times.silenceMs;
    },
    forget,
  };
}

/** What the bridge cannot do is shown in the status, not only in its log (S5.7). */
async function tell<T extends Cacheable>(
  { kind, memoryOf, now }: RunContext<T>,
  object: T,
  error: unknown,
): Promise<void> {
  const memory = memoryOf(object);
  memory.failingSince ??= now();
  if (now() - memory.failingSince < TELL_FAILURE_MS) return;
  const { reason, message } = troubleOf(error);
  const telling = kind.view(object).deleting
    ? kind.blocked(object, reason, message)
    : kind.held(object, reason, message);
  // If this write fails too, the original error is the one that counts.
  await telling.catch(() => undefined);
}

async function advance<T extends Cacheable>(context: RunContext<T>, object: T): Promise<number | undefined> {
  const { kind, room } = context;
  const view = kind.view(object);
  const mayBegin = context.mayBegin?.() ?? true;
  if (!mayBegin && view.run === undefined && !(view.deleting && view.held)) return undefined;
  if (view.deleting || view.cancel !== undefined) room.giveUp(object.metadata.uid ?? '');
  if (view.deleting) return removeRun(context, object, view);
  if (view.ended) {
    if (view.inherited) await kind.disown(object);
    context.forget(object.metadata.uid ?? '');
    return undefined;
  }
  return view.run === undefined ? startRun(context, object, view) : followRun(context, object, view);
}
