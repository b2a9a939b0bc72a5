/** What the records of a workspace hold. Bodies that only others understand are `unknown` here, and kept as they are. */

/** Who may change a workspace: its slot (T3.3). */
export type Holding =
  | { kind: 'run'; holder: string; since: string; over?: RecoveryHolding }
  | RecoveryHolding
  /** A person's engine, or a person: `holder` is the id of the lock, `info` its body as the engine sent it. */
  | { kind: 'user'; holder: string; since: string; user: string; info: string; over?: RecoveryHolding };

/** After an apply whose outcome is unknown: a run that reconciles, or a person who mends, may take it over. */
export interface RecoveryHolding {
  kind: 'recovery';
  /** The run whose outcome it is. */
  holder: string;
  since: string;
  reason: string;
}

/** One of each workspace. */
export interface WorkspaceRow {
  /** Where the object is, once the bridge has said so. */
  object?: { namespace: string; name: string };
  /** A person has locked it: nothing is granted, and no apply begins (T3.2). */
  locked?: { reason: string; since: string };
  /** Rises with every grant and never falls. */
  turn: number;
  held?: Holding;
  /** Number of the newest version of any kind; the next has one more. */
  lastVersion: number;
  /** Number of the newest final version. */
  final?: number;
  /** The run whose apply began last: its snapshot and plan are kept for ever (T5.1). */
  lastApply?: string;
}

/** What a state is known by. */
export interface StateFacts {
  lineage: string;
  serial: number;
  engineVersion: string;
  bytes: number;
}

/** A content that is kept: where, and how it is called. */
export interface Content {
  /** Plain SHA-256. */
  digest: string;
  bytes: number;
  /** Under a key of the ring: the same for the same content, as long as the key is. */
  keyed: string;
  /** Name of the blob. */
  blob: string;
}

/** A state that was stored (T9.3). */
export interface VersionRow {
  n: number;
  /** `temp`: while an apply goes on. `late`: brought by an operation whose run has gone on without it. */
  kind: 'final' | 'temp' | 'late';
  content: Content;
  facts: StateFacts;
  /** Objects that the state knows. */
  resourceCount: number;
  /** ISO 8601. */
  at: string;
  turn: number;
  by: { operation: string } | { user: string };
  /** Of a rollback: the version whose bytes they were. */
  rollbackOf?: number;
}

/** What the bridge has pinned of a run (T5.1). */
export interface PinRow {
  run: string;
  workspace: string;
  pin: unknown;
  at: string;
  /** When the run had ended. */
  endedAt?: string;
  /** All of it was removed: the run is over for long, and is never pinned anew. */
  isGone?: true;
}

/** How an operation stands (T7.1). */
export type RecordRow =
  | { state: 'prepared'; at: string }
  | { state: 'started'; at: string; runner: unknown }
  | { state: 'ended'; at: string; result: unknown }
  | { state: 'revoked'; at: string; reason: string }
  | { state: 'lost'; at: string; proof: unknown; found?: unknown };

/** What an operation's runner is told. */
export interface ControlRow {
  interrupt?: { by: 'request' | 'revoked' | 'released'; reason: string };
  kill?: { reason: string };
}

/** An operation. */
export interface OperationRow {
  id: string;
  run: string;
  kind: 'plan' | 'apply';
  /** What is to be done. */
  spec: unknown;
  record: RecordRow;
  /** The host that it is for while it is prepared. */
  hostId: string;
  /** Turn of the run's slot when its plan was prepared; absent where the run had no slot. */
  turn?: number;
  nonce?: string;
  /** Who runs it, from `begin` on. */
  runner?: unknown;
  control: ControlRow;
  revision: number;
  /** The state that it has made the final one. */
  final?: VersionRow;
}

/** The last sign of life of an operation. A loss of power may lose it: the runner says it again. */
export interface BeatRow {
  at: string;
  runner: unknown;
  step: string;
  /** One of each action and address, the first of them. */
  moves: { address: string; action: string; status: string; id?: string }[];
  interrupted?: unknown;
  /** Bytes of each stream that are stored. */
  log: Record<string, number>;
  revision: number;
}

/** An artefact of a run. */
export interface ArtefactRow extends Content {
  name: string;
  at: string;
}
