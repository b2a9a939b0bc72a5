import { describe, expect, it } from 'vitest';
import { FINALIZERS } from '../../../api/core/group.js';
import type { DRPlanExecution } from '../../../api/plan/types.js';
import { trimExecution } from './stub.js';
import type { KeptFor } from '../types.js';

const stages = [
  {
    name: 's',
    phase: 'Succeeded',
    workflowExecutions: [
      { workflowRef: { name: 'w' }, phase: 'Succeeded', actionStatuses: [{ name: 'a', phase: 'Succeeded' }] },
    ],
  },
];
const finished = {
  type: 'Finished',
  status: 'True' as const,
  reason: 'Succeeded',
  message: '',
  lastTransitionTime: '2026-01-01T00:01:00Z',
};
const execution = (
  phase: string,
  metadata: Partial<DRPlanExecution['metadata']> = {},
  status: Partial<NonNullable<DRPlanExecution['status']>> = {},
): DRPlanExecution => ({
  metadata: { name: 'e', namespace: 'ns', uid: 'u', finalizers: [FINALIZERS.execution], ...metadata },
  spec: { planRef: 'p', operationType: 'Execute', params: [{ name: 'x', value: 'y'.repeat(1000) }] },
  status: {
    phase,
    startTime: '2026-01-01T00:00:00Z',
    completionTime: '2026-01-01T00:01:00Z',
    message: 'long',
    stageStatuses: stages,
    conditions: [finished],
    ...status,
  },
});

it('keeps all of an execution that goes on, but for who has written what', () => {
  const running = execution('Running', { managedFields: [{}], labels: { a: 'b' } });
  const { managedFields: _, ...metadata } = running.metadata;
  expect(trimExecution(running)).toEqual({ ...running, metadata });
});

it('keeps of one that has ended what is read again, and how it ended', () => {
  const kept = { 'dr.bkbcs.tencent.com/nested-in': '{}', 'dr.bkbcs.tencent.com/force-delete': 'true' };
  const ended = execution('Succeeded', {
    labels: { a: 'b' },
    annotations: { x: 'y', ...kept },
    resourceVersion: '7',
  });
  expect(trimExecution(ended)).toEqual({
    metadata: {
      name: 'e',
      namespace: 'ns',
      uid: 'u',
      resourceVersion: '7',
      finalizers: [FINALIZERS.execution],
      annotations: kept,
    },
    spec: { planRef: 'p', operationType: 'Execute' },
    status: {
      phase: 'Succeeded',
      startTime: '2026-01-01T00:00:00Z',
      completionTime: '2026-01-01T00:01:00Z',
    },
    stub: { hasEffects: true },
  });
});

it('knows what was undone', () => {
  expect(trimExecution(execution('Failed', {}, { undone: ['0/0/0'] })).stub).toEqual({
    hasEffects: false,
    isTouched: true,
  });
});

describe('is never removed without a person', () => {
  const apply = { operation: 'Apply', manager: 'flux', fieldsV1: {} };
  it.each<[string, DRPlanExecution, KeptFor | undefined]>([
    ['what was created', execution('Failed', { managedFields: [{ operation: 'Update' }] }), undefined],
    ['what was applied on the server', execution('Failed', { managedFields: [apply] }), 'Declared'],
    [
      'what had its status applied',
      execution('Failed', { managedFields: [{ ...apply, subresource: 'status' }] }),
      undefined,
    ],
    [
      'what kubectl has applied',
      execution('Failed', { annotations: { 'kubectl.kubernetes.io/last-applied-configuration': '{}' } }),
      'Declared',
    ],
    [
      'what a GitOps tool tracks',
      execution('Failed', { labels: { 'app.kubernetes.io/instance': 'x' } }),
      'Declared',
    ],
    [
      'what may still run somewhere',
      execution(
        'Failed',
        {},
        { conditions: [finished, { ...finished, type: 'StopUnconfirmed', reason: 'ClusterDidNotConfirm' }] },
      ),
      'StopUnconfirmed',
    ],
    ['a record of another controller', execution('Succeeded', {}, { conditions: [] }), 'Foreign'],
  ])('%s', (_, object, kept) => {
    expect(trimExecution(object).stub?.kept).toBe(kept);
  });
});
