import { describe, expect, it } from 'vitest';
import { findPending, outcomeOf, readAnswer, refuseAnswer } from './approval-answers.js';
import type { ApprovalState } from './approval-answers.js';
import type { StageStatus } from '../types.js';

const state = (more: Partial<ApprovalState> = {}): ApprovalState => ({
  message: 'go?',
  approvers: { users: ['alice', 'bob'], groups: ['ops'] },
  quorum: 2,
  excludeRequester: true,
  answers: [],
  ...more,
});
const approve = (user: string, groups: string[] = [], verified = true) =>
  ({ decision: 'Approve', user, groups, verified }) as const;
const answered = (user: string, decision: 'Approve' | 'Reject' = 'Approve') => ({
  user,
  decision,
  verified: true,
});

describe('whether an answer counts', () => {
  it('for approvers by user or group only', () => {
    expect(refuseAnswer(state(), approve('alice'), 'carol')).toBeUndefined();
    expect(refuseAnswer(state(), approve('dave', ['ops']), 'carol')).toBeUndefined();
    expect(refuseAnswer(state(), approve('dave', ['dev']), 'carol')).toBe(
      'dave is not among the approvers (alice, bob, group ops)',
    );
    expect(refuseAnswer(state({ approvers: {} }), approve(''), 'carol')).toContain('not among');
  });

  it('not for who asked for the run, unless that is allowed; rejecting always is', () => {
    expect(refuseAnswer(state(), approve('alice'), 'alice')).toContain('may not approve it');
    expect(refuseAnswer(state(), { ...approve('alice'), decision: 'Reject' }, 'alice')).toBeUndefined();
    expect(refuseAnswer(state({ excludeRequester: false }), approve('alice'), 'alice')).toBeUndefined();
    expect(refuseAnswer(state(), approve('alice'), undefined)).toContain('is not known');
  });

  it('once for each person', () => {
    const answers = [answered('alice')];
    expect(refuseAnswer(state({ answers }), approve('alice'), 'carol')).toBe('alice has answered already');
  });

  it('from anybody where the installation does without verification', () => {
    expect(refuseAnswer(state(), approve('somebody', [], false), undefined)).toBeUndefined();
  });
});

it('needs the quorum to approve and one to reject', () => {
  expect(outcomeOf(state())).toBeUndefined();
  expect(outcomeOf(state({ answers: [answered('alice')] }))).toBeUndefined();
  expect(outcomeOf(state({ answers: [answered('alice'), answered('bob')] }))).toBe('Approved');
  expect(outcomeOf(state({ answers: [answered('alice'), answered('bob', 'Reject')] }))).toBe('Rejected');
});

it.each([
  ['', {}],
  ['true', {}],
  ['0/1/2', { at: '0/1/2' }],
  ['0/1/2 looks good', { at: '0/1/2', comment: 'looks good' }],
  ['looks\ngood', { comment: 'looks\ngood' }],
  ['true story', { comment: 'story' }],
  ['0/1/2x', { comment: '0/1/2x' }],
])('reads %j', (text, expected) => {
  expect(readAnswer(text)).toEqual(expected);
});

describe('which approval is meant', () => {
  const stage = (...phases: string[]): StageStatus => ({
    name: 's',
    phase: 'Running',
    workflowExecutions: [
      {
        workflowRef: { name: 'w' },
        phase: 'Running',
        actionStatuses: phases.map((phase, index) => ({
          name: `a${index}`,
          type: 'Approval',
          phase,
          ...(phase !== 'Pending' && { outputs: { approval: state() } }),
        })),
      },
    ],
  });

  it('is the one that waits, or the one that is named', () => {
    expect(findPending([stage('Succeeded', 'Running', 'Pending')], undefined)).toMatchObject({ at: '0/0/1' });
    expect(findPending([stage('Running', 'Running')], '0/0/1')).toMatchObject({ action: { name: 'a1' } });
    expect(findPending([stage('Running', 'Running')], undefined)).toEqual({
      problem: 'several actions wait for an approval: 0/0/0 (a0), 0/0/1 (a1); name one of these positions',
    });
    expect(findPending([stage('Running', 'Pending')], '0/0/1')).toEqual({
      problem: 'the action at 0/0/1 waits for no approval; waiting: 0/0/0 (a0)',
    });
    expect(findPending([stage('Succeeded')], undefined)).toHaveProperty('problem');
  });
});
