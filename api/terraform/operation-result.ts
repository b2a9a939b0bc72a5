/** How an operation ended: what the runner found, not what it means. `verdict.ts` judges it. */
import type { EngineIdentity } from './engine.js';
import type { Digest, OperationId, OperationKind, OperationStep, RunnerIdentity } from './operation-terms.js';
import type { PlanFacts } from './plan-facts.js';
import type { StateFacts } from './state.js';

/** What sent the one SIGINT that an engine gets (T7.7). */
export interface InterruptCause {
  /** `outside`: a signal to the runner, such as the deletion of its pod. */
  by: 'request' | 'revoked' | 'released' | 'timeout' | 'outside';
  /** ISO 8601. */
  at: string;
  reason?: string;
}

/** How far one action on a resource is, told by the engine's stream (T4.4). A replacement is a `delete` and a `create`. */
export interface ResourceMove {
  address: string;
  action: 'create' | 'update' | 'delete';
  status: 'applying' | 'completed' | 'failed';
  /** As the engine tells it, where it does. */
  id?: string;
}

/** Something that may have been done and is not known to be (T8.9). */
export interface InDoubt {
  address: string;
  action: 'create' | 'update' | 'delete';
  id?: string;
  /** It has no end in the engine's output; or the state does not agree with that end. */
  why: 'noEnd' | 'notInState' | 'stillInState';
}

/** An error or warning of the engine. */
export interface Diagnostic {
  severity: 'error' | 'warning';
  summary: string;
  detail?: string;
  /** Where in the configuration. */
  file?: string;
  line?: number;
  /** Resource it is about. */
  address?: string;
}

/** How the last process of the engine ended. */
export type EngineEnd =
  | { kind: 'exited'; code: number }
  /** It died by a signal. `byUs`: after the order to kill it, or a plan's time was over. */
  | { kind: 'signalled'; signal: string; byUs: boolean };

/** What became of an operation. */
export type OperationEnd =
  /** Nothing of its main step was begun: effect none. */
  | { kind: 'refused'; reason: string; message: string }
  /** The engine's main step has ended. */
  | { kind: 'engine'; end: EngineEnd }
  /**
   * The runner is dead. `spawning`: whether the engine may have been started; `unseen`: nobody can look into the folder.
   */
  | { kind: 'runnerLost'; spawning: boolean | 'unseen' };

/** The last content of an apply's state. */
export type FoundState =
  | { kind: 'whole'; digest: Digest; facts: StateFacts }
  /** There is none, as after an apply that failed before its first resource. */
  | { kind: 'none' }
  /** The last content is torn or empty. `last`: the last whole one before it. */
  | { kind: 'torn'; problem: string; last?: { digest: Digest; facts: StateFacts } };

/** What a runner leaves behind when it is done: `result.json`, and the body of `PUT result`. */
export interface OperationResult {
  operation: OperationId;
  kind: OperationKind;
  runner: RunnerIdentity;
  /** Absent where none was found. */
  engine?: EngineIdentity;
  end: OperationEnd;
  /** Reached last. */
  step: OperationStep;
  interrupted?: InterruptCause;
  /** First errors and warnings, errors first, at most 20. */
  diagnostics: Diagnostic[];
  /** Of an apply that has begun. */
  state?: FoundState;
  /** Whether the serial is higher than before an apply. */
  serialGrew?: boolean;
  /** Of a plan that the engine ended well. */
  plan?: PlanFacts;
  /** Digests of what a plan has written. */
  written?: Partial<Record<'planFile' | 'planJson' | 'planLockFile', Digest>>;
  /** How far each action came that was begun, at most 200. */
  moves: ResourceMove[];
  /** At most 200; `inDoubtCount` says how many there are. */
  inDoubt: InDoubt[];
  inDoubtCount: number;
  /** Processes of the engine that were left over and had to be ended (T7.6). */
  leftProcesses: number;
  /** ISO 8601; absent where it did not come to that. */
  begunAt?: string;
  engineEndedAt?: string;
}
