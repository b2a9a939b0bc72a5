/**
 * What bridge and workers say to `drover-server` about one run, under `/runs/v1/<uid of the run>/`.
 *
 * | Request               | By             | Body -> answer                                                               |
 * | --------------------- | -------------- | ---------------------------------------------------------------------------- |
 * | `PUT pin`             | bridge         | {@link RunPin} -> the pin that counts: the first                             |
 * | `GET pin`             | bridge, worker | -> {@link RunPin}                                                            |
 * | `PUT artefact/<name>` | worker         | bytes of `archive` or `variables` -> digest and size                         |
 * | `GET artefact/<name>` | bridge, worker | -> bytes                                                                     |
 * | `POST snapshot`       | worker         | {@link SnapshotRequest} -> {@link RunSnapshot}, the first                    |
 * | `GET snapshot`        | bridge, worker | -> {@link RunSnapshot}; 404 `NotStored`                                      |
 * | `GET plan`            | bridge, worker | -> {@link StoredPlan}; 404 `NotStored`                                       |
 * | `PUT permit`          | bridge         | {@link RunPermit} -> the permit that counts: the first                       |
 * | `GET permit`          | bridge, worker | -> {@link RunPermit}; 404 `NotStored`                                        |
 * | `GET slot`            | bridge, worker | -> {@link SlotView} of its workspace                                         |
 * | `POST slot`           | worker         | {@link GrantRequest} -> {@link SlotView}: the run has the slot               |
 * | `POST release`        | worker         | {@link ReleaseRequest} -> {@link SlotView}: the run has it no more           |
 * | `POST finish`         | bridge         | {} -> {}: it is over, and what is kept of it goes in seven days              |
 *
 * And about one workspace, under `/state/v1/<uid of the workspace>/`: `PUT workspace` ({@link WorkspaceFacts}) and
 * `POST free` (`{turn}`) by the bridge, `GET slot` by bridge and worker. Refusals are those of `operation.ts`.
 */
import type { EngineName } from './engine.js';
import type { PlanFacts } from './plan-facts.js';
import type { Digest } from './operation-terms.js';

/** Where runs are served; followed by their uid, then `/` and the request. */
export const RUNS_PATH = '/runs/v1';
/** Where states are served; followed by the uid of their workspace. */
export const STATES_PATH = '/state/v1';

/** Whom a token of Kubernetes must be for, to be one of ours. */
export const SERVER_AUDIENCE = 'drover-server';

/** What a run is to do: read from its objects by the bridge, once, after the grant (T5.1). */
export interface RunPin {
  run: string;
  workspace: string;
  namespace: string;
  runName: string;
  workspaceName: string;
  type: 'plan_only' | 'plan_and_apply' | 'drift_check';
  isDestroy: boolean;
  /** It finds out what an apply of unknown outcome has left (T8.8). */
  isReconcile: boolean;
  targets: string[];
  replace: string[];
  engine: { name: EngineName; version: string };
  workdir: string;
  executionMode: 'local' | 'agent' | 'k8s';
  agentPool?: string;
  planTimeoutMs: number;
  applyTimeoutMs: number;
  /** The rest, for those who wrote it: specs of workspace, run, tasks, targets, triggers; the requester. */
  specs?: unknown;
}

/** The worker has stored what it fetched. */
export interface SnapshotRequest {
  archive: Digest;
  variables: Digest;
}

/** What a run works from: the server adds the state that there is, and the lock file of the last apply. */
export interface RunSnapshot {
  archive: Digest;
  variables: Digest;
  lockFile?: Digest;
  /** No state: `''` and 0. */
  lineage: string;
  serial: number;
  at: string;
}

/** A plan that was made and stored (T6.3). */
export interface StoredPlan {
  planDigest: Digest;
  plan: PlanFacts;
}

/** Leave to apply a plan (T6.5). */
export interface RunPermit {
  planDigest: Digest;
  /** Who has answered, for the record. */
  answers: unknown[];
}

/** Asks for the slot. */
export interface GrantRequest {
  /** As it was read before. */
  turn: number;
}

/** Gives the slot back. */
export interface ReleaseRequest {
  turn: number;
  to: { kind: 'free' } | { kind: 'recovery'; reason: string };
}

/** The slot of a workspace. */
export interface SlotView {
  turn: number;
  held?: { kind: 'run' | 'user' | 'recovery'; holder: string; since: string; reason?: string };
  locked?: { reason: string; since: string };
  /** Of the newest final state. */
  state?: { version: number; lineage: string; serial: number; turn: number; resourceCount: number };
}

/** Where a workspace is, and whether a person has locked it. */
export interface WorkspaceFacts {
  namespace: string;
  name: string;
  locked?: { reason: string };
}
