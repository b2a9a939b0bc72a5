import { describe, expect, it } from 'vitest';
import { priorSecretName } from '../../../api/plan/naming.js';
import type { ActionStatus, DRPlanExecution, DRPlanExecutionStatus } from '../../../api/plan/types.js';
import {
  expandStages,
  fitStatus,
  MAX_STATUS_BYTES_WITH_OUTPUTS,
  hasLostOutputs,
  smallestStatus,
  MAX_STATUS_BYTES,
} from './size-guard.js';

const status = (actions: number, body: number, message: number): DRPlanExecutionStatus => ({
  phase: 'Running',
  message: 'of the run',
  stageStatuses: [
    {
      name: 's',
      phase: 'Running',
      workflowExecutions: [
        {
          workflowRef: { name: 'w' },
          phase: 'Running',
          actionStatuses: Array.from({ length: actions }, (_, index) => ({
            name: `a${index}`,
            phase: 'Failed',
            reason: 'HTTPError',
            message: 'm'.repeat(message),
            outputs: { httpResponse: { statusCode: 500, body: 'b'.repeat(body) } },
          })),
        },
      ],
    },
  ],
});
const size = (value: unknown): number => Buffer.byteLength(JSON.stringify(value));
const actions = (value: DRPlanExecutionStatus) =>
  value.stageStatuses?.[0]?.workflowExecutions?.[0]?.actionStatuses ?? [];

it('leaves a status alone that fits', () => {
  const small = status(10, 1000, 100);
  expect(fitStatus(small)).toBe(small);
});

it('leaves out bodies first [S6.8]', () => {
  const fitted = fitStatus(status(1500, 1000, 200));
  expect(size(fitted)).toBeLessThanOrEqual(MAX_STATUS_BYTES);
  expect(actions(fitted)[0]).toMatchObject({
    message: 'm'.repeat(200),
    outputs: { httpResponse: { statusCode: 500 } },
  });
  expect(actions(fitted)[0]?.outputs?.httpResponse?.body).toBeUndefined();
});

it('then messages, and never phases, reasons or the message of the run [S6.8]', () => {
  const fitted = fitStatus(status(2000, 1000, 1000));
  expect(size(fitted)).toBeLessThanOrEqual(MAX_STATUS_BYTES);
  expect(actions(fitted)).toHaveLength(2000);
  for (const action of actions(fitted))
    expect(action).toMatchObject({ phase: 'Failed', reason: 'HTTPError' });
  expect(fitted.message).toBe('of the run');
});

it('at its smallest tells every phase of the largest run admitted [S6.8]', () => {
  const smallest = smallestStatus(status(2000, 1000, 32_000));
  expect(size(smallest)).toBeLessThan(MAX_STATUS_BYTES);
  expect(actions(smallest)).toHaveLength(2000);
});

/** As an Apply that created its object leaves it. */
function applied(at: { stage: number; workflow: number; action: number }, long: boolean): ActionStatus {
  const name = `${long ? 'n'.repeat(240) : 'payments-config'}-${at.stage}-${at.action}`;
  const reference = {
    apiVersion: long ? `${'g'.repeat(60)}/v1alpha1` : 'v1',
    kind: long ? 'K'.repeat(63) : 'ConfigMap',
    namespace: long ? 's'.repeat(63) : 'payments',
    name,
    uid: '0c1ff0f5-5d7e-4d9c-9d4e-000000000000',
  };
  return {
    name: (long ? 'a'.repeat(59) : 'apply-config') + at.action,
    type: 'KubernetesResource',
    phase: 'Succeeded',
    startTime: '2026-01-01T00:00:00.000Z',
    completionTime: '2026-01-01T00:00:01.000Z',
    retryCount: 0,
    message: `ConfigMap ${reference.namespace}/${name} created`,
    round: 0,
    effect: 'Done',
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
}

const largest = (stages: number, long = false): DRPlanExecutionStatus => ({
  phase: 'Running',
  temporal: { workflowId: 'dr/c/ns/run/uid' },
  stageStatuses: Array.from({ length: stages }, (_, stage) => ({
    name: `${long ? 's'.repeat(59) : 'stage'}-${stage}`,
    phase: 'Succeeded',
    order: stage + 1,
    sequence: 3,
    startTime: '2026-01-01T00:00:00.000Z',
    completionTime: '2026-01-01T00:00:01.000Z',
    duration: '1s',
    workflowExecutions: [
      {
        workflowRef: {
          name: long ? 'w'.repeat(63) : 'restore',
          namespace: long ? 's'.repeat(63) : 'payments',
        },
        phase: 'Succeeded',
        startTime: '2026-01-01T00:00:00.000Z',
        completionTime: '2026-01-01T00:00:01.000Z',
        duration: '1s',
        progress: '10/10 actions completed',
        actionStatuses: Array.from({ length: 2000 / stages }, (__, action) =>
          applied({ stage, workflow: 0, action }, long),
        ),
      },
    ],
  })),
});
const execution = (status: DRPlanExecutionStatus): DRPlanExecution => ({
  metadata: { name: 'run', namespace: 'ns', uid: 'uid' },
  spec: { planRef: 'p', operationType: 'Execute' },
  status,
});
const phases = (status: DRPlanExecutionStatus): (string | number | undefined)[] =>
  (status.stageStatuses ?? []).flatMap((stage) =>
    (stage.workflowExecutions ?? []).flatMap((workflow) =>
      (workflow.actionStatuses ?? []).flatMap(({ phase, effect, order, round }) => [
        phase,
        effect,
        order,
        round,
      ]),
    ),
  );

describe.each([200, 1])('2,000 actions that write objects, in %i stages', (stages) => {
  it('fit with all that a revert needs, and nothing else is missing than messages', () => {
    const status = largest(stages);
    expect(size(status)).toBeGreaterThan(1_572_864);
    const fitted = fitStatus(status);
    expect(size(fitted)).toBeLessThan(MAX_STATUS_BYTES_WITH_OUTPUTS);
    expect(phases(fitted)).toEqual(phases(status));
    expect(fitted.omitted).toContain('messages');
    expect(fitted.omitted).toContain('dr/c/ns/run/uid');
    expect(fitted.omitted).not.toContain('outputs');
    const outputs = (stageStatuses: DRPlanExecutionStatus['stageStatuses']) =>
      stageStatuses?.flatMap((stage) =>
        stage.workflowExecutions?.flatMap((workflow) =>
          workflow.actionStatuses?.map((action) => action.outputs),
        ),
      );
    expect(outputs(expandStages(execution(fitted)))).toEqual(outputs(status.stageStatuses));
  });

  it.each([
    ['usual', false],
    ['long', true],
  ])('fit with %s names when the server refuses what was tried first', (_, long) => {
    const status = largest(stages, long);
    const smallest = smallestStatus(status);
    expect(size(smallest)).toBeLessThan(1_400_000);
    expect(size(fitStatus(status))).toBeLessThan(1_400_000);
    expect(phases(smallest)).toEqual(phases(status));
    expect(actions(smallest).every(hasLostOutputs)).toBe(true);
    expect(smallest.omitted).toContain('outputs');
  });
});

it('goes on saying what was left out earlier', () => {
  const once = fitStatus(largest(200));
  expect(fitStatus({ ...once, stageStatuses: once.stageStatuses?.slice(0, 1) }).omitted).toBe(once.omitted);
});

it('never calls outputs lost that an action does not have', () => {
  expect(hasLostOutputs({ name: 'a', type: 'HTTP', phase: 'Succeeded' })).toBe(false);
  expect(hasLostOutputs({ name: 'a', type: 'Localization', phase: 'Succeeded', outputs: {} })).toBe(false);
});

it('[F19] finds the name of prior state again that an earlier release has kept', () => {
  const at = { stage: 0, workflow: 0, action: 0 };
  const priorRef = { name: '', key: 'prior.json', digest: 'd' };
  const outputs = { priorRef };
  const actionStatuses = [{ name: 'a', phase: 'Succeeded', outputs }];
  const workflowExecutions = [{ workflowRef: { name: 'w' }, phase: 'Succeeded', actionStatuses }];
  const [stage] = expandStages({
    metadata: { name: 'run', uid: 'uid' },
    spec: { planRef: 'p', operationType: 'Execute' },
    status: { phase: 'Succeeded', stageStatuses: [{ name: 's', phase: 'Succeeded', workflowExecutions }] },
  });
  expect(stage?.workflowExecutions?.[0]?.actionStatuses?.[0]?.outputs?.priorRef).toEqual({
    ...priorRef,
    name: priorSecretName({ executionName: 'run', uid: 'uid', at }),
  });
});
