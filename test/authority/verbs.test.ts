/** Who may execute, revert, cancel, approve and drill: real users and accounts on a real API server, whose RBAC decides. */
import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { pendingApprovals } from '../../api/plan/actions/approval-answers.js';
import { ANNOTATIONS, API_VERSION, GROUP } from '../../api/core/group.js';
import type { Action, DRPlanExecution, DRPlanExecutionSpec } from '../../api/plan/types.js';
import type { KubeClient } from '../../kube/client.js';
import type { KubeObject } from '../../kube/object.js';
import { createAccount, grant } from '../support/accounts.js';
import type { Rule } from '../support/accounts.js';
import { actionAt, openStack, unique } from '../support/stack.js';
import type { Stack } from '../support/stack.js';

const { approve, approvals, authorizedAs, cancel, cancelRequestedBy, requestedBy, requester } = ANNOTATIONS;
const DR = [GROUP];
const WRITE: Rule = { apiGroups: DR, resources: ['drplanexecutions'], verbs: ['get', 'create', 'patch'] };
const onPlans = (...verbs: string[]): Rule => ({ apiGroups: DR, resources: ['drplans'], verbs });
const USE: Rule = {
  apiGroups: [''],
  resources: ['serviceaccounts'],
  resourceNames: ['acts'],
  verbs: ['use'],
};

let stack: Stack;
beforeAll(async () => {
  stack = await openStack('verbs');
  const { kube, namespace } = stack;
  for (const document of parseAllDocuments(await readFile('deploy/rbac/users.yaml', 'utf8'))) {
    const object = document.toJSON() as KubeObject;
    await kube.patch(
      { apiVersion: object.apiVersion ?? '', kind: object.kind ?? '', name: object.metadata.name },
      object,
      { kind: 'apply', force: true, fieldManager: 'test' },
    );
  }
  await createAccount(kube, { namespace, name: 'acts' }, []);
  await createAccount(kube, { namespace, name: 'mighty' }, []);
  const users: Record<string, Rule[]> = {
    runner: [WRITE, onPlans('execute', 'revert'), USE],
    writer: [WRITE, USE],
    stranger: [WRITE, onPlans('execute', 'revert', 'cancel', 'approve', 'drill')],
    driller: [WRITE, onPlans('drill'), USE],
    stopper: [WRITE, onPlans('cancel')],
    approver: [WRITE, onPlans('approve')],
    author: [{ apiGroups: DR, resources: ['drplans'], verbs: ['create', 'patch'] }, USE],
  };
  for (const [name, rules] of Object.entries(users)) {
    await grant(kube, { namespace, name }, rules, { kind: 'User', name });
  }
  for (const [user, role] of [
    ['editor', 'edit'],
    ['viewer', 'view'],
  ] as const) {
    await kube.create({
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'RoleBinding',
      metadata: { name: user, namespace },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: role },
      subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: user }],
    });
  }
});
afterAll(() => stack.close());

const as = (user: string): KubeClient => stack.kube.as({ user });
const pause = (duration: string): Action => ({ name: 'pause', type: 'Wait', wait: { duration } });
const keyOf = ({ metadata }: DRPlanExecution) => ({
  apiVersion: API_VERSION,
  kind: 'DRPlanExecution',
  namespace: stack.namespace,
  name: metadata.name,
});
const annotate = (user: string, execution: DRPlanExecution, annotations: Record<string, string>) =>
  as(user).patch<DRPlanExecution>(keyOf(execution), { metadata: { annotations } }, { kind: 'merge' });

function create(
  user: string,
  planRef: string,
  spec: Partial<DRPlanExecutionSpec> = {},
): Promise<DRPlanExecution> {
  return as(user).create<DRPlanExecution>({
    apiVersion: API_VERSION,
    kind: 'DRPlanExecution',
    metadata: {
      name: unique('run'),
      namespace: stack.namespace,
      annotations: { [requestedBy]: 'root', [authorizedAs]: 'controller' },
    },
    spec: { planRef, operationType: 'Execute', rerun: 'Allowed', ...spec },
  });
}

async function plan(actions: Action[], serviceAccountName = 'acts'): Promise<string> {
  const name = unique('plan');
  await stack.simplePlan(name, actions, { plan: { serviceAccountName } });
  return name;
}

describe('a plan', () => {
  it('is executed and reverted by those who have the verb and may use its account [SEC2] [S5.58]', async () => {
    const name = await plan([pause('10ms')]);
    await expect(create('writer', name)).rejects.toThrow(
      `user "writer" may not execute plan "${stack.namespace}/${name}"; an administrator can grant the verb "execute" on drplans.${GROUP}/${name}`,
    );
    await expect(create('stranger', name)).rejects.toThrow(
      `user "stranger" may not use service account "${stack.namespace}/acts", which plan "${name}" acts as`,
    );
    await expect(create('viewer', name)).rejects.toThrow('is forbidden');
    const run = await create('runner', name);
    expect(run.metadata.annotations).toMatchObject({
      [requestedBy]: 'runner',
      [authorizedAs]: `system:serviceaccount:${stack.namespace}:acts`,
    });
    const ended = await stack.ended(run);
    expect(ended.status?.phase).toBe('Succeeded');
    const undo = { operationType: 'Revert', revertExecutionRef: run.metadata.name } as const;
    await expect(create('driller', name, undo)).rejects.toThrow('may not revert');
    expect((await stack.ended(await create('runner', name, undo))).status?.phase).not.toBe('Failed');
  });

  it('is run without further grants by whoever has the ClusterRole edit in the namespace', async () => {
    const name = await plan([pause('10ms')]);
    expect((await stack.ended(await create('editor', name))).status?.phase).toBe('Succeeded');
  });

  it('is drilled by those who may drill, and executed in earnest by others [S5.58]', async () => {
    const name = await plan([pause('10ms')]);
    await expect(create('driller', name)).rejects.toThrow('may not execute');
    await expect(create('runner', name, { runMode: 'Drill' })).rejects.toThrow('may not drill');
    const drill = await stack.ended(await create('driller', name, { runMode: 'Drill' }));
    expect(drill.status?.phase).toBe('Succeeded');
    const undo = { operationType: 'Revert', revertExecutionRef: drill.metadata.name } as const;
    expect((await stack.ended(await create('driller', name, undo))).status?.phase).not.toBe('Failed');
  });

  it('acts only as an account that its author may use [SEC2] [S5.58]', async () => {
    const spec = { stages: [{ name: 's', workflows: [{ workflowRef: { name: 'none' } }] }] };
    const write = (name: string, serviceAccountName: string) =>
      as('author').create({
        apiVersion: API_VERSION,
        kind: 'DRPlan',
        metadata: { name, namespace: stack.namespace },
        spec: { ...spec, serviceAccountName },
      });
    await expect(write('grab', 'mighty')).rejects.toThrow('may not use service account');
    await write('own', 'acts');
    const key = { apiVersion: API_VERSION, kind: 'DRPlan', namespace: stack.namespace, name: 'own' };
    const patch = { spec: { serviceAccountName: 'mighty' } };
    await expect(as('author').patch(key, patch, { kind: 'merge' })).rejects.toThrow(
      'may not use service account',
    );
  });

  it.each(['', ' ', 'a b', 'a:b', 'A'])('is refused with an account called %j [SEC1]', async (name) => {
    await expect(plan([pause('10ms')], name)).rejects.toThrow('spec.serviceAccountName');
  });
});

describe('a plan that runs another', () => {
  const outerOf = async (inner: string, more: Partial<Action> = {}) =>
    plan([{ name: 'inner', type: 'Plan', plan: { name: inner }, ...more }]);
  const actionOf = (execution: DRPlanExecution) => actionAt(execution, 0, 0, 0);

  it('is run through by those only who may run both, by their groups too [SEC2]', async () => {
    const inner = await plan([pause('10ms')]);
    const outer = await outerOf(inner);
    const { kube, namespace } = stack;
    const only = { ...onPlans('execute', 'revert'), resourceNames: [outer] };
    await grant(kube, { namespace, name: 'half' }, [WRITE, only, USE], { kind: 'User', name: 'half' });
    const on = { ...onPlans('execute', 'revert'), resourceNames: [inner] };
    await grant(kube, { namespace, name: 'inside' }, [on], { kind: 'Group', name: 'inside' });

    const refused = await stack.ended(await create('half', outer));
    expect(refused.status?.phase).toBe('Failed');
    expect(actionOf(refused)).toMatchObject({ phase: 'Failed', reason: 'NotAuthorized', effect: 'None' });
    expect(actionOf(refused)?.message).toContain(
      `user "half" may not execute plan "${namespace}/${inner}"; an administrator can grant the verb "execute"`,
    );
    expect((await stack.getPlan(inner)).status?.executionHistory ?? []).toEqual([]);

    const both = kube.as({ user: 'half', groups: ['inside'] });
    const spec = { planRef: outer, operationType: 'Execute' };
    const made = await both.create<DRPlanExecution>({
      apiVersion: API_VERSION,
      kind: 'DRPlanExecution',
      metadata: { name: unique('run'), namespace },
      spec,
    });
    const ended = await stack.ended(made);
    expect(ended.status?.phase).toBe('Succeeded');
    const name = actionOf(ended)?.outputs?.planExecutionRef?.name ?? '';
    const nested = await stack.get({ metadata: { name } } as DRPlanExecution);
    expect(nested.metadata.annotations).toMatchObject({
      [requestedBy]: 'half',
      [requester]: made.metadata.annotations?.[requester],
      [authorizedAs]: `system:serviceaccount:${namespace}:acts`,
    });

    const undo = await stack.ended(
      await create('half', outer, { operationType: 'Revert', revertExecutionRef: made.metadata.name }),
    );
    expect(undo.status?.phase).not.toBe('Succeeded');
  });

  it('whose account the requester may not use is not run for them [SEC2]', async () => {
    const inner = await plan([pause('10ms')], 'mighty');
    const ended = await stack.ended(await create('runner', await outerOf(inner)));
    expect(actionOf(ended)).toMatchObject({ phase: 'Failed', reason: 'NotAuthorized', effect: 'None' });
    expect(actionOf(ended)?.message).toContain(
      `user "runner" may not use service account "${stack.namespace}/mighty", which plan "${inner}" acts as`,
    );
  });
});

describe('a run', () => {
  it('is cancelled by those who may cancel and by who asked for it [S5.58]', async () => {
    const name = await plan([pause('30s')]);
    const run = await create('runner', name);
    await stack.until(run, (now) => now.status?.phase === 'Running');
    await expect(annotate('writer', run, { [cancel]: 'true' })).rejects.toThrow('may not cancel');
    await annotate('stopper', run, { [cancel]: 'true' });
    const ended = await stack.ended(run);
    expect(ended.status).toMatchObject({ phase: 'Cancelled', cancelRequest: { requestedBy: 'stopper' } });
    const again = await create('runner', name);
    await annotate('runner', again, { [cancel]: 'true' });
    expect((await stack.ended(again)).status?.phase).toBe('Cancelled');
  });

  it('is approved by those who may approve, and forged answers, stamps and states count for nothing [SEC13] [S5.58]', async () => {
    const name = await plan([
      {
        name: 'ok',
        type: 'Approval',
        approval: { message: 'go?', approvers: { users: ['approver', 'writer'] } },
      },
    ]);
    const run = await create('runner', name);
    await stack.until(run, (now) => pendingApprovals(now.status?.stageStatuses ?? []).length === 1);
    await expect(annotate('writer', run, { [approve]: 'true' })).rejects.toThrow('may not approve');

    const forged = {
      [approvals]: JSON.stringify([
        {
          id: 'x',
          at: '0/0/0',
          decision: 'Approve',
          user: 'approver',
          groups: [],
          time: 't',
          verified: true,
        },
      ]),
      [requestedBy]: 'somebody',
      [authorizedAs]: 'controller',
      [cancelRequestedBy]: 'somebody',
    };
    const after = await annotate('writer', run, forged);
    expect(after.metadata.annotations).toMatchObject({
      [requestedBy]: 'runner',
      [authorizedAs]: `system:serviceaccount:${stack.namespace}:acts`,
    });
    expect(after.metadata.annotations).not.toHaveProperty([approvals]);
    expect(after.metadata.annotations).not.toHaveProperty([cancelRequestedBy]);
    const state = { status: { phase: 'Succeeded', stageStatuses: [] } };
    await as('writer').patch(keyOf(run), state, { kind: 'merge' });
    for (const user of ['writer', 'editor']) {
      await expect(
        as(user).patch(keyOf(run), state, { kind: 'merge', subresource: 'status' }),
      ).rejects.toThrow('drplanexecutions/status');
    }
    const now = await stack.get(run);
    expect(now.status?.phase).toBe('Running');
    expect(pendingApprovals(now.status?.stageStatuses ?? [])).toHaveLength(1);

    await annotate('approver', run, { [approve]: 'true' });
    expect((await stack.ended(run)).status?.phase).toBe('Succeeded');
  });

  it('runs what it was approved for, whatever becomes of plan and workflow meanwhile [SEC3]', async () => {
    const name = await plan([
      { name: 'ok', type: 'Approval', approval: { message: 'go?', approvers: { users: ['approver'] } } },
      { name: 'what', type: 'Wait', wait: { duration: '10ms' } },
    ]);
    const run = await create('runner', name);
    await stack.until(run, (now) => pendingApprovals(now.status?.stageStatuses ?? []).length === 1);
    const edit = (kind: string, patch: object) =>
      stack.kube.patch({ apiVersion: API_VERSION, kind, namespace: stack.namespace, name }, patch, {
        kind: 'merge',
      });
    await edit('DRWorkflow', { spec: { actions: [pause('1h')] } });
    await edit('DRPlan', { spec: { serviceAccountName: 'mighty' } });
    await annotate('approver', run, { [approve]: 'true' });
    const ended = await stack.ended(run);
    expect(ended.status?.phase).toBe('Succeeded');
    const actions = ended.status?.stageStatuses?.[0]?.workflowExecutions?.[0]?.actionStatuses;
    expect(actions?.map((action) => action.name)).toEqual(['ok', 'what']);
  });
});

it('a run whose account was swapped after its admission does not start [SEC2]', async () => {
  // Admission looks away here, so that the record of what was admitted can be an earlier one.
  const other = await openStack('swapped', { admission: 'disabled' });
  try {
    await other.kube.create({
      apiVersion: 'v1',
      kind: 'ServiceAccount',
      metadata: { name: 'mighty', namespace: other.namespace },
    });
    await other.simplePlan('p', [pause('10ms')], { plan: { serviceAccountName: 'mighty' } });
    const run = await other.create<DRPlanExecution>({
      apiVersion: API_VERSION,
      kind: 'DRPlanExecution',
      metadata: {
        name: 'run',
        namespace: other.namespace,
        annotations: {
          [authorizedAs]: `system:serviceaccount:${other.namespace}:acts`,
          [requestedBy]: 'a claim',
        },
      },
      spec: { planRef: 'p', operationType: 'Execute' },
    });
    const ended = await other.ended(run);
    expect(ended.status).toMatchObject({ phase: 'Failed', reason: 'AccountChanged' });
    expect(ended.status?.temporal).toBeUndefined();
  } finally {
    await other.close();
  }
});
