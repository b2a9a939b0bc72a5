/**
 * A kind whose objects become runs. The bridge knows the steps (prepare, start, record, follow, cancel, delete) and their
 * order; a kind knows what each means for its objects.
 */
import type { SignalResult, StartResult } from '../../client/runs/calls.js';
import type { RunDescription } from '../../client/runs/runs.js';
import type { Cacheable } from '../../kube/informer.js';
import type { CancelRequest } from '../../workflows/core/contract.js';
import type { TemporalIdentity } from './temporal-identity.js';

/** How far an object is, told at every change of it. */
export interface RunState {
  /** Whether it is over: nothing is started, followed or cancelled any more. */
  ended: boolean;
  deleting: boolean;
  /** Whether the object carries a predecessor's finalizer, which nobody else removes any more. */
  inherited: boolean;
}

/**
 * Something that is said to a run that goes on: until it has been accepted once, and maybe again after a restart.
 *
 * Seam: a request, an object or an annotation that admission takes off and records, becomes a delivery that sends one
 * Temporal Update under its own id until it is answered.
 */
export interface Delivery {
  /** Tells it from others of the same object. */
  id: string;
  /** What the log says of it: names, no contents. */
  about: Record<string, string>;
  send: (workflowId: string) => Promise<SignalResult>;
}

/** What an object says about its run. */
export interface RunView extends RunState {
  /** The run that was started for it, if one is recorded. */
  run?: { workflowId: string; runId?: string } & TemporalIdentity;
  /**
   * Whether its start belongs to something already under way: its run may exist unrecorded, or another run waits for
   * it.
   */
  goesOn: boolean;
  /** Whether the run has sent an update, which means that a worker has taken it up. */
  spoken: boolean;
  /** A cancel that is asked for. */
  cancel?: CancelRequest;
  /** The run is to be ended without being asked, as its code cannot go on; why, as Temporal shows it. Implies a cancel. */
  terminate?: { reason: string };
  /** A person says that the Temporal of its run will not come back. Implies a cancel, where it is there after all. */
  isTemporalLost?: true;
  /** What the run has to be told, earlier messages included. */
  deliveries: Delivery[];
  /** Whether a cancel has reached the run already, in whatever way. */
  cancelKnown: boolean;
  /** Whether the object carries the bridge's finalizer. */
  held: boolean;
  /** What still needs the object although it is over: its deletion waits for that. */
  needed?: { reason: string; message: string };
  /** Whether a person released it although its run cannot be reached. */
  forceRelease: boolean;
}

/** A run to be started. */
export interface PreparedRun {
  /** Starts it; idempotent by its id. */
  start: () => Promise<StartResult>;
  /**
   * Whether a workflow that is there already is this run, begun before; otherwise somebody else has taken its id, and the
   * object has been ended.
   */
  adopt: (found: RunDescription) => Promise<boolean>;
  /** Records the started run in the object's status. */
  record: (run: { workflowId: string; runId: string }) => Promise<void>;
}

/** Whether an object may become a run. */
export type StartDecision =
  | { kind: 'start'; prepared: PreparedRun }
  /** Not yet; look again after a time, or when something it depends on changes. */
  | { kind: 'wait'; ms: number }
  /** Never; the kind has written why. */
  | { kind: 'refused' };

/** Why an object is let go. */
export type ReleaseCause = 'ended' | 'neverStarted' | 'lost' | 'late' | 'forced';

/** What the bridge asks of such a kind. */
export interface RunKind<T extends Cacheable> {
  /** What a person calls one object and several: `execution`, `executions`. */
  readonly words: { one: string; several: string };
  /** Type of its runs in Temporal. */
  readonly workflowType: string;
  /** What the workflow ids of all its runs in this cluster begin with. */
  readonly idPrefix: string;
  /** How lines of the log name an object: as the worker names it, so that one search finds both. */
  logFields(object: T): Readonly<Record<string, string>>;
  state(object: T): RunState;
  view(object: T): RunView;
  workflowId(object: T): string;
  /** Does everything that comes before the start. May be repeated after a crash at any point. */
  prepareStart(object: T): Promise<StartDecision>;
  /**
   * Whether the object holds what every start takes first, so that another replica may be about to start its run. Asks
   * the API server itself.
   */
  isStarting(object: T): Promise<boolean>;
  /** Ends an object that was cancelled before anything was started. */
  cancelBeforeStart(object: T, request: CancelRequest): Promise<void>;
  /**
   * The run is still going: takes over what its description shows.
   *
   * @returns after how many milliseconds to look again, where that is sooner than usual
   */
  alive(object: T, run: RunDescription): Promise<number | undefined>;
  /**
   * The run has closed, and the object does not show that yet.
   *
   * @returns after how many milliseconds to look again, when parts of the run still act
   */
  closed(object: T, run: RunDescription): Promise<number | undefined>;
  /** Temporal knows no run of this object. */
  lost(object: T): Promise<void>;
  /** The run is in another Temporal than the one that is connected. */
  mismatch(object: T, connected: TemporalIdentity): Promise<void>;
  /** Shows what keeps the object from being started or followed; the step is retried. Written only where it is news. */
  held(object: T, reason: string, message: string): Promise<void>;
  /** Shows what an object that is being deleted has to wait for. */
  blocked(object: T, reason: string, message: string): Promise<void>;
  /** Does what is left to do before the finalizer is removed. */
  beforeRelease(object: T, cause: ReleaseCause): Promise<void>;
  /** Removes a predecessor's finalizer. */
  disown(object: T): Promise<void>;
  /** Removes the bridge's finalizer, and any that a predecessor left. */
  release(object: T): Promise<void>;
}
