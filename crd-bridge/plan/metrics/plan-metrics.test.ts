import { Registry } from 'prom-client';
import { describe, expect, it } from 'vitest';
import type { DRPlan, DRPlanExecutionStatus } from '../../../api/plan/types.js';
import type { Change, Informer } from '../../../kube/informer.js';
import type { StatusWriter } from '../../core/status-writer.js';
import type { CachedExecution } from '../types.js';
import { countingWriter } from './counting-writer.js';
import { countPlans } from './live-runs.js';
import { createPlanMetrics } from './plan-metrics.js';

const execution = (name: string, status?: DRPlanExecutionStatus): CachedExecution => ({
  metadata: { name, namespace: 'ns', uid: `uid-${name}` },
  spec: { planRef: 'p', operationType: 'Execute' },
  ...(status !== undefined && { status }),
});
const progressing = (status: 'True' | 'False', reason: string) => [
  { type: 'Progressing', status, reason, message: '', lastTransitionTime: '2026-11-29T10:00:00Z' },
];
const run = (status: DRPlanExecutionStatus = {}): DRPlanExecutionStatus => ({
  phase: 'Running',
  temporal: { workflowId: 'w' },
  ...status,
});
const acting = (...types: string[]): DRPlanExecutionStatus => ({
  stageStatuses: [
    {
      name: 's',
      phase: 'Running',
      workflowExecutions: [
        {
          workflowRef: { name: 'w' },
          phase: 'Running',
          actionStatuses: types.map((type) => ({ name: type, type, phase: 'Running' })),
        },
      ],
    },
  ],
});

/** A cache that a test fills. */
function cacheOf<T extends CachedExecution | DRPlan>() {
  const objects = new Map<string, T>();
  const handlers: ((change: Change<T>) => void)[] = [];
  const emit = (change: Change<T>): void => {
    for (const handler of handlers) handler(change);
  };
  const informer = {
    onChange: (handler: (change: Change<T>) => void) => handlers.push(handler),
    get: (_: string, name: string) => objects.get(name),
    list: () => [...objects.values()],
  } as unknown as Informer<T>;
  return {
    informer,
    set(object: T) {
      objects.set(object.metadata.name, object);
      emit({ kind: 'set', object });
    },
    remove(object: T) {
      objects.delete(object.metadata.name);
      emit({ kind: 'gone', object });
    },
  };
}

async function lines(registry: Registry, name: string): Promise<string[]> {
  const text = await registry.getSingleMetricAsString(name);
  return text.split('\n').filter((line) => !line.startsWith('#') && !line.endsWith(' 0'));
}

const plan = (name: string, holder?: string): DRPlan => ({
  metadata: { name, namespace: 'ns' },
  spec: { stages: [] },
  status: {
    phase: 'Ready',
    ...(holder !== undefined && { currentExecution: { name: holder, uid: `uid-${holder}` } }),
  },
});

describe('what is told of executions and plans', () => {
  it('is how those stand that are not over; who waits for a person is not stalled', async () => {
    const registry = new Registry();
    const [executions, plans] = [cacheOf<CachedExecution>(), cacheOf<DRPlan>()];
    createPlanMetrics(registry).watch({ executions: executions.informer, plans: plans.informer });
    const all = [
      execution('new'),
      execution('waits', { phase: 'Pending', conditions: progressing('False', 'WaitingForTurn') }),
      execution('runs', run(acting('HTTP', 'Wait'))),
      execution('asks', run(acting('Approval'))),
      execution('paused', run({ conditions: progressing('False', 'Paused') })),
      execution('stuck', run({ conditions: progressing('False', 'NoWorker') })),
      execution('odd', run({ conditions: progressing('False', 'SomethingNew') })),
      execution('cancelled', run({ conditions: progressing('True', 'Cancelling') })),
      execution('over', { phase: 'Succeeded' }),
    ];
    for (const one of all) executions.set(one);
    expect(await lines(registry, 'drover_bridge_runs')).toEqual([
      'drover_bridge_runs{phase="Pending"} 2',
      'drover_bridge_runs{phase="Running"} 1',
      'drover_bridge_runs{phase="AwaitingApproval"} 1',
      'drover_bridge_runs{phase="Paused"} 1',
      'drover_bridge_runs{phase="Cancelling"} 1',
      'drover_bridge_runs{phase="Stalled"} 2',
    ]);
    expect(await lines(registry, 'drover_bridge_runs_stalled')).toEqual([
      'drover_bridge_runs_stalled{reason="WaitingForTurn"} 1',
      'drover_bridge_runs_stalled{reason="NoWorker"} 1',
      'drover_bridge_runs_stalled{reason="Other"} 1',
    ]);
    expect(await lines(registry, 'drover_bridge_actions_running')).toEqual([
      'drover_bridge_actions_running{type="HTTP"} 1',
      'drover_bridge_actions_running{type="Wait"} 1',
      'drover_bridge_actions_running{type="Approval"} 1',
    ]);
    for (const one of all.slice(1)) executions.remove(one);
    await new Promise((resolve) => setImmediate(resolve));
    expect(await lines(registry, 'drover_bridge_runs')).toEqual(['drover_bridge_runs{phase="Pending"} 1']);
    expect(await lines(registry, 'drover_bridge_runs_stalled')).toEqual([]);
  });

  it('is who holds a plan', () => {
    const executions = cacheOf<CachedExecution>();
    executions.set(execution('live', run()));
    executions.set(execution('over', { phase: 'Failed' }));
    executions.set({ ...execution('again', run()), metadata: { name: 'again', uid: 'another' } });
    const held = ['live', 'over', 'again', 'gone'].map((holder) => plan(`of-${holder}`, holder));
    expect(countPlans([...held, plan('free')], executions.informer)).toEqual({
      phases: new Map([
        ['Ready', 5],
        ['Executed', 0],
        ['Invalid', 0],
        ['Unchecked', 0],
      ]),
      held: new Map([
        ['run', 1],
        ['nobody', 3],
      ]),
    });
  });
});

it('counts the end that a written status shows, and none for a write that did not take place', async () => {
  const registry = new Registry();
  const before = execution('e', run(acting('HTTP')));
  const ended: DRPlanExecutionStatus = {
    ...run(),
    phase: 'Succeeded',
    startTime: '2026-11-29T10:00:00Z',
    completionTime: '2026-11-29T10:00:20Z',
  };
  let kind: 'written' | 'unchanged' = 'written';
  const writer = countingWriter(
    {
      status: (_: unknown, __: unknown, project: (object: CachedExecution) => object | undefined) =>
        Promise.resolve({ kind, object: { ...before, status: project(before) } }),
    } as unknown as StatusWriter,
    createPlanMetrics(registry),
  );
  const write = (of: string) =>
    writer.status(
      { kind: of } as Informer<CachedExecution>,
      { namespace: 'ns', name: 'e', uid: 'u' },
      () => ended,
    );
  await write('DRPlanExecution');
  kind = 'unchanged';
  await write('DRPlanExecution');
  kind = 'written';
  await write('DRPlan');
  expect(await lines(registry, 'drover_bridge_runs_ended_total')).toEqual([
    'drover_bridge_runs_ended_total{operation="Execute",outcome="Succeeded"} 1',
  ]);
  expect(await lines(registry, 'drover_bridge_run_seconds')).toContain(
    'drover_bridge_run_seconds_sum{operation="Execute",outcome="Succeeded"} 20',
  );
});
