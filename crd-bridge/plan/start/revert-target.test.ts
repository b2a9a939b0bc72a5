import { hasEffects } from '../../../api/plan/undo/effects.js';
import { describe, expect, it } from 'vitest';
import type { DRPlanExecution } from '../../../api/plan/types.js';
import { FINALIZERS } from '../../../api/core/group.js';
import { checkNewest, checkStays, checkTarget, openRevertsOf } from './revert-target.js';
import type { CachedExecution } from '../types.js';

const target = (
  over: Partial<NonNullable<DRPlanExecution['status']>> = {},
  name = 'old',
): CachedExecution => ({
  metadata: { name, namespace: 'ns', uid: name, creationTimestamp: '2026-01-01T00:00:00Z' },
  spec: { planRef: 'p', operationType: 'Execute' },
  status: {
    phase: 'Succeeded',
    snapshotRef: { name: 's', digest: 'd' },
    startTime: '2026-01-01T00:00:00Z',
    ...over,
  },
});
const revert = (spec: Partial<DRPlanExecution['spec']> = {}): DRPlanExecution => ({
  metadata: { name: 'back', namespace: 'ns', uid: 'back' },
  spec: { planRef: 'p', operationType: 'Revert', revertExecutionRef: 'old', ...spec },
});

describe('the target of a revert', () => {
  it.each([
    ['Succeeded', target(), undefined],
    ['Failed', target({ phase: 'Failed' }), undefined],
    ['cancelled, in the spelling of the original', target({ phase: 'Canceled' }), undefined],
    ['not there', undefined, 'TargetNotFound'],
    ['running', target({ phase: 'Running' }), 'TargetNotFinished'],
    ['reverted', target({ revertedBy: { name: 'x' } }), 'AlreadyReverted'],
    ['without a snapshot', target({ snapshotRef: undefined }), 'NoSnapshot'],
    [
      'of another plan',
      { ...target(), spec: { planRef: 'q', operationType: 'Execute' as const } },
      'TargetOfAnotherPlan',
    ],
    [
      'a revert',
      { ...target(), spec: { planRef: 'p', operationType: 'Revert' as const } },
      'TargetNotAnExecute',
    ],
  ])('that is %s [S1.3] [S5.45]', (_, object, reason) => {
    expect(checkTarget(revert(), object)?.reason).toBe(reason);
  });

  it('is not on its way out', () => {
    expect(checkStays(target())).toBeUndefined();
    const { metadata, ...rest } = target();
    const going = { ...rest, metadata: { ...metadata, deletionTimestamp: '2026-01-03T00:00:00Z' } };
    expect(checkStays(going)?.reason).toBe('TargetBeingDeleted');
  });

  it('is needed by its reverts that have not ended', () => {
    const { metadata } = revert();
    const deletionTimestamp = '2026-01-03T00:00:00Z';
    const held = { ...metadata, deletionTimestamp, finalizers: [FINALIZERS.execution] };
    const of = (part: Partial<DRPlanExecution>): number =>
      openRevertsOf(target(), [{ ...revert(), ...part }]).length;
    expect(of({})).toBe(1);
    expect(of({ status: { phase: 'Running' } })).toBe(1);
    expect(of({ status: { phase: 'Running' }, metadata: held })).toBe(1);
    expect(of({ status: { phase: 'Running' }, metadata: { ...metadata, deletionTimestamp } })).toBe(0);
    expect(of({ status: { phase: 'Failed' } })).toBe(0);
    expect(of({ metadata: { ...metadata, namespace: 'other' } })).toBe(0);
    expect(of({ spec: { ...revert().spec, revertExecutionRef: 'another' } })).toBe(0);
    expect(openRevertsOf(target(), [target({ phase: 'Running' }, 'run')])).toEqual([]);
  });

  it('is the newest run that still has effects, unless forced [S5.45]', () => {
    const newer: CachedExecution = {
      ...target({ startTime: '2026-01-02T00:00:00Z' }, 'new'),
      stub: { hasEffects: true },
    };
    expect(checkNewest(revert(), target(), [target(), newer])).toMatchObject({ reason: 'NotNewest' });
    expect(checkNewest(revert({ force: true }), target(), [target(), newer])).toBeUndefined();
    expect(
      checkNewest(revert(), newer, [{ ...target(), stub: { hasEffects: true } }, newer]),
    ).toBeUndefined();
    expect(checkNewest(revert(), target(), [{ ...newer, stub: { hasEffects: false } }])).toBeUndefined();
    expect(
      checkNewest(revert(), target(), [{ ...newer, status: { ...newer.status, revertedBy: { name: 'r' } } }]),
    ).toBeUndefined();
  });

  it('is refused by the name of the newest run after it, in whatever order they are known [F24]', () => {
    const run = (name: string, day: number): CachedExecution => ({
      ...target({ startTime: `2026-01-0${day}T00:00:00Z` }, name),
      stub: { hasEffects: true },
    });
    for (const runs of [
      [run('middle', 2), run('newest', 3)],
      [run('newest', 3), run('middle', 2)],
    ]) {
      expect(checkNewest(revert(), target(), [target(), ...runs])?.message).toContain('"newest"');
    }
    const row = { operationType: 'Execute', phase: 'Succeeded', startTime: '2026-01-04T00:00:00Z' };
    const deleted = { ...row, name: 'deleted', uid: 'deleted' };
    expect(checkNewest(revert(), target(), [run('middle', 2)], [deleted])?.message).toContain('"deleted"');
  });

  it('is not older than a successful run whose record was deleted, unless that was reverted or it is forced', () => {
    const row = { name: 'new', uid: 'new', operationType: 'Execute', phase: 'Succeeded' };
    const later = { ...row, startTime: '2026-01-02T00:00:00Z' };
    expect(checkNewest(revert(), target(), [target()], [later])).toMatchObject({
      reason: 'NotNewest',
      message: expect.stringContaining('"new"') as string,
    });
    expect(checkNewest(revert({ force: true }), target(), [target()], [later])).toBeUndefined();
    const back = { name: 'b', uid: 'b', operationType: 'Revert', phase: 'Succeeded', revertOf: 'new' };
    expect(checkNewest(revert(), target(), [target()], [back, later])).toBeUndefined();
    expect(checkNewest(revert(), target(), [target()], [{ ...back, phase: 'Failed' }, later])?.reason).toBe(
      'NotNewest',
    );
    const earlier = { ...row, startTime: '2025-12-31T00:00:00Z' };
    expect(checkNewest(revert(), target(), [target()], [earlier])).toBeUndefined();
    expect(checkNewest(revert(), target(), [target()], [{ ...later, phase: 'Cancelled' }])).toBeUndefined();
    // The execution's own object counts more.
    const present: CachedExecution = { ...target({}, 'new'), stub: { hasEffects: false } };
    expect(checkNewest(revert(), target(), [target(), present], [later])).toBeUndefined();
  });
});

describe('effects', () => {
  const stages = (...actions: { phase: string; effect?: 'Done' | 'None' | 'Unknown' }[]) => [
    {
      name: 's',
      phase: 'Failed',
      workflowExecutions: [
        {
          workflowRef: { name: 'w' },
          phase: 'Failed',
          actionStatuses: actions.map((action, index) => ({ name: `a${index}`, ...action })),
        },
      ],
    },
  ];

  it('are left by what succeeded and by what may have', () => {
    expect(hasEffects(stages({ phase: 'Succeeded' }))).toBe(true);
    expect(hasEffects(stages({ phase: 'Failed', effect: 'Unknown' }))).toBe(true);
    expect(hasEffects(stages({ phase: 'Failed', effect: 'None' }, { phase: 'Skipped' }))).toBe(false);
    expect(hasEffects(stages({ phase: 'Skipped', effect: 'Unknown' }))).toBe(true);
    expect(hasEffects(stages({ phase: 'Skipped', effect: 'Done' }))).toBe(true);
    expect(hasEffects(stages({ phase: 'Skipped', effect: 'None' }))).toBe(false);
    expect(hasEffects(stages({ phase: 'Succeeded' }), ['0/0/0'])).toBe(false);
    expect(hasEffects(undefined)).toBe(false);
  });
});
