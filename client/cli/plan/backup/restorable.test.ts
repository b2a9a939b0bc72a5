import { describe, expect, it } from 'vitest';
import { ANNOTATIONS, API_VERSION, FINALIZERS } from '../../../../api/core/group.js';
import type { DRPlanExecution, DRPlanStatus } from '../../../../api/plan/types.js';
import { copyOf, lacksStatus, planStatusOf, stampOf, statusOf, withNewUids } from './restorable.js';

const OLD = '11111111-0000-4000-8000-000000000000';
const NEW = '22222222-0000-4000-8000-000000000000';
const uids = new Map([[OLD, NEW]]);

const execution = (more: Partial<DRPlanExecution['metadata']> = {}, status?: DRPlanExecution['status']) =>
  ({
    apiVersion: API_VERSION,
    kind: 'DRPlanExecution',
    metadata: {
      name: 'run',
      namespace: 'shop',
      uid: OLD,
      resourceVersion: '7',
      generation: 1,
      creationTimestamp: '2026-11-30T12:00:00Z',
      finalizers: [FINALIZERS.execution],
      annotations: { [ANNOTATIONS.heldFor]: 'a revert', [ANNOTATIONS.requestedBy]: 'alice' },
      labels: { team: 'shop' },
      ...more,
    },
    spec: { planRef: 'p', operationType: 'Execute' },
    ...(status !== undefined && { status }),
  }) as DRPlanExecution;
const ranAs = (uid: string) => ({
  phase: 'Succeeded',
  temporal: { workflowId: `dr/c0ffee00/shop/run/${uid.slice(0, 8)}` },
});

describe('a copy of an execution', () => {
  it('says whose copy it is, and has neither finalizer nor status [S5.60]', () => {
    expect(copyOf(execution({}, ranAs(OLD)), new Map())).toEqual({
      apiVersion: API_VERSION,
      kind: 'DRPlanExecution',
      metadata: {
        name: 'run',
        namespace: 'shop',
        labels: { team: 'shop' },
        annotations: { [ANNOTATIONS.requestedBy]: 'alice', [ANNOTATIONS.stamp]: OLD },
      },
      spec: { planRef: 'p', operationType: 'Execute' },
    });
  });

  it('waits for the copy of what owns it, and is owned by that', () => {
    const owner = { apiVersion: API_VERSION, kind: 'DRPlanExecution', name: 'outer' };
    const nested = execution({ uid: 'n', ownerReferences: [{ ...owner, uid: OLD }] });
    expect(copyOf(nested, new Map())).toBeUndefined();
    expect(copyOf(nested, uids)?.metadata.ownerReferences).toEqual([{ ...owner, uid: NEW }]);
  });

  it('of a copy is a copy of what has run [S5.60]', () => {
    const again = execution({ uid: NEW, annotations: { [ANNOTATIONS.stamp]: OLD } }, ranAs(OLD));
    expect(stampOf(again)).toBe(OLD);
    // A stamp that the recorded run does not bear out is anybody's claim.
    expect(stampOf(execution({ annotations: { [ANNOTATIONS.stamp]: NEW } }, ranAs(OLD)))).toBe(OLD);
  });

  it('gets the status of what has run, once', () => {
    expect(statusOf(execution())).toBeUndefined();
    expect(statusOf(execution({}, { phase: 'Pending' }))).toBeUndefined();
    expect(statusOf(execution({}, { phase: 'Failed', reason: 'PlanBusy' }))).toBeDefined();
    expect(statusOf(execution({}, { ...ranAs(OLD), phase: 'Running' }))).toBeDefined();
    expect(lacksStatus(undefined)).toBe(true);
    expect(lacksStatus({ phase: 'Failed', reason: 'RestoredCopy' })).toBe(true);
    expect(lacksStatus({ ...ranAs(OLD), phase: 'Failed', reason: 'RestoredCopy' })).toBe(false);
    expect(lacksStatus({ phase: 'Failed', reason: 'PlanBusy' })).toBe(false);
  });
});

describe('uids', () => {
  it('of executions are replaced wherever a status names them, and no others', () => {
    const status = {
      revertedBy: { name: 'r', uid: OLD },
      stageStatuses: [{ actions: [{ created: [{ uid: 'a configmap' }], planExecutionRef: { uid: OLD } }] }],
      executionHistory: [{ uid: OLD, revertOf: OLD, name: OLD }],
    };
    expect(withNewUids(status, uids)).toEqual({
      revertedBy: { name: 'r', uid: NEW },
      stageStatuses: [{ actions: [{ created: [{ uid: 'a configmap' }], planExecutionRef: { uid: NEW } }] }],
      executionHistory: [{ uid: NEW, revertOf: NEW, name: OLD }],
    });
  });
});

describe('the status of a restored plan', () => {
  const time = '2026-11-30T11:00:00Z';
  const takenAt = '2026-11-30T12:00:00Z';
  const condition = (type: string, status: string) => ({
    type,
    status,
    reason: 'R',
    message: '',
    lastTransitionTime: time,
  });
  const archived = {
    phase: 'Executed',
    observedGeneration: 4,
    conditions: [condition('Ready', 'True'), condition('Executed', 'True')],
    executedBy: { apiVersion: API_VERSION, kind: 'DRPlanExecution', name: 'run', uid: OLD },
    currentExecution: { apiVersion: API_VERSION, kind: 'DRPlanExecution', name: 'live', uid: 'l' },
    executionHistory: [
      { name: 'live', uid: 'l', operationType: 'Revert', phase: 'Running', revertOf: OLD, startTime: time },
      { name: 'run', uid: OLD, operationType: 'Execute', phase: 'Succeeded' },
    ],
  } as DRPlanStatus;

  it('has the history and is free: what ran is over', () => {
    const current = { phase: 'Ready', observedGeneration: 1, conditions: [condition('Ready', 'False')] };
    expect(planStatusOf(current as DRPlanStatus, archived, { uids, takenAt })).toEqual({
      phase: 'Executed',
      observedGeneration: 1,
      conditions: [condition('Ready', 'False'), condition('Executed', 'True')],
      executedBy: { apiVersion: API_VERSION, kind: 'DRPlanExecution', name: 'run', uid: NEW },
      executionHistory: [
        {
          name: 'live',
          uid: 'l',
          operationType: 'Revert',
          phase: 'Failed',
          revertOf: NEW,
          startTime: time,
          completionTime: takenAt,
        },
        { name: 'run', uid: NEW, operationType: 'Execute', phase: 'Succeeded' },
      ],
    });
  });

  it('leaves the phase to the bridge where the plan is Invalid now, or was not executed', () => {
    const invalid = { phase: 'Invalid' } as DRPlanStatus;
    expect(planStatusOf(invalid, archived, { uids, takenAt }).phase).toBe('Invalid');
    const ready = { ...archived, phase: 'Ready', conditions: [] } as DRPlanStatus;
    expect(planStatusOf(undefined, ready, { uids, takenAt })).not.toHaveProperty('phase');
  });
});
