/**
 * What a worker does only where bridge or worker vouch for it, and what it vouches for itself (docs/security.md#seals).
 */
import { activityInfo } from '@temporalio/activity';
import type { ApprovalAnswer } from '../../api/plan/actions/approval-answers.js';
import type { ActionAddress, ActionBody } from '../../api/plan/snapshot/run.js';
import type { Sealer } from '../../api/core/seal.js';
import { traceOf } from '../../api/plan/undo/trace.js';
import type { RunIdentity } from '../../workflows/plan/contract.js';
import type { ActionOutcome, ActionTask, ClusterTarget } from '../../workflows/plan/contract-tasks.js';
import {
  checkAction,
  checkRun,
  checkTask,
  explain,
  inItsMode,
  isTraceless,
  sealedAnswer,
  sealedCluster,
  sealedEffect,
} from '../../workflows/plan/sealed.js';
import type { Vouched } from '../../workflows/plan/sealed.js';
import { tryAgain } from './series.js';

/** Nobody vouches for a task yet: it is tried again, without being counted, until somebody does or it is given up. */
export class NotYetVouched extends Error {
  override readonly name = 'NotYetVouched';
  /** Stable, CamelCase. */
  readonly reason: string;
  constructor(reason: string, message: string) {
    super(message);
    this.reason = reason;
  }
}

/** Nobody vouches for a task, and nobody will. */
export class NotVouched extends Error {
  override readonly name = 'NotVouched';
}

/**
 * Checks what is vouched for, and vouches. Every check must be called inside an activity: Temporal states which
 * workflow it belongs to.
 */
export interface Vouching {
  /**
   * The task as it is to be carried out.
   *
   * @throws {@link NotVouched}, {@link NotYetVouched}
   */
  task<T extends ActionTask>(task: T): Promise<T>;
  /**
   * Makes sure that a task is about the action that it was given, or that was found for it.
   *
   * @throws {@link NotVouched}
   */
  action(task: ActionTask, body: ActionBody): void;
  /**
   * Makes sure of a run that asks as the stage of this index.
   *
   * @throws {@link NotVouched}, {@link NotYetVouched}
   */
  run(run: RunIdentity, stage: number): Promise<void>;
  /**
   * Makes sure of an answer to an approval of a run.
   *
   * @throws {@link NotVouched}, {@link NotYetVouched}
   */
  answer(run: RunIdentity, answer: ApprovalAnswer): Promise<void>;
  /** The outcome of a task with a seal of what it has left behind. */
  outcome(task: ActionTask, outcome: ActionOutcome): ActionOutcome;
  /** A cluster that was found for a task, sealed. */
  cluster(task: ActionTask, target: ClusterTarget): ClusterTarget;
}

/** Waits between tries of what may be vouched for later: its pending retries are bounded in number. */
const PATIENCE_MS = { first: 2_000, later: 60_000, firstTries: 5 };

/** The failure by which Temporal tries again later. */
export function tryVouchedAgain({ reason, message }: NotYetVouched): ReturnType<typeof tryAgain> {
  const { first, later, firstTries } = PATIENCE_MS;
  return tryAgain(reason, message, activityInfo().attempt <= firstTries ? first : later);
}

/**
 * Vouching by seals.
 *
 * @param options.acceptUnsealedUntil until then runs that were begun by a release without seals go on
 */
export function createVouching(options: {
  sealer: Sealer;
  acceptUnsealedUntil?: Date | undefined;
}): Vouching {
  const { sealer, acceptUnsealedUntil } = options;

  function pass(vouched: Vouched, run: RunIdentity): void {
    const isLate = acceptUnsealedUntil === undefined || Date.now() >= acceptUnsealedUntil.getTime();
    if (vouched.kind === 'unsealed' && !isLate) return;
    const refusal = explain(vouched, run);
    if (refusal === undefined) return;
    throw refusal.final
      ? new NotVouched(refusal.message)
      : new NotYetVouched(refusal.reason, refusal.message);
  }
  const caller = (): string | undefined => activityInfo().workflowExecution?.workflowId;

  return {
    async task(task) {
      const from = caller();
      pass(await checkTask(task, from, sealer.verify), task.run);
      return inItsMode(task, from);
    },
    action: (task, body) => {
      if (task.run.seal !== undefined) pass(checkAction(task, body), task.run);
    },
    async run(run, stage) {
      pass(await checkRun(run, { caller: caller(), stage }, sealer.verify), run);
    },
    async answer(run, answer) {
      const found = await sealer.verify('answer', sealedAnswer(run.uid, answer), answer.seal);
      if (found.kind === 'unknownKey') pass(found, run);
      if (found.kind === 'wrong') throw new NotVouched('the bridge has not sent this answer');
    },
    outcome: (task, outcome) => {
      const trace = outcome.phase === 'Skipped' ? undefined : traceOf(outcome.outputs);
      if (task.direction === 'undo' || trace === undefined || isTraceless(trace)) return outcome;
      const seal = sealer.seal('effect', sealedEffect({ ...of(task), trace }));
      return { ...outcome, seal };
    },
    cluster: (task, target) => ({
      ...target,
      seal: sealer.seal('cluster', sealedCluster({ ...of(task), target })),
    }),
  };
}

const of = ({ run, at }: ActionTask): { uid: string; at: ActionAddress } => ({ uid: run.uid, at });
