import { findPending, readAnswer } from '../../../api/plan/actions/approval-answers.js';
import type { ApprovalAnswer } from '../../../api/plan/actions/approval-answers.js';
import { ANNOTATIONS } from '../../../api/core/group.js';
import { isObject, parseJson } from '../../../api/core/json.js';
import type { DRPlanExecution } from '../../../api/plan/types.js';

/** What an installation wants to know of whoever answers an approval. */
export interface AnswerTrust {
  /** Whether admission verifies who answers, so that its records can be believed. */
  verified: boolean;
  /** Whether an answer counts although nobody has verified who gave it. */
  allowUnverified: boolean;
}

/** Answers to approvals that an execution carries, and whether there is one that nobody vouches for. */
export function answersOf(
  execution: DRPlanExecution,
  trust: AnswerTrust,
): { answers: ApprovalAnswer[]; unverified: boolean } {
  const { annotations = {} } = execution.metadata;
  if (trust.verified) return { answers: readAnswers(annotations[ANNOTATIONS.approvals]), unverified: false };
  const given = [
    [annotations[ANNOTATIONS.approve], 'Approve'] as const,
    [annotations[ANNOTATIONS.reject], 'Reject'] as const,
  ].filter(([text]) => text !== undefined);
  if (!trust.allowUnverified) {
    const stages = execution.status?.stageStatuses ?? [];
    // A claimed record for something that still waits would have counted with admission.
    const claimed = readAnswers(annotations[ANNOTATIONS.approvals]).some(
      ({ at }) => !('problem' in findPending(stages, at)),
    );
    return { answers: [], unverified: given.length > 0 || claimed };
  }
  const answers = given.flatMap(([text = '', decision]): ApprovalAnswer[] => {
    const { at, comment } = readAnswer(text);
    const pending = findPending(execution.status?.stageStatuses ?? [], at);
    if ('problem' in pending) return [];
    return [
      {
        id: `unverified ${decision} ${pending.action.round ?? 0} ${text}`,
        at: pending.at,
        decision,
        user: 'somebody',
        groups: [],
        ...(comment !== undefined && { comment }),
        time: new Date().toISOString(),
        verified: false,
      },
    ];
  });
  return { answers, unverified: false };
}

/** The records of admission; anything else in the list is left out. */
export function readAnswers(text: string | undefined): ApprovalAnswer[] {
  if (text === undefined) return [];
  const list = parseJson(text);
  return Array.isArray(list) ? (list as unknown[]).filter(isAnswer) : [];
}

function isAnswer(value: unknown): value is ApprovalAnswer {
  if (!isObject(value)) return false;
  const { id, at, decision, user, groups, time, verified, comment } = value;
  return (
    [id, at, user, time].every((text) => typeof text === 'string') &&
    (decision === 'Approve' || decision === 'Reject') &&
    Array.isArray(groups) &&
    (comment === undefined || typeof comment === 'string') &&
    verified === true
  );
}
