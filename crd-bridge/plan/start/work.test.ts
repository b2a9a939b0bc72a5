import { describe, expect, it } from 'vitest';
import { priorSecretName } from '../../../api/plan/naming.js';
import { workflowKey } from '../../../api/plan/snapshot/snapshot.js';
import type { Snapshot } from '../../../api/plan/snapshot/snapshot.js';
import type { ActionStatus, DRPlanExecution } from '../../../api/plan/types.js';
import { fitStatus, smallestStatus } from '../status/size-guard.js';
import { checkInputSize, workOf } from './work.js';

/** A plan that applies `actions` objects in each of its stages. */
function snapshotOf(stages: number, actions: number, spec: Partial<Snapshot['plan']['spec']> = {}): Snapshot {
  const workflow = { name: 'restore', namespace: 'ns' };
  const manifest = (index: number): string =>
    `apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: config-${index}\ndata:\n  key: ${'v'.repeat(150)}\n`;
  return {
    plan: {
      name: 'p',
      namespace: 'ns',
      uid: 'plan',
      generation: 1,
      spec: {
        stages: Array.from({ length: stages }, (_, index) => ({
          name: `stage-${index}`,
          workflows: [{ workflowRef: workflow }],
        })),
        ...spec,
      },
    },
    workflows: {
      [workflowKey(workflow)]: {
        uid: 'wf',
        generation: 1,
        spec: {
          actions: Array.from({ length: actions }, (_, index) => ({
            name: `apply-config-${index}`,
            type: 'KubernetesResource' as const,
            resource: { manifest: manifest(index), operation: 'Apply' as const },
          })),
        },
      },
    },
    params: [],
    operation: 'Execute',
    runMode: 'Planned',
  };
}

const applied = (at: { stage: number; workflow: number; action: number }): ActionStatus => {
  const name = `payments-configuration-${at.stage}-${at.action}`;
  const uid = '0c1ff0f5-5d7e-4d9c-9d4e-000000000000';
  const reference = { apiVersion: 'v1', kind: 'ConfigMap', namespace: 'payments', name, uid };
  return {
    name: `apply-config-${at.action}`,
    type: 'KubernetesResource',
    phase: 'Succeeded',
    startTime: '2026-01-01T00:00:00.000Z',
    completionTime: '2026-01-01T00:00:01.000Z',
    message: `ConfigMap payments/${name} created`,
    effect: 'Done',
    round: 0,
    order: at.action + 1,
    outputs: {
      resourceRef: reference,
      resourceRefs: [reference],
      created: [reference],
      priorRef: {
        name: `${priorSecretName({ executionName: 'run', uid: 'uid', at })}-0123456789abcdef`,
        key: 'prior.json',
        digest: 'd'.repeat(64),
      },
    },
  };
};

const ran = (stages: number, actions: number): DRPlanExecution => ({
  metadata: { name: 'run', namespace: 'ns', uid: 'uid' },
  spec: { planRef: 'p', operationType: 'Execute' },
  status: {
    phase: 'Succeeded',
    stageStatuses: Array.from({ length: stages }, (_, stage) => ({
      name: `stage-${stage}`,
      phase: 'Succeeded',
      order: stage + 1,
      workflowExecutions: [
        {
          workflowRef: { name: 'restore', namespace: 'ns' },
          phase: 'Succeeded',
          actionStatuses: Array.from({ length: actions }, (__, action) =>
            applied({ stage, workflow: 0, action }),
          ),
        },
      ],
    })),
  },
});
const size = (value: unknown): number => Buffer.byteLength(JSON.stringify(value));
const stepOf = (work: ReturnType<typeof workOf>, stage: number) =>
  work.input.undo.find(({ index }) => index === stage)?.steps.at(-1);

describe.each([
  [200, 10],
  [1, 2000],
])('the revert of %i stages with %i actions each', (stages, actions) => {
  const snapshot = snapshotOf(stages, actions);
  const target = ran(stages, actions);

  it('is started with an input that Temporal takes, and says all stages in status', () => {
    const work = workOf(snapshot, target);
    expect(checkInputSize(work)).toBeUndefined();
    expect(size(work.input)).toBeLessThan(2 * 1024 * 1024 - 64 * 1024);
    expect(work.input.undo.flatMap(({ steps }) => steps)).toHaveLength(2000);
    expect(work.statuses.every(({ workflowExecutions }) => workflowExecutions?.length === 1)).toBe(true);
    expect(work.input.undoStatuses).toHaveLength(stages);
  });

  it('goes by the same record when the status had to be made smaller', () => {
    const reduced = { ...target, status: fitStatus(target.status ?? {}) };
    expect(size(reduced.status)).toBeLessThan(size(target.status));
    expect(workOf(snapshot, reduced).input).toEqual(workOf(snapshot, target).input);
  });

  it('looks for marks where outputs are left out altogether', () => {
    const reduced = { ...target, status: smallestStatus(target.status ?? {}) };
    const work = workOf(snapshot, reduced);
    expect(work.input.undo.flatMap(({ steps }) => steps)).toHaveLength(2000);
    expect(stepOf(work, 0)?.forward).toMatchObject({ phase: 'Failed', effect: 'Unknown', round: 0 });
    expect(stepOf(work, 0)?.forward.outputs).toBeUndefined();
  });
});

it('keeps the outcome of what can be told', () => {
  const work = workOf(snapshotOf(1, 1), ran(1, 1));
  expect(stepOf(work, 0)?.forward).toMatchObject({
    phase: 'Succeeded',
    outputs: { created: [{ kind: 'ConfigMap' }], priorRef: { digest: 'd'.repeat(64) } },
  });
});

it('[F3] tells an answer once that the rollbacks of 2,000 actions read', () => {
  const snapshot = snapshotOf(1, 2000);
  const actions = snapshot.workflows['ns/restore']?.spec.actions ?? [];
  const http = { url: 'https://gslb.example.com', method: 'POST' };
  const rollback = {
    type: 'HTTP' as const,
    http: { ...http, body: '{{ .outputs.ask.httpResponse.body }}' },
  };
  for (const action of actions) Object.assign(action, { type: 'HTTP', resource: undefined, http, rollback });
  Object.assign(actions[0] ?? {}, { name: 'ask', rollback: undefined });
  const target = ran(1, 2000);
  const statuses = target.status?.stageStatuses?.[0]?.workflowExecutions?.[0]?.actionStatuses ?? [];
  for (const status of statuses) {
    status.type = 'HTTP';
    delete status.outputs;
  }
  const body = 'b'.repeat(1000);
  Object.assign(statuses[0] ?? {}, { name: 'ask', outputs: { httpResponse: { statusCode: 200, body } } });
  const work = workOf(snapshot, target);
  expect(checkInputSize(work)).toBeUndefined();
  expect(JSON.stringify(work.input).split(body)).toHaveLength(2);
  expect(work.input.undo[0]?.steps).toHaveLength(1999);
});

it('is refused before anything is taken when Temporal would not take it', () => {
  const snapshot = snapshotOf(1, 2000);
  const actions = snapshot.workflows['ns/restore']?.spec.actions ?? [];
  const nameOf = (index: number): string => `${'n'.repeat(240)}-${index}`;
  for (const [index, action] of actions.entries()) {
    action.name = nameOf(index);
    action.dependsOn = [1, 2, 3, 4].filter((back) => back <= index).map((back) => nameOf(index - back));
  }
  expect(checkInputSize(workOf(snapshot, undefined))).toMatchObject({
    reason: 'PlanTooLarge',
    message: expect.stringContaining('split the plan') as string,
  });
});

it('[F3] carries nothing for a rollback that reads nothing', () => {
  const snapshot = snapshotOf(1, 1);
  const [action] = snapshot.workflows['ns/restore']?.spec.actions ?? [];
  const rollback = { type: 'HTTP' as const, http: { url: 'https://gslb.example.com', method: 'POST' } };
  Object.assign(action ?? {}, { rollback });
  expect(stepOf(workOf(snapshot, ran(1, 1)), 0)?.outputs).toEqual({});
});
