/**
 * A kind whose objects become runs: one row of the bridge's table. The bridge knows the steps (admit, start, record,
 * follow, cancel, delete) and their order; a kind knows what each means for its objects.
 */
import type { ApprovalAnswer } from '../../api/plan/actions/approval.js';
import type { RunDescription, StartResult } from '../../client/runs/runs.js';
import type { Cacheable } from '../../kube/informer.js';
import type { CancelRequest } from '../../workflows/plan/contract.js';
import type { TemporalIdentity } from './temporal-identity.js';

/** What an object says about its run. */
export interface RunView {
  /** Whether it is over: nothing is started, followed or cancelled any more. */
  ended: boolean;
  /** The run that was started for it, if one is recorded. */
  run?: { workflowId: string; runId?: string } & TemporalIdentity;
  /** Whether its start is part of something that goes on: its run may be there unrecorded, or another waits for it. */
  goesOn: boolean;
  /** Whether the run has told something about itself: a worker has taken it up. */
  spoken: boolean;
  /** A cancel that is asked for. */
  cancel?: CancelRequest;
  /** Answers of persons to what the run asks, those given before included. */
  answers: ApprovalAnswer[];
  /** Whether a cancel has reached the run already, by whatever way. */
  cancelKnown: boolean;
  deleting: boolean;
  /** Whether the bridge's finalizer is there. */
  held: boolean;
  /** Whether a finalizer of a predecessor is there, which nobody takes away any more. */
  inherited: boolean;
  /** Who still needs it although it is over: an object that is being deleted waits for that. */
  needed?: { reason: string; message: string };
  /** Whether a person released it although its run cannot be reached. */
  forceRelease: boolean;
}

/** A run to be started. */
export interface PreparedRun {
  /** Starts it; idempotent by its id. */
  start: () => Promise<StartResult>;
  /** Records the started run in the object's status. */
  record: (run: { workflowId: string; runId: string }) => Promise<void>;
}

/** Whether an object may become a run. */
export type Admission =
  | { kind: 'start'; prepared: PreparedRun }
  /** Not yet; look again after a time, or when something it depends on changes. */
  | { kind: 'wait'; ms: number }
  /** Never; the kind has written why. */
  | { kind: 'refused' };

/** Why an object is let go. */
export type ReleaseCause = 'ended' | 'neverStarted' | 'lost' | 'late' | 'forced';

/** One row of the table. */
export interface RunKind<T extends Cacheable> {
  view(object: T): RunView;
  workflowId(object: T): string;
  /** Everything before the start. Repeatable after a crash at any point of it. */
  admit(object: T): Promise<Admission>;
  /**
   * Whether the object holds what every start takes first, so that another replica may be about to start its run. Asks
   * the API server itself.
   */
  isStarting(object: T): Promise<boolean>;
  /** Ends an object that was cancelled before anything was started. */
  cancelBeforeStart(object: T, request: CancelRequest): Promise<void>;
  /**
   * The run goes on: takes over what describing it has shown.
   *
   * @returns after how many milliseconds to look again, where that is sooner than usual
   */
  alive(object: T, run: RunDescription): Promise<number | undefined>;
  /**
   * The run has closed, and the object does not say so.
   *
   * @returns after how many milliseconds to look again, when parts of the run still act
   */
  closed(object: T, run: RunDescription): Promise<number | undefined>;
  /** Temporal knows no run of this object. */
  lost(object: T): Promise<void>;
  /** The run is in another Temporal than the one that is connected. */
  mismatch(object: T, connected: TemporalIdentity): Promise<void>;
  /** Something keeps the object from being started or followed; it is tried again. Written only where it is news. */
  held(object: T, reason: string, message: string): Promise<void>;
  /** An object that is being deleted has to wait, and for what. */
  blocked(object: T, reason: string, message: string): Promise<void>;
  /** Last things before the finalizer goes. */
  beforeRelease(object: T, cause: ReleaseCause): Promise<void>;
  /** Takes the finalizer of a predecessor away. */
  disown(object: T): Promise<void>;
  /** Takes the finalizer away, and any that a predecessor left. */
  release(object: T): Promise<void>;
  /** The object is gone for good. */
  gone(object: T): void;
}
