/**
 * The event boundaries of a run: the places where a crash leaves something half done. They are seen from outside, by
 * what passes between the processes; the product has no hook for them.
 */

/** Name of a boundary, and what passes there. */
export const BOUNDARIES = {
  stamp: 'bridge → API server: finalizer, label and stamp of an execution',
  snapshot: 'bridge → API server: the snapshot of plan and workflows',
  lock: "bridge → API server: the plan's lock",
  start: 'bridge → Temporal: start of the run',
  'start-recorded': 'bridge → API server: the started run, into status',
  'workflow-task': 'worker → Temporal: a decision of workflow code',
  'activity-start': 'Temporal → worker: an activity that is counted as started',
  capture: 'worker → API server: the state before an effect',
  'effect-http': 'worker → endpoint: an HTTP action or notification',
  'effect-job': 'worker → API server: a Job',
  'effect-object': 'worker → API server: an object that is created, changed or deleted',
  'activity-completion': 'worker → Temporal: the outcome of an activity',
  'status-write': 'bridge → API server: progress, into status',
  'mirror-step': 'bridge → Temporal: a mirror step that is done',
  'plan-end': 'bridge → API server: the lock freed and the history row closed',
  'run-end': 'bridge → API server: the terminal status',
  cancel: 'bridge → Temporal: the cancel of a run',
  finalizer: 'bridge → API server: the finalizer of a deleted execution removed',
} as const;

/** One of {@link BOUNDARIES}. */
export type Boundary = keyof typeof BOUNDARIES;
export const boundaryNames = Object.keys(BOUNDARIES) as Boundary[];

/** Before the receiver has it, or after the receiver has it and before the sender knows. */
export type Side = 'before' | 'after';

/** Processes that are struck. */
export const ROLES = ['bridge', 'worker', 'temporal', 'apiserver', 'etcd'] as const;
export type Role = (typeof ROLES)[number];

/** Something that passes a boundary right now, and waits until it is let go. */
export interface Passage {
  boundary: Boundary;
  side: Side;
  /** Which journey it belongs to: `j12`. */
  journey: string;
  /** Who sends or receives it: `worker-1`. */
  source: string;
  /** What it is, for the log. */
  what: string;
}

/** What becomes of what passes: on as usual, the connection cut or half closed, or an error in place of the answer. */
export type Ruling =
  | { kind: 'pass' }
  | { kind: 'cut' }
  /** The side that answers says no more, but does not break the connection off. */
  | { kind: 'half-close' }
  | { kind: 'answer'; status: number };

/** Decides what becomes of what passes. */
export type Referee = (passage: Passage) => Promise<Ruling>;

export const PASS: Ruling = { kind: 'pass' };

/** The journey that a name, path or id belongs to: every name of a journey begins with its id. */
export const journeyOf = (text: string): string | undefined =>
  /(?<![a-z0-9])j\d+(?![a-z0-9])/.exec(text)?.[0];
