import { expect, it } from 'vitest';
import { ANNOTATIONS } from '../../../api/core/group.js';
import type { DRPlanExecution } from '../../../api/plan/types.js';
import { answersOf } from './answers.js';

const approval = {
  message: 'go?',
  approvers: { users: ['bob'] },
  quorum: 1,
  excludeRequester: true,
  answers: [],
};
const execution = (annotations: Record<string, string>): DRPlanExecution => ({
  metadata: { name: 'e', namespace: 'ns', annotations },
  spec: { planRef: 'p', operationType: 'Execute' },
  status: {
    stageStatuses: [
      {
        name: 's',
        phase: 'Running',
        workflowExecutions: [
          {
            workflowRef: { name: 'w' },
            phase: 'Running',
            actionStatuses: [{ name: 'ok', type: 'Approval', phase: 'Running', outputs: { approval } }],
          },
        ],
      },
    ],
  },
});
const record = {
  id: 'i',
  at: '0/0/0',
  decision: 'Approve',
  user: 'bob',
  groups: [],
  time: 't',
  verified: true,
};

it('believes the records of admission only while admission is there', () => {
  const carried = execution({
    [ANNOTATIONS.approvals]: JSON.stringify([record]),
    [ANNOTATIONS.approve]: 'x',
  });
  expect(answersOf(carried, { verified: true, allowUnverified: true })).toEqual({
    answers: [record],
    unverified: false,
  });
  expect(answersOf(carried, { verified: false, allowUnverified: false })).toEqual({
    answers: [],
    unverified: true,
  });
});

it('tells a claimed record only while what it is for still waits', () => {
  const none = { verified: false, allowUnverified: false };
  const claimed = execution({ [ANNOTATIONS.approvals]: JSON.stringify([record]) });
  expect(answersOf(claimed, none)).toEqual({ answers: [], unverified: true });
  expect(answersOf({ ...claimed, status: {} }, none)).toEqual({ answers: [], unverified: false });
});

it('lets anybody answer where the installation says so, and calls it not verified', () => {
  const found = answersOf(execution({ [ANNOTATIONS.reject]: 'no' }), {
    verified: false,
    allowUnverified: true,
  });
  expect(found.answers).toMatchObject([
    { at: '0/0/0', decision: 'Reject', user: 'somebody', comment: 'no', verified: false },
  ]);
});
