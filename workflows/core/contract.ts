/**
 * What the programs agree on for every kind of run and entity: queues, signals, how a workflow's state travels into
 * status. Workflows, activities, bridge and client import it; it must stay free of anything that cannot run in Temporal's
 * sandbox, and of anything that only one system knows.
 */

/**
 * Signals that workflows of every kind may be sent. `cancel` takes nothing, a string, or a {@link CancelRequest}.
 * What a kind adds stands in its own contract.
 */
export const SIGNALS = {
  cancel: 'cancel',
  /** Without an argument: something that the workflow waits for has changed. A hint, never the only way to learn of it. */
  look: 'look',
} as const;

/**
 * Task queues of one cluster; two clusters may share a Temporal namespace.
 *
 * Seam: queues of pools, hosts and agents, polled by further worker programs, are named here.
 */
export interface TaskQueues {
  /** Workflow tasks, and what has an effect. */
  worker: string;
  /** Waits for objects, which may last for days: they have slots of their own. */
  waits: string;
  /** Work that must never queue behind other actions: recording, settling, deciding, undoing. */
  urgent: string;
  /** What the bridge does for runs. */
  bridge: string;
}

/** The task queues of a cluster, by the first eight characters of its id. */
export function taskQueues(cluster: string): TaskQueues {
  const worker = `drover-${cluster}`;
  return { worker, waits: `${worker}-waits`, urgent: `${worker}-urgent`, bridge: `drover-bridge-${cluster}` };
}

/** The object that a run or an entity belongs to. */
export interface ObjectRef {
  namespace: string;
  name: string;
  uid: string;
}

/** One step of an object's state on its way into status (docs/adr/0004-mirror-merge.md). Lower epochs, and sequences of one speaker, are dropped. */
export interface MirrorEnvelope<U = unknown> {
  /** Kind of the object: the row of the bridge's table that lays the update into status. */
  kind: string;
  object: ObjectRef;
  /** Rises from 1 each time that a new workflow takes the object over; a run has one, unless a further one is asked for. */
  epoch: number;
  /** Who in the run speaks: several workflows may report on one object, each on its own part. */
  speaker: string;
  /** Rises with every update of one speaker. */
  sequence: number;
  update: U;
}

/** How often progress is mirrored. */
export interface MirrorOptions {
  /** How long a change waits for further ones: a stage that ends sooner is mirrored once. */
  debounceMs: number;
  /** Least time between two mirrors of one workflow. */
  intervalMs: number;
  /** What the bridge has last asked for; absent = nothing. */
  pace?: MirrorPace;
}

/** How slow the bridge wants mirrors to be for now, given the number of live runs: its answer to every mirror. */
export interface MirrorPace {
  /** Least time from the start of a workflow to its first mirror, in milliseconds. */
  beginMs: number;
  /** Least time between two mirrors of one workflow, in milliseconds. */
  intervalMs: number;
}

/** Activities of the bridge that every kind has, on the bridge's queue. What a kind adds stands in its own contract. */
export interface SharedBridgeActivities<Update, End> {
  /**
   * Lays an update into status. Safe to repeat.
   *
   * @returns how slow further updates should be; undefined leaves the pace as it is
   */
  mirror: (update: Update) => Promise<MirrorPace | undefined>;
  /** Writes how a run or an epoch ended, and does what has to follow. Safe to repeat. */
  finish: (end: End) => Promise<void>;
}

/** Time bounds of whatever has effects; all are flags of the bridge. */
export interface EffectBounds {
  /** Longest time of one settle step with all its attempts (default 5 min). */
  settleMs: number;
  /**
   * How long past the end of their grace the pods of a Job that was stopped are waited for (default 5 min). Absent in runs
   * that an earlier release began.
   */
  stopWaitMs?: number;
}

/** Argument of signal `cancel`. */
export interface CancelRequest {
  reason?: string;
  requestedBy?: string;
  via?: 'Annotation' | 'Signal' | 'CancelRequest' | 'Delete';
  /** Also aborts what a cancel lets finish: in a run of a plan, a rollback. */
  force?: boolean;
}

/** A cancel as it was recorded. */
export interface CancelRecord {
  reason?: string;
  requestedBy?: string;
  via: string;
  time: string;
}
