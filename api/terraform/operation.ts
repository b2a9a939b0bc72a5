/**
 * What runners, workers and the bridge say to `drover-server` about one operation, under `/ops/v1/<operation>/`.
 *
 * | Request                | By                     | Body -> answer                                                 |
 * | ---------------------- | ---------------------- | -------------------------------------------------------------- |
 * | `POST prepare`         | worker                 | {@link PrepareRequest} -> {@link PreparedOperation}            |
 * | `GET` of the operation | worker, runner         | -> {@link OperationView}; waits, see {@link OperationQuery}    |
 * | `POST begin`           | runner                 | {@link BeginRequest} -> {@link BeginAnswer}                    |
 * | `POST sync`            | runner                 | {@link SyncRequest} -> {@link SyncAnswer}                      |
 * | `GET state`            | runner                 | -> bytes of the newest final state; 204 where there is none    |
 * | `PUT state`            | runner, worker         | bytes -> {@link StateAnswer}; a version for the time being     |
 * | `POST state`           | runner, worker         | {@link FinalStateRequest} -> {@link StateAnswer}               |
 * | `GET artefact/<name>`  | runner, worker         | -> bytes; 404 `NotStored`                                      |
 * | `PUT artefact/<name>`  | runner, worker         | bytes -> {@link StoredAnswer}                                  |
 * | `PUT result`           | runner, worker         | {@link OperationResult} -> {@link RecordAnswer}                |
 * | `POST revoke`          | worker, bridge         | {@link RevokeRequest} -> {@link RecordAnswer}                  |
 * | `POST control`         | bridge                 | {@link ControlRequest} -> {@link RecordAnswer}                 |
 * | `GET log/<stream>`     | whoever may read logs  | -> text of the stream, from `offset` on                        |
 *
 * Every request carries a bearer token: that of the operation, that of a worker or pool whose workspace it is, that of the
 * bridge, or the projected token of the Job's pod. Every one may be sent again: it has the same answer. Bodies and answers
 * are JSON; bytes carry {@link DIGEST_HEADER}, and count only when they have that digest. What goes wrong is an
 * {@link OperationError}; with status 500 and above, and without an answer, the request is sent again.
 */
import type { EngineIdentity, EngineName } from './engine.js';
import type { InterruptCause, OperationResult, ResourceMove } from './operation-result.js';
import type {
  ArtefactName,
  Digest,
  LogStream,
  OperationId,
  OperationKind,
  OperationStep,
  RunnerIdentity,
} from './operation-terms.js';
import type { StateFacts } from './state.js';

/** Where operations are served; followed by their id, then `/` and the request. */
export const OPERATIONS_PATH = '/ops/v1';

/** SHA-256 of a body, in lower-case hexadecimal digits. On requests and answers whose body is bytes. */
export const DIGEST_HEADER = 'drover-digest';

/** What a runner is to do: made by the server from pin and snapshot alone (T5.1). */
export interface Operation {
  id: OperationId;
  /** Uids. */
  run: string;
  workspace: string;
  kind: OperationKind;
  engine: {
    name: EngineName;
    /** Exact, or `latest`. */
    version: string;
    /** Of an apply: the program that made the plan. */
    digest?: Digest;
  };
  /** Folder inside the archive; empty for its root. */
  workdir: string;
  /** Plain SHA-256 of what is to be read. An artefact that is absent here does not exist. */
  inputs: Partial<Record<ArtefactName, Digest>>;
  /** What the state must be: for a plan as it was pinned, for an apply as the plan saw it. No state: `''` and 0. */
  lineage: string;
  serial: number;
  plan: PlanOptions;
  /** Longest time for the engine's main step, in milliseconds: planTimeout or applyTimeout. */
  timeoutMs: number;
}

/** How a plan is made. */
export interface PlanOptions {
  mode: 'normal' | 'destroy' | 'refreshOnly';
  targets: string[];
  replace: string[];
}

/** Where an operation stands (T7.1). Changes by compare-and-set, and only forward. */
export type OperationRecord =
  | { state: 'prepared'; at: string }
  | { state: 'started'; at: string; runner: RunnerIdentity }
  | { state: 'ended'; at: string; result: OperationResult }
  | { state: 'revoked'; at: string; reason: string }
  | { state: 'lost'; at: string; proof: DeathProof; found?: OperationResult };

/** Why it is sure that a runner and its engine are dead (T7.5). */
export type DeathProof =
  | { kind: 'noProcess'; bootId: string }
  | { kind: 'otherBoot'; was: string; is: string }
  | { kind: 'podsEnded'; job: string }
  | { kind: 'released'; by: string; reason: string };

/** A worker is about to hand an operation to a runner. */
export interface PrepareRequest {
  executionMode: 'local' | 'agent' | 'k8s';
  /** The host that it is for. Another host later gets the same operation while it is only prepared. */
  hostId: string;
}

/** What the worker writes into the operation's folder. */
export interface PreparedOperation {
  operation: Operation;
  record: OperationRecord;
  /** Bearer token of the operation. Absent in mode k8s, where the pod has one. */
  token?: string;
}

/** How to ask for an operation. */
export interface OperationQuery {
  /** Revision that is known: the answer waits for a later one, and tells what there is when the time is over. */
  after?: number;
  /** How long it waits at most, in seconds, up to 60. Default 0. */
  wait?: number;
}

/** An operation as those see it that wait for it. */
export interface OperationView {
  operation: Operation;
  record: OperationRecord;
  /** Rises with every change of what is below, heartbeats left out. */
  revision: number;
  /** Of the last `sync`; absent before the first. */
  heartbeatAt?: string;
  step?: OperationStep;
  /** How far each action came that was begun: one of each address and action, the first 200. */
  moves: ResourceMove[];
  control: Control;
}

/** The fence (T8.2): asked with a nonce that is on disk already, directly before the engine's main step. */
export interface BeginRequest {
  /** 32 random bytes in hexadecimal digits. */
  nonce: string;
  runner: RunnerIdentity;
  /** The engine that is about to run; of an apply it must be the plan's. */
  engine: EngineIdentity;
  /** What the stored state was found to be before: must still hold. */
  lineage: string;
  serial: number;
}

/**
 * The operation has begun. To the nonce that it began with the answer is this one for ever, to another 409 `OtherNonce`. An
 * apply also needs its permit (403 `NoPermit`), the slot of its run (409 `NotHolder`) in the turn of its plan (409
 * `OtherTurn`), an unlocked workspace (409 `Locked`) and the state above (409 `StaleState`).
 */
export interface BeginAnswer {
  record: Extract<OperationRecord, { state: 'started' | 'ended' | 'lost' }>;
}

/** New text of one stream. */
export interface StreamPart {
  /** Bytes of the stream that come before it, in UTF-8. */
  offset: number;
  text: string;
}

/** A sign of life, with what is new (T7.3). At most {@link MAX_SYNC_BYTES} of text. */
export interface SyncRequest {
  runner: RunnerIdentity;
  step: OperationStep;
  log: Partial<Record<LogStream, StreamPart>>;
  /** Changes that no answer has confirmed yet, oldest first. */
  moves: ResourceMove[];
  /** The engine was interrupted. */
  interrupted?: InterruptCause;
}

/** What the server has, and what it wants. */
export interface SyncAnswer {
  /** Bytes of each stream that are stored: the next part begins there. A part that begins later is not stored. */
  log: Record<LogStream, number>;
  control: Control;
}

/** What a runner is told to do, once and for all. */
export interface Control {
  /** One SIGINT for the engine; before `begin`: nothing is begun. */
  interrupt?: InterruptOrder;
  /** SIGKILL for the engine. Only together with `interrupt`. */
  kill?: { reason: string };
}

/** Why a runner is to interrupt its engine. `released`: its run has gone on without it. */
export interface InterruptOrder {
  by: 'request' | 'revoked' | 'released';
  reason: string;
}

/** By the bridge: an interrupt or kill that a person asked for, or a cancelled plan's. */
export type ControlRequest = { kind: 'interrupt'; order: InterruptOrder } | { kind: 'kill'; reason: string };

/** A content that is already stored becomes the final one (T8.6); 404 `NotStored` asks for `PUT state` first. */
export interface FinalStateRequest {
  digest: Digest;
}

/** A stored state. `late`: its run has gone on without it, and it is kept aside (T7.5). */
export interface StateAnswer {
  digest: Digest;
  facts: StateFacts;
  isFinal: boolean;
  late?: true;
}

/** What was stored: read back and found to have this digest. */
export interface StoredAnswer {
  digest: Digest;
  bytes: number;
}

/** Ends an operation from outside. */
export type RevokeRequest =
  /** It was not begun and never will be; 409 `Begun` where it was. */
  | { kind: 'revoke'; reason: string }
  /** It was begun, and its runner is dead; `found` is what was read in its folder. */
  | { kind: 'lost'; proof: DeathProof; found?: OperationResult };

/** The record after a change, or as it already was. */
export interface RecordAnswer {
  record: OperationRecord;
}

/** Why a request is refused; the body is `{"error": {...}}`. Reasons are stable. */
export interface OperationError {
  reason: OperationErrorReason;
  /** For a person: what was found, and what is allowed. */
  message: string;
}

/** HTTP status of each reason. */
export const OPERATION_ERRORS = {
  /** The body is not what the request asks for. */
  BadRequest: 400,
  Unauthenticated: 401,
  /** The token is for another operation, workspace or purpose. */
  Forbidden: 403,
  /** An apply without its permit. */
  NoPermit: 403,
  /** No run of this id is pinned. */
  UnknownOperation: 404,
  NotStored: 404,
  /** Begun with another nonce. */
  OtherNonce: 409,
  /** Another runner has this operation. */
  OtherRunner: 409,
  /** Revoked before it began. */
  Revoked: 409,
  /** It has begun already, so it cannot be revoked. */
  Begun: 409,
  /** It is over, and with another result. */
  Ended: 409,
  /** The run does not hold the slot of its workspace. */
  NotHolder: 409,
  OtherTurn: 409,
  Locked: 409,
  /** Lineage or serial are not those of the plan. */
  StaleState: 409,
  /** An artefact of this name is stored with another digest. */
  OtherDigest: 409,
  /** The state has another lineage, or a lower serial, than what is stored. */
  StateRefused: 409,
  TooLarge: 413,
  /** The bytes do not have the digest that was said. */
  DigestMismatch: 422,
  /** The bytes are no whole state. */
  NotWhole: 422,
  Unavailable: 503,
} as const satisfies Record<string, number>;
/** One of the keys of {@link OPERATION_ERRORS}. */
export type OperationErrorReason = keyof typeof OPERATION_ERRORS;
