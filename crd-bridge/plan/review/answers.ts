import { randomUUID } from 'node:crypto';
import { findPending, readAnswer, refuseAnswer } from '../../../api/plan/actions/approval-answers.js';
import type { ApprovalAnswer } from '../../../api/plan/actions/approval-answers.js';
import { ANNOTATIONS } from '../../../api/core/group.js';
import type { StageStatus } from '../../../api/plan/types.js';
import { readAnswers } from '../status/answers.js';
import { refusedBy } from '../../core/review.js';
import type { ReviewedObject, ReviewRequest, ReviewResponse } from '../../core/review.js';

/** Most answers that one execution keeps; a run asks for far fewer. */
const MAX_ANSWERS = 200;

/** What the annotations about approvals have to be after a review; undefined values are removed. */
export type AnswerStamps = Record<string, string | undefined>;

/**
 * Turns a new `approve` or `reject` into a record of who gave it, which nobody else can write. Reports at once why an
 * answer cannot count.
 */
export function stampAnswer(
  request: ReviewRequest,
  object: ReviewedObject,
): { stamps: AnswerStamps; isNew: boolean } | { refused: ReviewResponse } {
  const { approve, reject, approvals, requestedBy } = ANNOTATIONS;
  const { annotations = {} } = object.metadata;
  const before = request.oldObject?.metadata.annotations ?? {};
  const stamps: AnswerStamps = { [approvals]: before[approvals] };
  const given = [[approve, 'Approve'] as const, [reject, 'Reject'] as const].filter(
    ([key]) => annotations[key] !== undefined && annotations[key] !== before[key],
  );
  const [first, second] = given;
  if (first === undefined) return { stamps, isNew: false };
  if (second !== undefined) return refuse('approve and reject were given at once; give one of them');
  const [key, decision] = first;
  const { at, comment } = readAnswer(annotations[key] ?? '');
  const status = object.status as { stageStatuses?: StageStatus[] } | undefined;
  const pending = findPending(status?.stageStatuses ?? [], at);
  if ('problem' in pending) return refuse(pending.problem);

  const known = readAnswers(before[approvals]);
  const allowed = pending.state.approvers.groups ?? [];
  const answer: ApprovalAnswer = {
    id: randomUUID(),
    at: pending.at,
    decision,
    user: request.user,
    // Only the groups that matter: a person may be in hundreds.
    groups: (request.groups ?? []).filter((group) => allowed.includes(group)),
    ...(comment !== undefined && { comment }),
    time: new Date().toISOString(),
    verified: true,
  };
  const refused = refuseAnswer(pending.state, answer, before[requestedBy]);
  if (refused !== undefined) return refuse(refused);
  if (known.length >= MAX_ANSWERS) return refuse(`the execution has ${known.length} answers already`);
  return {
    isNew: true,
    stamps: { [approve]: undefined, [reject]: undefined, [approvals]: JSON.stringify([...known, answer]) },
  };
}

const refuse = (message: string): { refused: ReviewResponse } => ({
  refused: refusedBy({ reason: 'ApprovalRefused', message }),
});
