/** Runs of many actions that read of each other: what is carried does not grow with the square of them. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Action, DRPlanExecution } from '../../api/types.js';
import { historySizes } from '../support/history-sizes.js';
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

async function runAndRevert(plan: string, timeoutMs: number): Promise<void> {
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

const SIZES = (process.env.DROVER_DEEP ?? '100,450').split(',').map(Number);

it.each(SIZES)(
  '[F3] %i actions, each on the condition that nothing has failed so far, run and are reverted',
  async (count) => {
    const when = "!phases.exists(n, phases[n] == 'Failed')";
    const actions = Array.from({ length: count }, (_, index) => create(`deep-${index}`, { when }));
    await stack.simplePlan(`deep-${count}`, actions);
    await runAndRevert(`deep-${count}`, 60_000 + count * 500);
  },
);

it('[F3] 250 objects of one action and 120 readers of its phase at once run and are reverted', async () => {
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
  await runAndRevert('wide', 60_000);
});
