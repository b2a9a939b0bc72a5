/** Approvals on the real servers: who answers is what the API server says. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { pendingApprovals } from '../../api/plan/actions/approval-answers.js';
import { ANNOTATIONS, API_VERSION } from '../../api/core/group.js';
import type { ApprovalAction, DRPlanExecution } from '../../api/plan/types.js';
import { servers } from '../support/servers.js';
import { openStack, unique } from '../support/stack.js';
import type { Stack } from '../support/stack.js';

const { approve, reject, approvals, requestedBy } = ANNOTATIONS;
let stack: Stack;
beforeAll(async () => {
  stack = await openStack('approval');
});
afterAll(() => stack.close());

const as = (user: string, groups: string[] = []) =>
  stack.kube.as({ user, groups: ['system:masters', ...groups] });
const keyOf = ({ metadata }: DRPlanExecution) => ({
  apiVersion: API_VERSION,
  kind: 'DRPlanExecution',
  namespace: stack.namespace,
  name: metadata.name,
});
const annotate = (execution: DRPlanExecution, user: string, annotations: object, groups?: string[]) =>
  as(user, groups).patch<DRPlanExecution>(keyOf(execution), { metadata: { annotations } }, { kind: 'merge' });
const actionOf = ({ status }: DRPlanExecution) =>
  status?.stageStatuses?.[0]?.workflowExecutions?.[0]?.actionStatuses?.[0];

/** Alice executes a plan that waits for an approval. */
async function waiting(approval: Partial<ApprovalAction>): Promise<DRPlanExecution> {
  const name = unique('approval');
  await stack.simplePlan(name, [
    {
      name: 'ok',
      type: 'Approval',
      approval: { message: 'run {{ .executionName }}?', approvers: { users: ['alice', 'bob'] }, ...approval },
    },
    { name: 'after', type: 'Wait', wait: { duration: '10ms' } },
  ]);
  const execution = await as('alice').create<DRPlanExecution>({
    apiVersion: API_VERSION,
    kind: 'DRPlanExecution',
    metadata: { name, namespace: stack.namespace },
    spec: { planRef: name, operationType: 'Execute' },
  });
  await stack.until(execution, (now) => pendingApprovals(now.status?.stageStatuses ?? []).length === 1);
  return execution;
}

it('counts verified, distinct persons other than who asked, and goes on [S3.57]', async () => {
  const execution = await waiting({ quorum: 2, approvers: { users: ['alice', 'bob'], groups: ['ops'] } });
  expect(actionOf(await stack.get(execution))?.message).toBe(
    `waits for approval (0/2): run ${execution.metadata.name}?`,
  );
  await expect(annotate(execution, 'alice', { [approve]: 'true' })).rejects.toThrow(
    'alice asked for this execution and may not approve it',
  );
  await expect(annotate(execution, 'mallory', { [approve]: 'true' })).rejects.toThrow(
    'not among the approvers',
  );
  const forged = JSON.stringify([
    { id: 'x', at: '0/0/0', decision: 'Approve', user: 'bob', groups: [], time: 't', verified: true },
  ]);
  const after = await annotate(execution, 'mallory', { [approvals]: forged, [requestedBy]: 'carol' });
  expect(after.metadata.annotations).not.toHaveProperty([approvals]);
  expect(after.metadata.annotations).toMatchObject({ [requestedBy]: 'alice' });

  const first = await annotate(execution, 'bob', { [approve]: '0/0/0 as agreed' });
  expect(first.metadata.annotations).not.toHaveProperty([approve]);
  const halfway = await stack.until(execution, (now) => actionOf(now)?.message?.includes('(1/2)') === true);
  expect(actionOf(halfway)?.phase).toBe('Running');
  await expect(annotate(execution, 'bob', { [approve]: 'again' })).rejects.toThrow(
    'bob has answered already',
  );
  await annotate(execution, 'carol', { [approve]: 'true' }, ['ops']);
  const ended = await stack.ended(execution);
  expect(ended.status).toMatchObject({ phase: 'Succeeded' });
  expect(actionOf(ended)).toMatchObject({
    phase: 'Succeeded',
    message: 'approved by bob, carol',
    outputs: {
      approval: {
        answers: [
          { user: 'bob', decision: 'Approve', comment: 'as agreed', verified: true },
          { user: 'carol', decision: 'Approve', verified: true },
        ],
      },
    },
  });
  await expect(annotate(execution, 'bob', { [approve]: 'true' })).rejects.toThrow('waits for an approval');

  const revert = await stack.ended(await stack.revert(ended));
  expect(revert.status).toMatchObject({ phase: 'Succeeded' });
});

it('ends Failed, Rejected, with what was said [S3.57]', async () => {
  const execution = await waiting({});
  await annotate(execution, 'bob', { [reject]: 'not before noon' });
  const ended = await stack.ended(execution);
  expect(ended.status?.phase).toBe('Failed');
  expect(actionOf(ended)).toMatchObject({
    phase: 'Failed',
    reason: 'Rejected',
    message: 'rejected by bob: not before noon',
  });
});

it('is answered from the command line as the user of the kubeconfig', async () => {
  const execution = await waiting({ approvers: { users: ['drover:admin'] } });
  const run = (...args: string[]) =>
    promisify(execFile)(
      process.execPath,
      ['bin/drover.js', ...args, '-n', stack.namespace, '--data-dir', servers.dataDir],
      { env: { ...process.env, NO_COLOR: '1', KUBECONFIG: '/nowhere' } },
    );
  const { name } = execution.metadata;
  const wrong = run('approve', name, '--action', 'other', '--yes');
  await expect(wrong).rejects.toMatchObject({
    stderr: expect.stringContaining('waiting: 0/0/0 (ok in stage'),
  });
  const { stderr } = await run('approve', name, '--action', 'ok', '--comment', 'by hand', '--yes');
  expect(stderr).toContain('sent approve for ok');
  expect(stderr).not.toContain('nothing verifies');
  expect(actionOf(await stack.ended(execution))).toMatchObject({
    message: 'approved by drover:admin',
    outputs: { approval: { answers: [{ comment: 'by hand' }] } },
  });
});

it('expires, and can be cancelled while it waits [S3.57]', async () => {
  const expiring = await waiting({ timeout: '2s' });
  expect(actionOf(await stack.ended(expiring))).toMatchObject({ phase: 'Failed', reason: 'ApprovalExpired' });
  const cancelled = await waiting({});
  await annotate(cancelled, 'alice', { [ANNOTATIONS.cancel]: 'true' });
  expect((await stack.ended(cancelled)).status?.phase).toBe('Cancelled');
});
