import type { Logger } from 'pino';
import type { Refusal } from '../../api/core/refusal.js';
import type { Policy } from '../../api/plan/policy.js';
import type { RenderScope } from '../../api/plan/template/render.js';
import type { Action, ActionOutputs } from '../../api/plan/types.js';
import type { KubeClient } from '../../kube/client.js';
import type { KubeObject, ObjectKey } from '../../kube/object.js';
import type { ActionTask, CaptureOutcome, TargetsOutcome } from '../../workflows/plan/contract-tasks.js';
import type { Finding } from './finding.js';
import type { ObjectTask } from './object-task.js';
import type { PriorStore } from './prior.js';

/** What one attempt of an action has to work with. */
export interface Attempt {
  task: ActionTask;
  /** The action that is executed: for an undo with a custom rollback, the rollback. */
  action: Action;
  /** Whether this undoes by a custom rollback, which is {@link Attempt.action}, rather than by the automatic inverse. */
  custom?: boolean;
  /** Values for placeholders. */
  scope: RenderScope;
  /** For what is written for one cluster: the name that the action gives all of it together, and the cluster. */
  member?: { subscription: string; cluster: string; clusterId: string };
  /** Field manager of the action: what it writes of objects is its own under this name. */
  manager: string;
  /** Idempotency key of this round; the same for every lost or ambiguous attempt of it. */
  key: string;
  round: number;
  /** Aborted by cancel, by the timeout of the attempt, and by the worker's shutdown; `reason` is an {@link AbortReason}. */
  signal: AbortSignal;
  /** Milliseconds since the epoch at which this attempt times out. */
  deadline: number;
  /** The cluster to act on, as the identity that the action acts with: that of the run, or the action's `target`. */
  kube: KubeClient;
  /** Whom {@link Attempt.kube} acts as, for messages. */
  identity: string;
  /** The cluster, as the controller: only for what belongs to the run itself (secrets of the plan). */
  home: KubeClient;
  /** The state of objects before and after actions. */
  priors: PriorStore;
  /** Whether an earlier attempt, or round, may have done a part already. */
  isRepeated: boolean;
  log: Logger;
  /** Preflight: definitions that earlier actions would have made by then. */
  defined?: readonly KubeObject[];
  /** What plans of the run's namespace may do; {@link Attempt.kube} keeps to it by itself. */
  policy: Policy;
  /**
   * Call just before each effect: throws {@link StaleAttempt} when this process was stopped for so long that another
   * attempt may have taken over (S3.10). Handlers let it pass through.
   */
  beforeEffect(): void;
  /**
   * Shows in status what this attempt waits for. For what a person can do something about: repeated words, words within
   * two seconds of the last and more than twenty of an attempt are dropped.
   */
  say(message: string): void;
  /**
   * Keeps a small fact for later attempts of the same action, best effort: it is lost when the worker dies within
   * about a second. Replaces what was kept before.
   */
  remember(memo: Memo): void;
  /** What an earlier attempt of this round kept. */
  remembered: Memo | undefined;
}

/** A fact that one attempt leaves to the next: plain JSON, small, never a secret. */
export type Memo = Record<string, string | number | boolean>;

/**
 * Why an attempt's signal was aborted. `cancelled` and `timeout`: stop the effect. `shutdown` (the worker goes down, or
 * the server has given this attempt up) and `paused`: leave the effect alone, another attempt goes on with it.
 */
export type AbortReason = 'cancelled' | 'timeout' | 'shutdown' | 'paused';

/** Whether an aborted attempt has to stop its effect, rather than leave it to the next attempt. */
export function mustStop(signal: AbortSignal): boolean {
  const reason = signal.reason as AbortReason;
  return signal.aborted && (reason === 'cancelled' || reason === 'timeout');
}

/** Thrown by {@link Attempt.beforeEffect}: this attempt may no longer be the current one. */
export class StaleAttempt extends Error {
  override readonly name = 'StaleAttempt';
}

/**
 * What a failed attempt says about the effect that its key stands for. `Unclear`: it may be there, or still come about.
 * `Refused`: this attempt did not cause it, and cannot know of those before. `Settled`: it was looked for by its key
 * and has come to its end, whichever attempt began it.
 */
export type RoundAfter = 'Unclear' | 'Refused' | 'Settled';

/** Reason of a `settle` that goes on as long as pods do: the bound on that is the handler's. */
export const PODS_REMAIN = 'PodsRemain';

/**
 * What became of pods: they are gone or terminal, are still waited for, or their time is over. `places` name what may
 * still run, `said` all of it in words.
 */
export type PodsEnd =
  | { kind: 'quiet' }
  | { kind: 'waiting'; said: string }
  | { kind: 'unconfirmed'; places: string[]; said: string };

/** An object to delete. */
export interface Leftover {
  key: ObjectKey;
  uid?: string | undefined;
  /** Waits for what outlives it: the pods of a Job that had not ended. */
  outlived?: () => Promise<PodsEnd>;
}

/** How an attempt ended. The frame around it decides whether there is another one. */
export type AttemptResult =
  | { kind: 'succeeded'; outputs?: ActionOutputs; message?: string }
  /** The effect was not needed: undo only. */
  | { kind: 'skipped'; reason: string; message: string }
  /** No further attempt can help. */
  | {
      kind: 'failed';
      reason: string;
      message: string;
      outputs?: ActionOutputs;
      effect: 'Done' | 'None' | 'Unknown';
    }
  /** The signal was aborted before the end was known; the frame says why, and whether there is another attempt. */
  | {
      kind: 'interrupted';
      outputs?: ActionOutputs;
      effect: 'Done' | 'None' | 'Unknown';
      message?: string;
      /** The effect may go on by itself and could not be stopped: after a cancel, `settle` follows. */
      unsettled?: boolean;
      /** After a timeout too `settle` follows, and no other attempt. */
      isFinal?: boolean;
    }
  /** A further attempt may help. */
  | {
      kind: 'retry';
      reason: string;
      message: string;
      outputs?: ActionOutputs;
      round: RoundAfter;
      /** Whether the effect may be there (default: Unknown when the round is Unclear, else None). */
      effect?: 'Done' | 'None' | 'Unknown';
      /** Least wait before the next attempt (Retry-After). */
      afterMs?: number;
    };

/** What an action would write to the Kubernetes API, in order, or why that cannot be said. */
export type Writes = { ok: true; tasks: ObjectTask[]; warning?: string } | ({ ok: false } & Refusal);

/** How a preflight looks. */
export interface LookOptions {
  /** Whether the workers' own lists of hosts may differ from those that are known here. */
  listsUnknown: boolean;
}

/** What an action type can do. Every method obeys `attempt.signal` and stops its waiting when it is aborted. */
export interface Handler {
  /** Brings the effect about, or finds it by its key. */
  run(attempt: Attempt): Promise<AttemptResult>;
  /**
   * Undoes what `task.forward` recorded, where no custom rollback is given. Idempotent: what is already undone is a
   * success, and nothing to undo is `skipped`.
   */
  undo(attempt: Attempt): Promise<AttemptResult>;
  /**
   * Finds the effect by its key after an attempt that ended without an outcome, stops what still runs, and says what
   * became of it.
   */
  settle(attempt: Attempt): Promise<AttemptResult>;
  /** Clusters of an action per cluster. Absent where nothing is carried out per cluster. */
  targets?(attempt: Attempt): Promise<TargetsOutcome>;
  /** Records the state before the effect. Absent where nothing can be restored. */
  capture?(attempt: Attempt): Promise<CaptureOutcome>;
  /**
   * Renders what {@link Handler.run} would write, without any effect. Absent where nothing is written to the Kubernetes
   * API.
   */
  writes?(attempt: Attempt): Promise<Writes>;
  /**
   * Says for a preflight what can be said without doing anything. Absent where {@link Handler.writes} says it, and where
   * nothing is changed.
   */
  look?(attempt: Attempt, options: LookOptions): Promise<Finding>;
  /** What is in the way of a hook that is about to be created. Absent where nothing is created. */
  leftovers?(attempt: Attempt): Promise<Leftover[] | Extract<AttemptResult, { kind: 'failed' }>>;
}

/** A handler whose writes a preflight tries. */
export type WritingHandler = Handler & Required<Pick<Handler, 'writes'>>;
/** A handler that a preflight asks. */
export type LookingHandler = Handler & Required<Pick<Handler, 'look'>>;
