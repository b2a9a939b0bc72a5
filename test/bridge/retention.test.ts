import { afterAll, beforeAll, expect, it } from 'vitest';
import { API_VERSION } from '../../api/core/group.js';
import type { DRPlanExecution } from '../../api/plan/types.js';
import type { KubeObject } from '../../kube/object.js';
import { openStack, poll } from '../support/stack.js';
import type { Stack } from '../support/stack.js';
import { startReplica } from './replica.js';
import type { Replica } from './replica.js';

let stack: Stack;
let replica: Replica;
beforeAll(async () => {
  stack = await openStack('retention');
  replica = await startReplica({ flags: ['--retention-interval=500ms'] });
});
afterAll(async () => {
  await replica.stop();
  await stack.close();
});

const wait = { name: 'wait', type: 'Wait' as const, wait: { duration: '1ms' } };
const find = (name: string) =>
  stack.kube.get<DRPlanExecution>({
    apiVersion: API_VERSION,
    kind: 'DRPlanExecution',
    namespace: stack.namespace,
    name,
  });
const gone = ({ metadata }: DRPlanExecution) =>
  poll(
    () => find(metadata.name),
    (found) => found === undefined,
  );
const run = async (plan: string, spec: Partial<DRPlanExecution['spec']> = {}): Promise<DRPlanExecution> => {
  const execution = await stack.ended(await stack.execute(plan, { rerun: 'Allowed', ...spec }));
  expect(execution.status).toMatchObject({ phase: 'Succeeded' });
  return execution;
};

it('keeps as many as the plan says, and what can still be reverted [S5.29]', async () => {
  await stack.simplePlan('limited', [wait], { plan: { historyLimit: 1 } });
  const first = await run('limited');
  const second = await run('limited');
  await gone(first);

  const revert = await stack.ended(await stack.revert(second));
  expect(revert.status).toMatchObject({ phase: 'Succeeded' });
  // Now that it is reverted nobody needs it any more.
  await gone(second);
  expect(await find(revert.metadata.name)).toBeDefined();

  const { status } = await stack.getPlan('limited');
  expect(status?.executionHistory?.map(({ name, phase }) => [name, phase])).toEqual(
    [revert, second, first].map(({ metadata }) => [metadata.name, 'Succeeded']),
  );
  const told = await poll(
    () =>
      stack.kube.list<KubeObject & { reason: string; note: string }>(
        { apiVersion: 'events.k8s.io/v1', kind: 'Event' },
        { namespace: stack.namespace },
      ),
    ({ items }) => items.some(({ reason }) => reason === 'ExecutionsRemoved'),
  );
  expect(told.items.map(({ note }) => note).join()).toContain(`"${first.metadata.name}"`);
});

it('removes by age, whoever was away meanwhile, but not what was applied and would start again [S5.29]', async () => {
  await stack.simplePlan('aging', [wait]);
  await replica.stop();
  await stack.apply(`
apiVersion: ${API_VERSION}
kind: DRPlanExecution
metadata: { name: applied }
spec: { planRef: aging, operationType: Execute, ttlSecondsAfterFinished: 0 }
`);
  const applied = await poll(
    () => find('applied'),
    (found) => found?.status?.phase === 'Succeeded',
  );
  const aged = await run('aging', { ttlSecondsAfterFinished: 0 });
  const kept = await run('aging', { ttlSecondsAfterFinished: 3600 });
  const standing = await run('aging', { ttlSecondsAfterFinished: 0 });
  replica = await startReplica({ flags: ['--retention-interval=500ms'] });
  await gone(aged);
  for (const left of [applied, kept, standing]) expect(await find(left?.metadata.name ?? '')).toBeDefined();
});
