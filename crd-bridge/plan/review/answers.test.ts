import { describe, expect, it } from 'vitest';
import { ANNOTATIONS } from '../../../api/core/group.js';
import type { ApprovalState } from '../../../api/plan/actions/approval-answers.js';
import { readAnswers } from '../status/answers.js';
import { stampAnswer } from './answers.js';
import type { ReviewRequest } from '../../core/review.js';

const { approve, reject, approvals, requestedBy } = ANNOTATIONS;

const waiting: ApprovalState = {
  message: 'go?',
  approvers: { users: ['bob'], groups: ['ops'] },
  quorum: 1,
  excludeRequester: true,
  answers: [],
};

function review(
  annotations: Record<string, string>,
  options: { user?: string; groups?: string[]; before?: Record<string, string>; phase?: string } = {},
) {
  const before = { [requestedBy]: 'alice', ...options.before };
  const object = {
    metadata: { name: 'e', annotations: { ...before, ...annotations } },
    status: {
      stageStatuses: [
        {
          name: 's',
          phase: 'Running',
          workflowExecutions: [
            {
              workflowRef: { name: 'w' },
              phase: 'Running',
              actionStatuses: [
                {
                  name: 'ok',
                  type: 'Approval',
                  phase: options.phase ?? 'Running',
                  outputs: { approval: waiting },
                },
              ],
            },
          ],
        },
      ],
    },
  };
  const request: ReviewRequest = {
    uid: 'u',
    kind: 'DRPlanExecution',
    operation: 'UPDATE',
    user: options.user ?? 'bob',
    groups: options.groups ?? [],
    namespace: 'ns',
    object,
    oldObject: { metadata: { name: 'e', annotations: before } },
  };
  const result = stampAnswer(request, object);
  return 'refused' in result ? { refused: result.refused.allowed ? '' : result.refused.message } : result;
}

const recordOf = (result: ReturnType<typeof review>) =>
  'stamps' in result ? readAnswers(result.stamps[approvals]) : [];

describe('an answer to an approval', () => {
  it('becomes a record of who gave it, and leaves room for the next', () => {
    const result = review({ [approve]: '0/0/0 fine' });
    expect(result).toMatchObject({ stamps: { [approve]: undefined, [reject]: undefined } });
    expect(recordOf(result)).toMatchObject([
      { at: '0/0/0', decision: 'Approve', user: 'bob', comment: 'fine', verified: true },
    ]);
    const first = 'stamps' in result ? (result.stamps[approvals] ?? '') : '';
    const second = review(
      { [reject]: 'true' },
      { user: 'carol', groups: ['ops', 'dev'], before: { [approvals]: first } },
    );
    expect(recordOf(second)).toMatchObject([
      { user: 'bob' },
      { user: 'carol', groups: ['ops'], decision: 'Reject' },
    ]);
  });

  it('is refused at once when it cannot count, saying why', () => {
    expect(review({ [approve]: '' }, { user: 'mallory' })).toEqual({
      refused: 'mallory is not among the approvers (bob, group ops)',
    });
    expect(review({ [approve]: '' }, { user: 'alice', groups: ['ops'] })).toHaveProperty('refused');
    expect(review({ [approve]: '' }, { phase: 'Succeeded' })).toEqual({
      refused: 'no action of this execution waits for an approval',
    });
    expect(review({ [approve]: '1/0/0' })).toHaveProperty('refused');
    expect(review({ [approve]: '', [reject]: '' })).toHaveProperty('refused');
  });

  it('cannot be forged or taken away', () => {
    const forged = JSON.stringify([{ id: 'x', user: 'bob' }]);
    expect(review({ [approvals]: forged })).toEqual({ isNew: false, stamps: { [approvals]: undefined } });
    const before = { [approvals]: '[]' };
    expect(review({ [approvals]: forged }, { before })).toEqual({
      isNew: false,
      stamps: { [approvals]: '[]' },
    });
  });

  it('that was there before is not given again', () => {
    expect(review({}, { before: { [approve]: 'old' } })).toEqual({
      isNew: false,
      stamps: { [approvals]: undefined },
    });
  });
});

it('reads no records but its own', () => {
  expect(readAnswers('no json')).toEqual([]);
  expect(readAnswers('{"a":1}')).toEqual([]);
  const good = {
    id: 'i',
    at: '0/0/0',
    decision: 'Approve',
    user: 'b',
    groups: [],
    time: 't',
    verified: true,
  };
  expect(
    readAnswers(JSON.stringify([good, { ...good, verified: false }, { ...good, decision: 'x' }, 1])),
  ).toEqual([good]);
});
