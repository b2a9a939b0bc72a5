import { afterAll, beforeAll, expect, it } from 'vitest';
import { API_VERSION } from '../../api/core/group.js';
import type { DRPlan, DRPlanExecution, DRPlanStatus } from '../../api/plan/types.js';
import { createStatusWriter } from '../../crd-bridge/core/status-writer.js';
import type { StatusWriter } from '../../crd-bridge/core/status-writer.js';
import { createInformer } from '../../kube/informer.js';
import { openStack, poll } from '../support/stack.js';
import type { Stack } from '../support/stack.js';

let stack: Stack;
beforeAll(async () => {
  stack = await openStack('writer', { admission: 'disabled' });
});
afterAll(() => stack.close());

/** A writer with a cache that no watch keeps fresh: as late as a cache can be. */
function lateWriter(): {
  writer: StatusWriter;
  plans: ReturnType<typeof createInformer<DRPlan>>;
  results: string[];
} {
  const results: string[] = [];
  return {
    writer: createStatusWriter(stack.kube, ({ result }) => results.push(result)),
    plans: createInformer<DRPlan>({ kube: stack.kube, apiVersion: API_VERSION, kind: 'DRPlan' }),
    results,
  };
}

// Its workflow does not exist, so the bridge checks it once and then leaves it alone: that is waited for, or its write
// would come between a read and a write of a test.
const makePlan = async (name: string): Promise<DRPlan> => {
  await stack.create({
    apiVersion: API_VERSION,
    kind: 'DRPlan',
    metadata: { name, namespace: stack.namespace },
    spec: { stages: [{ name: 's', workflows: [{ workflowRef: { name: 'none' } }] }] },
  });
  await poll(
    () => stack.getPlan(name),
    (plan) => plan.status?.phase !== undefined,
  );
  for (;;) {
    const before = await stack.getPlan(name);
    await new Promise((resolve) => setTimeout(resolve, 500));
    const after = await stack.getPlan(name);
    if (after.metadata.resourceVersion === before.metadata.resourceVersion) return after;
  }
};
const refOf = (plan: DRPlan) => ({
  namespace: stack.namespace,
  name: plan.metadata.name,
  uid: plan.metadata.uid,
});

it('loses no write however late the cache is and whoever else writes [S5.25]', async () => {
  const plan = await makePlan('counter');
  const sides = [lateWriter(), lateWriter()];
  for (const { plans } of sides) plans.learn(plan);
  const count = (status: DRPlanStatus | undefined): number => Number(status?.lastExecutionRef ?? 0);
  await Promise.all(
    sides.map(async ({ writer, plans }) => {
      for (let n = 0; n < 10; n += 1) {
        await writer.status(plans, refOf(plan), ({ status }) => ({
          ...status,
          lastExecutionRef: String(count(status) + 1),
        }));
      }
    }),
  );
  expect(count((await stack.getPlan('counter')).status)).toBe(20);
  expect(sides.flatMap(({ results }) => results)).toContain('conflict');
});

it('writes nothing when nothing differs, and nothing to another object of the name [S5.25]', async () => {
  const plan = await makePlan('quiet');
  const { writer, plans, results } = lateWriter();
  expect(await writer.status(plans, refOf(plan), ({ status }) => ({ ...status }))).toMatchObject({
    kind: 'unchanged',
  });
  expect(results).toEqual([]);
  expect(
    await writer.status(plans, { ...refOf(plan), uid: 'another' }, () => ({ lastExecutionRef: 'x' })),
  ).toEqual({ kind: 'gone' });
  expect(await writer.status(plans, { ...refOf(plan), name: 'missing' }, () => ({}))).toEqual({
    kind: 'gone',
  });
});

it('writes the smaller status when the API server refuses the first [S6.7]', async () => {
  const execution = await stack.ended(await stack.execute('nowhere'));
  const { writer } = lateWriter();
  const executions = createInformer<DRPlanExecution>({
    kube: stack.kube,
    apiVersion: API_VERSION,
    kind: 'DRPlanExecution',
  });
  const result = await writer.status(
    executions,
    { namespace: stack.namespace, name: execution.metadata.name, uid: execution.metadata.uid },
    ({ status }) => ({ ...status, message: 'x'.repeat(4 * 1024 * 1024) }),
    { smaller: (status) => ({ ...status, message: 'too large to tell' }) },
  );
  expect(result.kind).toBe('written');
  expect((await stack.get(execution)).status).toMatchObject({
    phase: 'Failed',
    reason: 'PlanNotFound',
    message: 'too large to tell',
  });
});
