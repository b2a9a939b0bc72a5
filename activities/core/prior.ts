/** The state of objects before and after an action, and who keeps it. */
import type { KubeObject, ObjectKey } from '../../kube/object.js';
import type { PriorRef } from '../../workflows/plan/contract-tasks.js';
import type { PriorOwner } from './prior-secret.js';

/** One object before an action. */
export interface PriorDocument {
  key: ObjectKey;
  operation: string;
  /** Null: it was not there. */
  object: KubeObject | null;
  /** What the action writes, as it was rendered. */
  intent: KubeObject;
  /** Patch: that it is a strategic merge patch; absent = a JSON merge patch. */
  patchType?: 'strategic';
}

/** One object after an action, as the server stored it. */
export interface AfterDocument {
  key: ObjectKey;
  /** Null: the action removed it. */
  object: KubeObject | null;
  /** Nobody else has written between the record of the state before and the action. */
  exact?: true;
}

/** What is known about the objects of an action. */
export interface PriorState {
  documents: PriorDocument[];
  /** Absent objects were not reached, or the action ended without a word. */
  after: AfterDocument[];
}

/** Why prior state is not available. */
export type PriorProblem = { ok: false; reason: string; message: string };

/**
 * Reads and writes prior state. Every method throws `NotYetVouched` where only a key that the ring lacks could decide.
 */
export interface PriorStore {
  /**
   * Records once: what a worker has recorded already is the truth and is left as it is.
   *
   * @param options.isRepeated an earlier attempt may have recorded it, under a name by an older key
   */
  record(
    owner: PriorOwner,
    documents: PriorDocument[],
    options: { isRepeated: boolean },
  ): Promise<{ ok: true; prior: PriorRef } | PriorProblem>;
  /**
   * What was recorded; undefined when nothing was.
   *
   * @param options.byDigest the reference is vouched for, as at an undo: then its digest does instead of a seal
   * @param options.keyId key that was the newest when the run began: without it what was recorded may not be found
   */
  find(
    owner: PriorOwner,
    ref: PriorRef | undefined,
    options: { byDigest: boolean; keyId?: string | undefined },
  ): Promise<{ ok: true; state: PriorState | undefined } | PriorProblem>;
  /**
   * Adds what the action left behind; of an object that was added before, the later state counts. What does not fit is
   * not kept: the undo then compares with what was written.
   */
  addAfter(owner: PriorOwner, ref: PriorRef, after: AfterDocument[]): Promise<void>;
}
