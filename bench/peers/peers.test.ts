import { describe, expect, it } from 'vitest';
import { executionSpecSchema } from '../../api/plan/schema/execution.js';
import { planSpecSchema } from '../../api/plan/schema/plan.js';
import { workflowSpecSchema } from '../../api/plan/schema/workflow.js';
import type { KubeObject } from '../../kube/object.js';
import { bcs } from './bcs.js';
import { drover } from './drover.js';
import { PEERS, peerOf } from './index.js';
import { kubevela } from './kubevela.js';
import { callPath, delayQuery } from './peer.js';
import type { PlannedRun } from './peer.js';

const planned = (shape: PlannedRun['shape']): PlannedRun => ({
  name: 'run-7',
  namespace: 'bench',
  shape,
  variant: 0,
  url: 'http://127.0.0.1:9',
});
const specOf = (object: KubeObject | undefined): unknown => object?.['spec'];
const withStatus = (status: unknown): KubeObject => ({ metadata: { name: 'run-7' }, status });

describe('the DR kinds', () => {
  const run = planned({ stages: 3, actions: 3, delay: 1000 });

  it('are objects that the schemas accept', () => {
    const peer = drover({ serviceAccount: 'runner' });
    const [workflow] = peer.shared(run);
    const [plan] = peer.plan(run);
    expect(workflowSpecSchema.safeParse(specOf(workflow)).error).toBeUndefined();
    expect(planSpecSchema.safeParse(specOf(plan)).error).toBeUndefined();
    expect(executionSpecSchema.safeParse(specOf(peer.run(run))).error).toBeUndefined();
    expect(specOf(plan)).toMatchObject({ serviceAccountName: 'runner' });
  });

  it('make a stage wait for the one before it, and tell the workflow which one it is', () => {
    const [plan] = bcs().plan(run);
    expect(specOf(plan)).toEqual({
      failurePolicy: 'Stop',
      globalParams: [{ name: 'run', value: 'run-7' }],
      stages: [0, 1, 2].map((stage) => ({
        name: `stage-${stage}`,
        ...(stage > 0 && { dependsOn: [`stage-${stage - 1}`] }),
        parallel: false,
        workflows: [
          {
            workflowRef: { name: 'calls-3', namespace: 'bench' },
            params: [
              { name: 'stage', value: String(stage) },
              { name: 'workflow', value: '0' },
            ],
          },
        ],
      })),
    });
  });

  it('spell out what the original adds only by its webhook, and try nothing twice', () => {
    const [workflow] = bcs().shared(run);
    const { actions, failurePolicy } = specOf(workflow) as { actions: unknown[]; failurePolicy: string };
    expect(failurePolicy).toBe('FailFast');
    expect(actions).toHaveLength(3);
    expect(actions[2]).toEqual({
      name: 'call-2',
      type: 'HTTP',
      timeout: '5m',
      retryPolicy: { limit: 0, interval: '1s', backoffMultiplier: '1.0' },
      http: {
        method: 'GET',
        url: 'http://127.0.0.1:9/{{ .params.run }}/{{ .params.stage }}/{{ .params.workflow }}/2?delay=1000',
      },
    });
  });

  it('use nothing in the original controller that only Drover knows', () => {
    const again = { ...run, name: 'run-7-r1', plan: 'run-7' };
    expect(specOf(bcs().run(again))).toEqual({ planRef: 'run-7', operationType: 'Execute' });
    expect(specOf(drover({}).run(again))).toEqual({
      planRef: 'run-7',
      operationType: 'Execute',
      rerun: 'Allowed',
    });
    expect(specOf(bcs().plan(run)[0])).not.toHaveProperty('serviceAccountName');
  });

  it('share a workflow among the runs of a variant only', () => {
    const name = (variant: number): string | undefined =>
      drover({}).shared({ ...run, variant })[0]?.metadata.name;
    expect(name(1)).not.toBe(name(2));
    const [plan] = drover({}).plan({ ...run, variant: 2 });
    expect(JSON.stringify(plan)).toContain(`"name":"${name(2)}"`);
  });

  it('wait for the workflow before the plan, as the original judges a plan once only', () => {
    const { sharedAccepted, accepted } = bcs();
    expect(sharedAccepted?.type.kind).toBe('DRWorkflow');
    expect(accepted?.type.kind).toBe('DRPlan');
    for (const acceptance of [sharedAccepted!, accepted!]) {
      expect(acceptance.isAccepted(withStatus({ phase: 'Ready' }))).toBe(true);
      expect(acceptance.isAccepted(withStatus({ phase: 'Invalid' }))).toBe(false);
      expect(acceptance.isAccepted(withStatus(undefined))).toBe(false);
    }
  });

  it.each([
    ['Succeeded', 'succeeded'],
    ['Failed', 'failed'],
    ['Cancelled', 'cancelled'],
    ['Canceled', 'cancelled'],
    ['Running', 'running'],
    [undefined, 'running'],
  ])('read phase %s as %s', (phase, expected) => {
    expect(bcs().phase(withStatus({ phase }))).toBe(expected);
  });

  it('count what an ended execution shows as going on', () => {
    const status = {
      phase: 'Canceled',
      stageStatuses: [
        {
          phase: 'Skipped',
          workflowExecutions: [
            { phase: 'Running', actionStatuses: [{ phase: 'Running' }, { phase: 'Canceled' }] },
          ],
        },
      ],
    };
    expect(bcs().openSteps(withStatus(status))).toBe(2);
    expect(bcs().openSteps(withStatus({}))).toBeUndefined();
  });

  it('are cancelled by the annotation', () => {
    expect(drover({}).cancel(withStatus({}))).toEqual({
      kind: 'merge',
      patch: { metadata: { annotations: { 'dr.bkbcs.tencent.com/cancel': 'true' } } },
    });
  });
});

describe('KubeVela', () => {
  it('has one step for one call', () => {
    const run = kubevela({}).run(planned({ stages: 1, actions: 1 }));
    expect(run).toMatchObject({ apiVersion: 'core.oam.dev/v1alpha1', kind: 'WorkflowRun' });
    expect(specOf(run)).toEqual({
      workflowSpec: {
        steps: [
          {
            name: 's0-a0',
            type: 'request',
            properties: { method: 'GET', url: 'http://127.0.0.1:9/run-7/0/0/0' },
          },
        ],
      },
    });
  });

  it('has a group for a stage, and calls by the step definition that was chosen', () => {
    const run = kubevela({ step: 'request-long' }).run(planned({ stages: 2, actions: 2, delay: 10_000 }));
    const { steps } = (specOf(run) as { workflowSpec: { steps: { type: string; subSteps: unknown[] }[] } })
      .workflowSpec;
    expect(steps.map(({ type }) => type)).toEqual(['step-group', 'step-group']);
    expect(steps[1]?.subSteps[1]).toEqual({
      name: 's1-a1',
      type: 'request-long',
      properties: { method: 'GET', url: 'http://127.0.0.1:9/run-7/1/0/1?delay=10000' },
    });
  });

  it('has no form for workflows inside of a stage', () => {
    expect(() => kubevela({}).run(planned({ stages: 1, workflows: 2, actions: 1 }))).toThrow(/no workflows/);
  });

  it.each([
    ['executing', 'running'],
    ['suspending', 'running'],
    ['succeeded', 'succeeded'],
    ['failed', 'failed'],
    ['terminated', 'cancelled'],
    [undefined, 'running'],
  ])('reads status %s as %s', (status, expected) => {
    expect(kubevela({}).phase(withStatus({ status }))).toBe(expected);
  });

  it('counts steps and their parts that are shown as going on', () => {
    const steps = [
      { phase: 'succeeded', subSteps: [{ phase: 'succeeded' }] },
      { phase: 'running', subSteps: [{ phase: 'running' }, {}] },
    ];
    expect(kubevela({}).openSteps(withStatus({ steps }))).toBe(3);
  });

  it('is told to end by its status', () => {
    const required = { finished: false, mode: {}, status: '' };
    const patchOf = (status: unknown): unknown => kubevela({}).cancel(withStatus(status));
    expect(patchOf(undefined)).toEqual({
      kind: 'merge',
      subresource: 'status',
      patch: { status: { ...required, suspend: false, terminated: true } },
    });
    const running = { finished: false, mode: { steps: 'StepByStep' }, status: 'executing', suspend: true };
    expect(patchOf(running)).toMatchObject({
      patch: { status: { ...running, suspend: false, terminated: true } },
    });
  });
});

it('knows every controller by its name', () => {
  for (const name of PEERS) expect(peerOf(name, {}).name).toBe(name);
});

it('writes delays as the recorder reads them', () => {
  expect(delayQuery({ stages: 1, actions: 1 })).toBe('');
  expect(delayQuery({ stages: 1, actions: 1, delay: 2000 })).toBe('?delay=2000');
  expect(delayQuery({ stages: 1, actions: 1, delay: [3000, 7000] })).toBe('?delay=3000-7000');
  expect(callPath('run-7', 0, 1, 2)).toBe('/run-7/0/1/2');
});
