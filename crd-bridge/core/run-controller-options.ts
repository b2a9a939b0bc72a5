import type { Runs } from '../../client/runs/runs.js';
import type { Cacheable } from '../../kube/informer.js';
import type { Tracing } from '../../runtime/tracing/tracing.js';
import type { RunKind } from './kind.js';
import type { Log } from './log.js';
import type { StartRoom } from './start-room.js';
import type { TemporalIdentity } from './temporal-identity.js';

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
  /** Default: none. */
  tracing?: Tracing;
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
