import {
  ActivityCancellationType,
  CancellationScope,
  condition,
  defineSignal,
  patched,
  proxyLocalActivities,
  setHandler,
} from '@temporalio/workflow';
import { formatDuration } from '../../api/core/duration.js';
import { outcomeOf, refuseAnswer } from '../../api/plan/actions/approval-answers.js';
import type { ApprovalAnswer, ApprovalState } from '../../api/plan/actions/approval-answers.js';
import type { ActionOutputs } from '../../api/plan/types.js';
import { PLAN_SIGNALS } from './contract.js';
import type { ActionOutcome, Decision, VouchTask, WorkerActivities } from './contract-tasks.js';

/** Histories without it come from releases that took every answer for one sent by the bridge. */
const SEALED_ANSWERS = 'sealed-answers';

/** A person's answer to an approval of the stage. */
export const answerSignal = defineSignal<[ApprovalAnswer]>(PLAN_SIGNALS.answer);

const { vouch } = proxyLocalActivities<Pick<WorkerActivities, 'vouch'>>({
  startToCloseTimeout: '10s',
  cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
  retry: { initialInterval: '1s', backoffCoefficient: 2, maximumInterval: '1m' },
});

type Ending =
  | Omit<Extract<ActionOutcome, { phase: 'Succeeded' }>, 'round' | 'retryCount'>
  | Omit<Extract<ActionOutcome, { phase: 'Failed' }>, 'round' | 'retryCount'>;

/** The approvals of a stage: several may wait at once. */
export interface Approvals {
  /**
   * Waits until enough persons have approved, one has rejected, or the time is up.
   *
   * @throws CancelledFailure when the current scope is cancelled
   */
  wait: (
    at: string,
    request: Extract<Decision, { kind: 'approval' }>,
    say: ((message: string, outputs?: ActionOutputs) => void) | undefined,
  ) => Promise<Ending>;
}

/** An approval that waits. */
interface Waiting {
  take: (answer: ApprovalAnswer) => void;
  /** Says why an answer does not count. */
  refuse: (why: string) => void;
}

/**
 * Listens for answers. One that comes while its approval is not waiting never counts later: an answer is for the
 * question that was asked when it was given. Only answers sent by the bridge count (S6.20).
 */
export function createApprovals({ run, stage }: Pick<VouchTask, 'run' | 'stage'>): Approvals {
  const requester = run.requestedBy;
  const waiting = new Map<string, Waiting>();
  const heard = new Set<string>();
  const take = (answer: ApprovalAnswer, approval: Waiting | undefined): void => {
    if (heard.has(answer.id)) return;
    heard.add(answer.id);
    approval?.take(answer);
  };

  async function vouched(answer: ApprovalAnswer, approval: Waiting | undefined): Promise<void> {
    const outcome = await CancellationScope.nonCancellable(() => vouch({ run, stage, answer }));
    // The approval has ended, or another one waits at its place by now.
    const asked = waiting.get(answer.at) === approval ? approval : undefined;
    if (outcome.kind === 'vouched') take(answer, asked);
    else asked?.refuse(outcome.message);
  }

  const seen = new Set<string>();
  setHandler(answerSignal, (answer) => {
    const approval = waiting.get(answer.at);
    if (!patched(SEALED_ANSWERS)) {
      take(answer, approval);
      return;
    }
    // The bridge repeats an answer until it knows that it has arrived; a forged one must not block the genuine one.
    const key = `${answer.id} ${answer.seal ?? ''}`;
    if (seen.has(key)) return;
    seen.add(key);
    vouched(answer, approval).catch(() => {
      seen.delete(key);
    });
  });

  return {
    async wait(at, request, say) {
      const { message, approvers, quorum, excludeRequester, timeoutMs } = request;
      const state: ApprovalState = {
        message,
        approvers,
        quorum,
        excludeRequester,
        ...(timeoutMs !== undefined && { expires: new Date(Date.now() + timeoutMs).toISOString() }),
        answers: [],
      };
      let refused: string | undefined;
      // Status keeps the object it is given, so each call passes a new one.
      const show = (): void =>
        say?.(describe(state, refused), { approval: { ...state, answers: [...state.answers] } });
      waiting.set(at, {
        take: (answer) => {
          if (outcomeOf(state) !== undefined) return;
          refused = refuseAnswer(state, answer, requester);
          if (refused === undefined) {
            const { user, decision, comment, time, verified } = answer;
            state.answers.push({ user, decision, ...(comment !== undefined && { comment }), time, verified });
          }
          show();
        },
        refuse: (why) => {
          refused = why;
          show();
        },
      });
      show();
      try {
        const decided = (): boolean => outcomeOf(state) !== undefined;
        if (timeoutMs === undefined) await condition(decided);
        else await condition(decided, timeoutMs, { summary: 'waits for an approval' });
      } finally {
        waiting.delete(at);
      }
      return endingOf(state, request);
    },
  };
}

function describe({ message, quorum, answers }: ApprovalState, refused: string | undefined): string {
  const words = [
    `waits for approval (${answers.length}/${quorum}): ${message}`,
    answers.length === 0 ? '' : `approved by ${answers.map(nameOf).join(', ')}`,
    refused === undefined ? '' : `not counted: ${refused}`,
  ];
  return words.filter((part) => part !== '').join('; ');
}

function endingOf(state: ApprovalState, request: Extract<Decision, { kind: 'approval' }>): Ending {
  const outputs: ActionOutputs = { approval: state };
  const approvers = state.answers.map(nameOf).join(', ');
  switch (outcomeOf(state)) {
    case 'Approved':
      return { phase: 'Succeeded', message: `approved by ${approvers}`, outputs };
    case 'Rejected': {
      const [rejection] = state.answers.filter(({ decision }) => decision === 'Reject');
      const why = rejection?.comment === undefined ? '' : `: ${rejection.comment}`;
      return {
        phase: 'Failed',
        reason: 'Rejected',
        message: `rejected by ${rejection === undefined ? 'somebody' : nameOf(rejection)}${why}`,
        outputs,
        effect: 'None',
      };
    }
    case undefined: {
      const seen = `${state.answers.length} of ${state.quorum} had approved after ${formatDuration(request.timeoutMs ?? 0)}`;
      return request.defaultOutcome === 'Approve'
        ? { phase: 'Succeeded', message: `${seen}; it counts as approved by default`, outputs }
        : {
            phase: 'Failed',
            reason: 'ApprovalExpired',
            message: `${seen}; it counts as rejected`,
            outputs,
            effect: 'None',
          };
    }
  }
}

const nameOf = ({ user, verified }: { user: string; verified: boolean }): string =>
  verified ? user : `${user} (not verified)`;
