/** What the programs agree on for entities of every kind: objects that are looked after as long as they live. */
import type { MirrorEnvelope, MirrorPace } from './contract.js';

/** Signals that an entity's workflow receives. */
export const ENTITY_SIGNALS = {
  /** A {@link Desired}: its spec has changed. */
  desired: 'desired',
  /** A {@link Retirement}: its object is being deleted. It begins what clears up, so it is sealed. */
  retire: 'retire',
  /** Something that it watches has changed; without an argument. */
  look: 'look',
} as const;

/** Who an entity's workflow is: travels with everything that it says and does. */
export interface EntityIdentity {
  /** First eight characters of the kube-system namespace's uid. */
  cluster: string;
  kind: string;
  namespace: string;
  name: string;
  uid: string;
  /** Counts the workflows that have looked after the object, from 1. Continuing as new is no new epoch. */
  epoch: number;
  workflowId: string;
  /** The bridge's seal of all of the above. */
  seal: string;
}

/** What an object is to be. */
export interface Desired<S = unknown> {
  /** `metadata.generation` of the object that said so. */
  generation: number;
  spec: S;
  /** Who asked for it, where admission has verified it. */
  requestedBy?: string;
  /** The bridge's seal of all of the above, for this object. */
  seal: string;
}

/** Argument of signal `retire`. */
export interface Retirement {
  reason: string;
  requestedBy?: string;
  /** The bridge's seal of all of the above, for this object. */
  seal: string;
}

/** Input of an entity's workflow. */
export interface EntityInput<S = unknown, C = unknown> {
  entity: EntityIdentity;
  desired: Desired<S>;
  /** Whether the object was being deleted when this epoch began. */
  retire?: Retirement;
  /** What the workflow has handed to itself when it continued as new. Absent at the start of an epoch. */
  carried?: {
    sequence: number;
    state: C;
    /** Something had come that the run before had not looked at. */
    news?: true;
  };
}

/** How an entity's workflow ends by itself; every other end is followed by the next epoch. */
export type EntityEnd =
  /** Its object was deleted, and the finalizer is off. */
  | { kind: 'retired' }
  /** The kind lets its entities end: nobody looks after the object any more. */
  | { kind: 'ended'; reason: string; message: string };

/** What an entity says in an envelope: its content, and who it is. */
export interface EntitySaid<U = unknown> {
  entity: EntityIdentity;
  content: U;
}

/** What `record` writes, and answers only once it is written. */
export interface RecordUpdate<U = unknown> {
  /** Labels and annotations to set; `null` removes one. The kind says which may be written. */
  labels?: Record<string, string | null>;
  annotations?: Record<string, string | null>;
  /** Laid into status as an update of `mirror` is. */
  status?: U;
}

/** Activities of the bridge for entities of all kinds. */
export interface EntityBridgeActivities {
  /** Lays progress into status. Sent freely: whoever is behind is overtaken, never waited for. */
  mirror: (said: MirrorEnvelope<EntitySaid>) => Promise<MirrorPace | undefined>;
  /** Writes metadata and status. */
  record: (said: MirrorEnvelope<EntitySaid<RecordUpdate>>) => Promise<void>;
  /** Takes the finalizer off, once nothing is left to be done for the object. */
  release: (said: MirrorEnvelope<EntitySaid<null>>) => Promise<void>;
}

/** Activities of the worker for entities of all kinds. */
export interface EntityActivities {
  /** Whether the bridge has said this. A local activity: nobody outside a worker can answer in its place. */
  vouchDesired: (task: { entity: EntityIdentity; desired: Desired }) => Promise<VouchResult>;
  /** The same of a retirement. */
  vouchRetirement: (task: { entity: EntityIdentity; retire: Retirement }) => Promise<VouchResult>;
}

/** What vouching has found. */
export type VouchResult = { kind: 'vouched' } | { kind: 'refused'; message: string };
