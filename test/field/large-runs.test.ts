/** Runs of many actions that read of each other: what is carried does not grow with the square of them. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Action, DRPlanExecution } from '../../api/plan/types.js';
import { historySizes } from '../support/history-sizes.js';
import { ask } from '../admission/asking.js';
import { condition, openStack } from '../support/stack.js';
import type { Stack } from '../support/stack.js';

let stack: Stack;
beforeAll(async () => {
  stack = await openStack('wide');
});
afterAll(async () => {
  await stack.close();
});

const configMap = (name: string): string => `{apiVersion: v1, kind: ConfigMap, metadata: {name: ${name}}}`;
const create = (name: string, more: Partial<Action> = {}): Action => ({
  name,
  type: 'KubernetesResource',
  resource: { operation: 'Create', manifest: configMap(name) },
  ...more,
});

const KIB = 1024;
const MIB = 1024 * KIB;

/** Temporal takes 2 MiB a payload, 4 MB a message and 50 MiB a history: a tenth of each. */
async function expectSmall({ status }: DRPlanExecution): Promise<void> {
  for (const size of await historySizes(stack.temporal, status?.temporal?.workflowId ?? '', 1)) {
    if (process.env.DROVER_TELL_SIZES !== undefined) process.stderr.write(`${JSON.stringify(size)}\n`);
    expect(size.bytes, size.workflowId).toBeLessThan(5 * MIB);
    expect(size.largestPayload, size.workflowId).toBeLessThan(0.2 * MIB);
    expect(size.largestMessage, size.workflowId).toBeLessThan(400 * KIB);
  }
}

async function expectRunAndRevert(plan: string, timeoutMs: number): Promise<void> {
  const execution = await stack.ended(await stack.execute(plan), timeoutMs);
  expect(execution.status, execution.status?.message).toMatchObject({ phase: 'Succeeded' });
  await expectSmall(execution);
  const reverted = await stack.ended(await stack.revert(execution), timeoutMs);
  expect(reverted.status, reverted.status?.message).toMatchObject({ phase: 'Succeeded' });
  expect(condition(reverted, 'FullyReverted')).toMatchObject({ status: 'True' });
  await expectSmall(reverted);
  const left = await stack.kube.list(
    { apiVersion: 'v1', kind: 'ConfigMap' },
    { namespace: stack.namespace, fieldSelector: 'metadata.name!=kube-root-ca.crt' },
  );
  expect(left.items).toEqual([]);
}

/** Natural, and asks for the phases of all. */
const WHEN = "!phases.exists(n, phases[n] == 'Failed')";

it(
  '[F3] 100 actions in order, each on the condition that nothing has failed so far, run and are reverted [S6.10]',
  { tags: ['nightly'] },
  async () => {
    const actions = Array.from({ length: 100 }, (_, index) => create(`deep-${index}`, { when: WHEN }));
    await stack.simplePlan('deep', actions);
    await expectRunAndRevert('deep', 60_000);
  },
);

it(
  '[F3] 450 actions at once, each on that condition, run, and those that changed something are reverted',
  { tags: ['nightly'] },
  async () => {
    const wait = (name: string): Action => ({ name, type: 'Wait', wait: { duration: '1ms' } });
    const actions = Array.from({ length: 450 }, (_, index): Action => {
      const name = `deep-${index}`;
      const after = index === 0 ? {} : { dependsOn: ['deep-0'] };
      return { ...(index % 10 === 0 ? create(name) : wait(name)), when: WHEN, ...after };
    });
    await stack.simplePlan('deeper', actions);
    await expectRunAndRevert('deeper', 60_000);
  },
);

it(
  '[F3] 250 objects of one action and 120 readers of its phase at once run and are reverted',
  { tags: ['nightly'] },
  async () => {
    const name = (index: number): string => `wide-${index}-${'x'.repeat(80)}`;
    const manifest = Array.from({ length: 250 }, (_, index) => `---\n${configMap(name(index))}\n`).join('');
    const many: Action = {
      name: 'many',
      type: 'KubernetesResource',
      timeout: '10m',
      resource: { operation: 'Create', manifest },
    };
    const readers = Array.from({ length: 120 }, (_, index): Action => ({
      name: `reader-${index}`,
      type: 'Wait',
      dependsOn: ['many'],
      when: 'outputs["many"].phase == "Succeeded"',
      wait: { duration: '10ms' },
    }));
    await stack.simplePlan('wide', [many, ...readers]);
    await expectRunAndRevert('wide', 60_000);
  },
);

it('[F3] a plan that could not be run or reverted is refused at admission, with the figure [S6.10]', async () => {
  const nameOf = (index: number): string => `${index}-`.padEnd(240, 'n');
  const actions = Array.from({ length: 190 }, (_, index) => ({
    ...create('a'),
    name: nameOf(index),
    dependsOn: [1, 2, 3, 4].filter((back) => back <= index).map((back) => nameOf(index - back)),
  }));
  await stack.workflow('long', { actions });
  const stages = Array.from({ length: 10 }, (_, index) => ({
    name: `s-${index}`,
    workflows: [{ workflowRef: { name: 'long' } }],
  }));
  const asked = await ask(stack.namespace, 'DRPlan', 'long', { stages });
  expect(asked.status).toBe(403);
  expect(asked.message).toMatch(/would take \d{4} KiB to start, and Temporal takes 1984 KiB; split the plan/);
});
