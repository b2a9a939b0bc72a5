/** The largest objects are looked at in time. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { API_VERSION } from '../../api/core/group.js';
import type { DRPlanSpec } from '../../api/plan/types.js';
import { servers } from '../support/servers.js';
import { http, openStack } from '../support/stack.js';
import type { Stack } from '../support/stack.js';
import { ask } from './asking.js';

let stack: Stack;
beforeAll(async () => {
  stack = await openStack('size');
});
afterAll(() => stack.close());

const actions = (count: number) =>
  Array.from({ length: count }, (_, n) =>
    http(`a${n}`, `http://host.example/{{ .params.site }}/${n}`, {
      when: n === 0 ? 'params.site != ""' : `outputs.a${n - 1}.phase == "Succeeded"`,
      rollback: { http: { url: `http://host.example/undo/${n}`, method: 'POST' } },
    }),
  );
const site = { name: 'site', default: 'b' };

/** With fewer than five answers to so many questions the bridge is too slow, however busy the machine is. */
const MAX_ASKS = 15;

/** Seconds of processor time that the bridge has used so far: the same on a busy machine as on a quiet one. */
async function used(): Promise<number> {
  const response = await fetch(servers.endpoints.metrics.bridge ?? '');
  return Number(/^process_cpu_seconds_total (\S+)$/m.exec(await response.text())?.[1]);
}

/** Seconds of the bridge's time for one review, as the mean over several dry runs, which store nothing. */
async function cost(kind: 'DRWorkflow' | 'DRPlan' | 'DRPlanExecution', spec: object): Promise<number> {
  const before = await used();
  let asks = 0;
  for (let answers = 0; answers < 5;) {
    asks += 1;
    const asked = await ask(stack.namespace, kind, 'probe', spec, { dryRun: true });
    // The API server waits 5 s, then refuses. A busy machine may be too late for that; what a review costs is the same then.
    if (asks < MAX_ASKS && asked.message.includes('context deadline exceeded')) continue;
    expect(asked.message).toBe('');
    expect(asked.status).toBe(201);
    answers += 1;
  }
  return ((await used()) - before) / asks;
}

it('an ordinary workflow costs a few milliseconds', async () => {
  expect(await cost('DRWorkflow', { parameters: [site], actions: actions(10) })).toBeLessThan(0.5);
});

it(
  'workflows, plans and executions of 2,000 actions are answered in time [S6.9]',
  { tags: ['nightly'] },
  async () => {
    const workflow = { parameters: [site], actions: actions(2000) };
    expect(await cost('DRWorkflow', workflow)).toBeLessThan(3);
    await stack.workflow('large', workflow);
    const plan: DRPlanSpec = { stages: [{ name: 's', workflows: [{ workflowRef: { name: 'large' } }] }] };
    expect(await cost('DRPlan', plan)).toBeLessThan(3);
    await stack.plan('large', plan);
    expect(await cost('DRPlanExecution', { planRef: 'large', operationType: 'Execute' })).toBeLessThan(3);
  },
);

it('200 stages are let in, and one more action than a run may have is not [SEC11] [S6.9]', async () => {
  await stack.workflow('ten', { parameters: [site], actions: actions(10) });
  const stages = (count: number) =>
    Array.from({ length: count }, (_, n) => ({
      name: `s${n}`,
      workflows: [{ workflowRef: { name: 'ten' } }],
    }));
  expect(await cost('DRPlan', { stages: stages(200) })).toBeLessThan(3);
  await stack.workflow('eleven', { parameters: [site], actions: actions(11) });
  const [first, ...rest] = stages(200);
  const larger = [{ ...first, workflows: [{ workflowRef: { name: 'eleven' } }] }, ...rest];
  const asked = await ask(stack.namespace, 'DRPlan', 'larger', { stages: larger });
  expect(asked.message).toMatch(/2001 actions.*2000/);
});

it('a parameter of a megabyte is let in [S6.11]', async () => {
  const { metadata } = await stack.create<{ metadata: { name: string } }>({
    apiVersion: API_VERSION,
    kind: 'DRWorkflow',
    metadata: { name: 'megabyte', namespace: stack.namespace },
    spec: { parameters: [{ name: 'site', default: 'x'.repeat(1_000_000) }], actions: actions(1) },
  });
  expect(metadata.name).toBe('megabyte');
});
