/** Warnings about JSON patches whose path does not exist, as the API server tells them. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Kind } from '../../api/core/group.js';
import type { Action } from '../../api/plan/types.js';
import { createAccount, grant } from '../support/accounts.js';
import { openSites } from '../support/sites.js';
import type { Sites } from '../support/sites.js';
import { openStack, poll, unique } from '../support/stack.js';
import type { Stack } from '../support/stack.js';
import { ask } from './asking.js';
import type { Asked } from './asking.js';

let stack: Stack;
let sites: Sites;
beforeAll(async () => {
  stack = await openStack('override-paths');
  sites = await openSites(stack.kube, { sites: ['a'], feeds: ['web'] });
});
afterAll(async () => {
  await sites.close();
  await stack.close();
});

const localize = (value: string, more: object = {}): Action => ({
  name: 'scale',
  type: 'Localization',
  localization: {
    name: 'scale',
    namespace: sites.namespaceOf('a'),
    feed: sites.feed('web'),
    overrides: [{ name: 'o', type: 'JSONPatch', value }],
    ...more,
  },
});
const PATCH = '- op: replace\n  path: /spec/replicas\n  value: 3\n';

const send = (kind: Kind, spec: unknown, name = unique('x')): Promise<Asked> =>
  ask(stack.namespace, kind, name, spec, { dryRun: true });
const plan = (name: string, more: object = {}) => ({
  stages: [{ name: 's', workflows: [{ workflowRef: { name } }] }],
  ...more,
});
async function workflow(actions: Action[], more: object = {}): Promise<string> {
  const name = unique('w');
  await stack.workflow(name, { actions, ...more });
  return name;
}
/** On a busy machine a read may take longer than admission waits for it, and then nothing is told. */
const told = (look: () => Promise<Asked>, warning: RegExp): Promise<Asked> =>
  poll(look, ({ warnings }) => warnings.some((one) => warning.test(one)));

describe('a plan with a patch whose path does not exist', () => {
  it('is let in, with the path, the value and what is there [S3.35]', async () => {
    const name = await workflow([localize(PATCH)]);
    const asked = await told(() => send('DRPlan', plan(name)), /\/spec\/replicas/);
    expect(asked.status).toBe(201);
    const where = `spec.stages[0].workflows[0].workflowRef(${stack.namespace}/${name}).spec.actions[0].localization.overrides[0].value`;
    const [warning = ''] = asked.warnings.filter((one) => one.startsWith(where));
    expect(warning.slice(where.length)).toMatch(
      /^: "o": operation 1 \(replace 3\) at \/spec\/replicas, where the object has apiVersion, data, kind, metadata/,
    );
  });

  it('is not warned of where the path is there, or a patch before it makes it', async () => {
    const make = '- {op: add, path: /spec, value: {}}\n- {op: add, path: /spec/replicas, value: 1}\n';
    const name = await workflow([
      localize('- {op: replace, path: /data/mode, value: active}'),
      { ...localize(make, { name: 'earlier', priority: 400 }), name: 'earlier' },
      { ...localize(PATCH, { name: 'later', priority: 600 }), name: 'later' },
      // Judged last: once it is told, the others have been judged too.
      { ...localize('- {op: remove, path: /data/nothing}', { name: 'last', priority: 700 }), name: 'last' },
    ]);
    const asked = await told(() => send('DRPlan', plan(name)), /\/data\/nothing/);
    expect(asked.warnings.filter((one) => one.includes('overrides[0]'))).toHaveLength(1);
  });

  it('is warned of when an execution gives the path [S3.35]', async () => {
    const name = await workflow([localize('- {op: remove, path: "/data/{{ .params.key }}"}')], {
      parameters: [{ name: 'key', default: 'mode' }],
    });
    await stack.plan(name, plan(name));
    const execute = (value: string): Promise<Asked> =>
      send('DRPlanExecution', { planRef: name, operationType: 'Execute', params: [{ name: 'key', value }] });
    const asked = await told(() => execute('color'), /remove\) at \/data\/color, where \/data has mode/);
    expect(asked.status).toBe(201);
    expect((await execute('mode')).warnings.join()).not.toContain('/data/');
  });

  it('is judged as the account that acts: nothing is told that it may not see', async () => {
    const [blind, seeing] = [unique('blind'), unique('seeing')];
    const reads = ['manifests', 'localizations', 'globalizations'];
    const rules = [{ apiGroups: ['apps.clusternet.io'], resources: reads, verbs: ['list'] }];
    await createAccount(stack.kube, { namespace: stack.namespace, name: blind }, []);
    await createAccount(stack.kube, { namespace: stack.namespace, name: seeing }, []);
    const subject = { kind: 'ServiceAccount', name: seeing, namespace: stack.namespace } as const;
    for (const namespace of [sites.namespaceOf('a'), 'clusternet-reserved']) {
      await grant(stack.kube, { namespace, name: seeing }, rules, subject);
    }
    const rbac = 'rbac.authorization.k8s.io';
    const metadata = { name: seeing };
    await stack.kube.create({ apiVersion: `${rbac}/v1`, kind: 'ClusterRole', metadata, rules });
    await stack.kube.create({
      apiVersion: `${rbac}/v1`,
      kind: 'ClusterRoleBinding',
      metadata,
      roleRef: { apiGroup: rbac, kind: 'ClusterRole', name: seeing },
      subjects: [subject],
    });
    const name = await workflow([localize(PATCH)]);
    await told(() => send('DRPlan', plan(name, { serviceAccountName: seeing })), /\/spec\/replicas/);
    const asked = await send('DRPlan', plan(name, { serviceAccountName: blind }));
    expect(asked.status).toBe(201);
    expect(asked.warnings.join()).not.toContain('/spec/replicas');
    await stack.kube.delete({ apiVersion: `${rbac}/v1`, kind: 'ClusterRole', name: seeing });
    await stack.kube.delete({ apiVersion: `${rbac}/v1`, kind: 'ClusterRoleBinding', name: seeing });
  });

  it('says nothing of a feed that is not there yet, which the plan may bring', async () => {
    const name = await workflow([localize(PATCH, { feed: sites.feed('later') })]);
    const asked = await send('DRPlan', plan(name));
    expect(asked.status).toBe(201);
    expect(asked.warnings.join()).not.toContain('/spec/replicas');
  });
});
