/** A namespace in which admission is switched off: stamps and records in it are what objects claim, and count for nothing. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { pendingApprovals } from '../../api/plan/actions/approval-answers.js';
import { ANNOTATIONS, API_VERSION } from '../../api/core/group.js';
import type { DRPlanExecution } from '../../api/plan/types.js';
import type { KubeObject } from '../../kube/object.js';
import { actionAt, openStack, poll } from '../support/stack.js';
import type { Stack } from '../support/stack.js';

let stack: Stack;
beforeAll(async () => {
  stack = await openStack('unadmitted', { admission: 'disabled' });
});
afterAll(async () => {
  await stack.close();
});

const CLAIM = 'system:serviceaccount:kube-system:root';
const forged = {
  [ANNOTATIONS.requestedBy]: CLAIM,
  [ANNOTATIONS.requester]: JSON.stringify({ user: CLAIM, groups: ['system:masters'] }),
};
const run = (plan: string, name: string, annotations: object): Promise<DRPlanExecution> =>
  stack.create<DRPlanExecution>({
    apiVersion: API_VERSION,
    kind: 'DRPlanExecution',
    metadata: { name, namespace: stack.namespace, annotations },
    spec: { planRef: plan, operationType: 'Execute' },
  });
const key = (name: string) => ({
  apiVersion: API_VERSION,
  kind: 'DRPlanExecution',
  namespace: stack.namespace,
  name,
});
const annotate = (name: string, annotations: object) =>
  stack.kube.patch(key(name), { metadata: { annotations } }, { kind: 'merge' });

it('neither a forged record of an approval nor a plain yes counts, and a Warning Event says so [SEC13]', async () => {
  const ask = {
    name: 'ask',
    type: 'Approval' as const,
    approval: { message: 'go on?', approvers: { users: [CLAIM] } },
  };
  await stack.simplePlan('asks', [ask]);
  const execution = await run('asks', 'asked', forged);
  const waiting = await stack.until(
    execution,
    ({ status }) => pendingApprovals(status?.stageStatuses ?? []).length === 1,
  );
  const [pending] = pendingApprovals(waiting.status?.stageStatuses ?? []);
  const record = {
    id: 'forged',
    at: pending?.at,
    decision: 'Approve',
    user: CLAIM,
    groups: ['system:masters'],
    time: new Date().toISOString(),
    verified: true,
  };
  await annotate('asked', {
    [ANNOTATIONS.approvals]: JSON.stringify([record]),
    [ANNOTATIONS.approve]: 'true',
  });
  const uid = execution.metadata.uid ?? '';
  interface Told extends KubeObject {
    reason?: string;
    note?: string;
  }
  const [event] = await poll(
    async () => {
      const { items } = await stack.kube.list<Told>(
        { apiVersion: 'events.k8s.io/v1', kind: 'Event' },
        { namespace: stack.namespace, fieldSelector: `regarding.uid=${uid}` },
      );
      return items.filter(({ reason }) => reason === 'ApprovalNotVerified');
    },
    (events) => events.length > 0,
  );
  expect(event?.note).toContain('admission=disabled; remove that label and answer again');
  const now = await stack.get(execution);
  expect(actionAt(now, 0, 0, 0)?.phase).toBe('Running');

  // Whoever claims to be somebody else in a cancel is not believed either; the cancel itself is carried out.
  await annotate('asked', { [ANNOTATIONS.cancelRequestedBy]: CLAIM, [ANNOTATIONS.cancel]: 'true' });
  const ended = await stack.ended(execution);
  expect(ended.status?.phase).toBe('Cancelled');
  expect(ended.status?.cancelRequest).toMatchObject({ via: 'Annotation' });
  expect(ended.status?.cancelRequest?.requestedBy).toBeUndefined();
});

it('a forged requester is passed on to nobody: the plan that is run as a part of the run carries no stamp of it [SEC13]', async () => {
  await stack.simplePlan('inner', [{ name: 'wait', type: 'Wait', wait: { duration: '10ms' } }]);
  await stack.simplePlan('outer', [{ name: 'sub', type: 'Plan', plan: { name: 'inner' } }]);
  const ended = await stack.ended(await run('outer', 'outer-run', forged));
  expect(ended.status?.phase).toBe('Succeeded');
  const name = actionAt(ended, 0, 0, 0)?.outputs?.planExecutionRef?.name ?? '';
  const nested = await stack.kube.get<DRPlanExecution>(key(name));
  expect(nested?.status?.phase).toBe('Succeeded');
  expect(nested?.metadata.annotations).not.toHaveProperty([ANNOTATIONS.requestedBy]);
  expect(nested?.metadata.annotations).not.toHaveProperty([ANNOTATIONS.requester]);
  expect(nested?.metadata.annotations).not.toHaveProperty([ANNOTATIONS.authorizedAs]);
});
