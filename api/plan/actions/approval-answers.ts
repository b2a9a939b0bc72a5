/**
 * The rules of approvals, as the run, the webhook and the command line follow them alike (S3.57). Must stay free of
 * anything that cannot run in Temporal's sandbox.
 */
import { isTerminalItem } from '../../core/phase.js';
import type { ActionOutputs, ActionStatus, StageStatus } from '../types.js';

/** What an approval asks, and who has answered so far: part of an action's outputs. */
export type ApprovalState = NonNullable<ActionOutputs['approval']>;

/** A person's answer, as whoever verified it hands it on. */
export interface ApprovalAnswer {
  /** Names the answer; one that was heard already is not heard again. */
  id: string;
  /** Position of the action, `stage/workflow/action`. */
  at: string;
  decision: 'Approve' | 'Reject';
  user: string;
  /** Groups of the user, at least those that the approval names. */
  groups: string[];
  comment?: string;
  /** RFC 3339. */
  time: string;
  /** Whether the API server vouches for the user. */
  verified: boolean;
  /** The bridge's seal of all that, for one run: without it an answer does not count. */
  seal?: string;
}

/** Longest comment that is kept, in characters. */
export const MAX_COMMENT = 500;

/** Why an answer does not count; undefined when it does. */
export function refuseAnswer(
  state: ApprovalState,
  answer: Pick<ApprovalAnswer, 'decision' | 'user' | 'groups' | 'verified'>,
  requester: string | undefined,
): string | undefined {
  const { user, groups, verified } = answer;
  // Where identities are not verified, the installation has accepted that.
  if (verified) {
    const { users = [], groups: allowed = [] } = state.approvers;
    if (!users.includes(user) && !groups.some((group) => allowed.includes(group))) {
      return `${user} is not among the approvers (${[...users, ...allowed.map((group) => `group ${group}`)].join(', ')})`;
    }
    if (state.excludeRequester && answer.decision === 'Approve') {
      if (requester === undefined) {
        return 'who asked for this execution is not known, so it cannot be told from who approves it; create it anew while the admission webhook runs';
      }
      if (user === requester) return `${user} asked for this execution and may not approve it`;
    }
  }
  const earlier = state.answers.find((known) => known.user === user);
  return earlier === undefined ? undefined : `${user} has answered already`;
}

/** What the answers so far come to; undefined while it is open. One rejection ends it. */
export function outcomeOf(state: ApprovalState): 'Approved' | 'Rejected' | undefined {
  if (state.answers.some(({ decision }) => decision === 'Reject')) return 'Rejected';
  return state.answers.length >= state.quorum ? 'Approved' : undefined;
}

/** An approval that waits for an answer. */
export interface PendingApproval {
  at: string;
  stage: string;
  action: ActionStatus;
  state: ApprovalState;
}

/** The approvals of a run that wait for an answer. */
export function pendingApprovals(stages: readonly StageStatus[]): PendingApproval[] {
  return stages.flatMap((stage, s) =>
    (stage.workflowExecutions ?? []).flatMap((workflow, w) =>
      (workflow.actionStatuses ?? []).flatMap((action, a): PendingApproval[] => {
        const state = action.outputs?.approval;
        if (action.type !== 'Approval' || state === undefined || isTerminalItem(action.phase)) return [];
        return [{ at: `${s}/${w}/${a}`, stage: stage.name, action, state }];
      }),
    ),
  );
}

/**
 * Reads what somebody wrote into annotation `approve` or `reject`: `POSITION comment`, where the position may be left out
 * while only one approval waits (then `true`, nothing or a comment stand alone).
 */
export function readAnswer(text: string): { at?: string; comment?: string } {
  const match = /^(?:(\d+\/\d+\/\d+)(?:\s+|$)|true(?:\s+|$))?([^]*)$/.exec(text.trim());
  const comment = (match?.[2] ?? '').trim().slice(0, MAX_COMMENT);
  return { ...(match?.[1] !== undefined && { at: match[1] }), ...(comment !== '' && { comment }) };
}

/** The approval that an answer means, or why there is none. */
export function findPending(
  stages: readonly StageStatus[],
  at: string | undefined,
): PendingApproval | { problem: string } {
  const pending = pendingApprovals(stages);
  const shown = pending.map((one) => `${one.at} (${one.action.name})`).join(', ');
  if (pending.length === 0) return { problem: 'no action of this execution waits for an approval' };
  if (at === undefined) {
    const [only, ...others] = pending;
    return only !== undefined && others.length === 0
      ? only
      : { problem: `several actions wait for an approval: ${shown}; name one of these positions` };
  }
  return (
    pending.find((one) => one.at === at) ?? {
      problem: `the action at ${at} waits for no approval; waiting: ${shown}`,
    }
  );
}
