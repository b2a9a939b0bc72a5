import type { RunDescription, Runs } from '../../client/runs/runs.js';
import type { Cacheable } from '../../kube/informer.js';
import type { ReleaseCause, RunKind, RunView } from './kind.js';
import type { Log } from './log.js';
import type { StartRoom } from './start-room.js';
import { isElsewhere } from './temporal-identity.js';
import type { TemporalIdentity } from './temporal-identity.js';
import { troubleOf } from './trouble.js';

/** Times of a run controller, in milliseconds. */
export interface RunControllerTimes {
  /** A run that has sent nothing for this long is described (default 30 s). */
  silenceMs: number;
  /** A run that has sent nothing since its start is first described after this long (default 30 s). */
  firstLookMs: number;
  /** How long a deleted object waits for its run after the run has accepted the cancel (default 2 min). */
  deleteWaitMs: number;
}

/** What a run controller is made of. */
export interface RunControllerOptions<T extends Cacheable> {
  kind: RunKind<T>;
  runs: Pick<Runs, 'describe' | 'signalCancel' | 'terminate' | 'where'>;
  /** The connected Temporal; read anew at each use. */
  temporal: TemporalIdentity;
  times: RunControllerTimes;
  log: Log;
  onStart: () => void;
  /** Bounds the runs that are started but not taken up yet. It wakes an object that found it full. */
  room: StartRoom;
  /**
   * Whether anything may be begun. While not, objects without a run of ours are left alone: they may belong to another
   * controller. The caller that answers no must bring the objects up again later.
   */
  mayBegin?: () => boolean;
  now?: () => number;
}

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

/** What is remembered of an object between reconciles. Losing it costs a call, never a wrong step. */
interface Memory {
  /** When to describe the run next. */
  lookAt: number;
  /** Kinds of cancel that were sent already. */
  cancelled: Set<string>;
  /** Deliveries that were accepted already. The run heeds each once, so sending one again is harmless. */
  delivered: Set<string>;
  /** Set when the run has closed but parts of it still act: their updates must not put off the next look. */
  isSettling?: true;
  /** When the run has accepted the cancel of a deletion. */
  deleteAcceptedAt?: number;
  /** Since when a start by another replica may be under way. */
  startingSince?: number;
  /** Since when it waits for a place in the start room. */
  waitingSince?: number;
  /** Whether the status shows already that it waits. */
  waitingSaid?: true;
  /** When the current series of failures began. */
  failingSince?: number;
}

const POLL_WHILE_DELETING_MS = 2_000;
const POLL_WHILE_STARTING_MS = 1_000;
/** After this long, the status shows what keeps a start waiting (S5.7). */
const TELL_AFTER_MS = 4_000;
/** A failure that passes within this time is not shown in the status. */
const TELL_FAILURE_MS = 1_000;
/** Longer than a start takes from its lock on: a call to Temporal gives up after 10 s. */
const START_SETTLES_MS = 15_000;

/**
 * The order of steps, and what a crash between two of them leaves:
 *
 * | crash after | leaves | mended by |
 * |---|---|---|
 * | admit (metadata, lock, snapshot written) | an object without a run that holds its lock | the next reconcile: admit finds its own lock and goes on; if it is too late to start, it refuses and frees the lock |
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
  const { kind, runs, times, log, room } = options;
  const now = options.now ?? Date.now;
  const memories = new Map<string, Memory>();

  function memoryOf(object: T): Memory {
    const uid = object.metadata.uid ?? '';
    let memory = memories.get(uid);
    if (memory === undefined) {
      // A run older than this process is described right away: it may have ended in the meantime.
      memory = { lookAt: 0, cancelled: new Set(), delivered: new Set() };
      memories.set(uid, memory);
    }
    return memory;
  }

  /** Call this only after Temporal has reported that there is no run. */
  async function mayBeStarting(object: T): Promise<boolean> {
    const memory = memoryOf(object);
    if (!(await kind.isStarting(object))) {
      delete memory.startingSince;
      return false;
    }
    memory.startingSince ??= now();
    return now() - memory.startingSince < START_SETTLES_MS;
  }

  async function start(object: T, view: RunView): Promise<number | undefined> {
    const workflowId = kind.workflowId(object);
    let goesOn = view.goesOn;
    if (view.cancel !== undefined) {
      // Status may lag behind a start that was interrupted: only Temporal knows that nothing runs.
      const found = await runs.describe(workflowId);
      if (found === undefined) {
        if (!(await mayBeStarting(object))) await kind.cancelBeforeStart(object, view.cancel);
        // Look again in either case: an object that has ended costs nothing to look at.
        return POLL_WHILE_STARTING_MS;
      }
      goesOn = true;
    }
    const uid = object.metadata.uid ?? '';
    if (!goesOn && !room.enter(uid, nameOf(object))) return awaitTurn(object);
    const memory = memoryOf(object);
    delete memory.waitingSince;
    delete memory.waitingSaid;
    return whileTelling(object, () => begin(object, workflowId));
  }

  /** The room wakes the object when its turn comes; until then its status shows what it waits for. */
  async function awaitTurn(object: T): Promise<number | undefined> {
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
  async function whileTelling<R>(object: T, step: () => Promise<R>): Promise<R> {
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

  async function begin(object: T, workflowId: string): Promise<number | undefined> {
    const uid = object.metadata.uid ?? '';
    const admission = await kind.admit(object);
    if (admission.kind !== 'start') room.leave(uid);
    switch (admission.kind) {
      case 'wait':
        return admission.ms;
      case 'refused':
        return undefined;
      case 'start': {
        const { prepared } = admission;
        const started = await prepared.start();
        options.onStart();
        const runId = started.kind === 'running' ? started.runId : (await runs.describe(workflowId))?.runId;
        if (runId === undefined) throw new Error(`run ${workflowId} was there and is gone`);
        await prepared.record({ workflowId, runId });
        log.info({ object: nameOf(object), workflowId, runId }, 'run started');
        const memory = memoryOf(object);
        memory.lookAt = started.kind === 'running' ? now() + times.firstLookMs : 0;
        return memory.lookAt - now();
      }
    }
  }

  /** If the run was started in another Temporal, it proves nothing that the connected one does not know it. */
  async function isMismatched(object: T, { run }: RunView, connected: TemporalIdentity): Promise<boolean> {
    if (!isElsewhere(run, connected)) return false;
    await kind.mismatch(object, connected);
    return true;
  }

  async function follow(object: T, view: RunView): Promise<number | undefined> {
    const { run } = view;
    if (run === undefined) return undefined;
    const memory = memoryOf(object);
    if (view.spoken) room.takenUp(object.metadata.uid ?? '');
    if (await isMismatched(object, view, options.temporal)) return times.silenceMs;
    if (view.terminate !== undefined) await terminate(object, run.workflowId, view.terminate);
    else if (view.cancel !== undefined && !view.cancelKnown && !memory.cancelled.has('cancel')) {
      const sent = await runs.signalCancel(run.workflowId, view.cancel);
      memory.cancelled.add('cancel');
      log.info({ object: nameOf(object), workflowId: run.workflowId, sent }, 'cancel sent');
      if (sent === 'notRunning') memory.lookAt = 0;
    }
    for (const { id, about, send } of view.deliveries) {
      if (memory.delivered.has(id)) continue;
      const sent = await send(run.workflowId);
      memory.delivered.add(id);
      log.info({ object: nameOf(object), ...about, sent }, 'message delivered to the run');
    }
    const wait = memory.lookAt - now();
    if (wait > 0) return wait;
    const found = await runs.describe(run.workflowId, { withStages: true });
    if (found === undefined) {
      if (await isMismatched(object, view, await runs.where())) return times.silenceMs;
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

  /** Once: whoever resets the run afterwards wants it to go on. */
  async function terminate(object: T, workflowId: string, { reason }: { reason: string }): Promise<void> {
    const memory = memoryOf(object);
    if (memory.cancelled.has('terminate')) return;
    const sent = await runs.terminate(workflowId, reason);
    memory.cancelled.add('terminate');
    memory.lookAt = 0;
    log.warn({ object: nameOf(object), workflowId, sent, reason }, 'run terminated');
  }

  async function remove(object: T, view: RunView): Promise<number | undefined> {
    if (!view.held) {
      await kind.release(object);
      return undefined;
    }
    const letGo = async (cause: ReleaseCause): Promise<undefined> => {
      await kind.beforeRelease(object, cause);
      await kind.release(object);
      log.info({ object: nameOf(object), cause }, 'deletion released');
      return undefined;
    };
    if (view.ended) {
      if (view.needed === undefined || view.forceRelease) return letGo('ended');
      await kind.blocked(object, view.needed.reason, view.needed.message);
      return POLL_WHILE_DELETING_MS;
    }
    if (view.forceRelease) return letGo('forced');
    const workflowId = view.run?.workflowId ?? kind.workflowId(object);
    if (await isMismatched(object, view, options.temporal)) return times.silenceMs;
    const memory = memoryOf(object);
    let found: RunDescription | undefined;
    try {
      if (view.terminate !== undefined) await terminate(object, workflowId, view.terminate);
      found = await runs.describe(workflowId);
      if (found?.state === 'Running' && memory.deleteAcceptedAt === undefined) {
        const sent = await runs.signalCancel(workflowId, {
          via: 'Delete',
          reason: `the ${kind.words.one} was deleted`,
        });
        if (sent === 'accepted') memory.deleteAcceptedAt = now();
        log.info({ object: nameOf(object), workflowId, sent }, 'cancel sent for a deletion');
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
        return (await isMismatched(object, view, await runs.where())) ? times.silenceMs : letGo('lost');
      }
      return (await mayBeStarting(object)) ? POLL_WHILE_STARTING_MS : letGo('neverStarted');
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

  /** What the bridge cannot do is shown in the status, not only in its log (S5.7). */
  async function tell(object: T, error: unknown): Promise<void> {
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

  async function advance(object: T): Promise<number | undefined> {
    const view = kind.view(object);
    const mayBegin = options.mayBegin?.() ?? true;
    if (!mayBegin && view.run === undefined && !(view.deleting && view.held)) return undefined;
    if (view.deleting || view.cancel !== undefined) room.giveUp(object.metadata.uid ?? '');
    if (view.deleting) return remove(object, view);
    if (view.ended) {
      if (view.inherited) await kind.disown(object);
      room.leave(object.metadata.uid ?? '');
      memories.delete(object.metadata.uid ?? '');
      return undefined;
    }
    return view.run === undefined ? start(object, view) : follow(object, view);
  }

  return {
    async reconcile(object) {
      try {
        const again = await advance(object);
        delete memories.get(object.metadata.uid ?? '')?.failingSince;
        return again;
      } catch (error) {
        await tell(object, error);
        throw error;
      }
    },
    heard(uid) {
      room.takenUp(uid);
      const memory = memories.get(uid);
      if (memory !== undefined && memory.isSettling !== true) memory.lookAt = now() + times.silenceMs;
    },
    forget: (uid) => {
      room.leave(uid);
      memories.delete(uid);
    },
  };
}

const nameOf = (object: Cacheable): string => `${object.metadata.namespace ?? ''}/${object.metadata.name}`;
