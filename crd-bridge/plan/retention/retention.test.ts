import { describe, expect, it } from 'vitest';
import type { DRPlan, DRPlanExecutionSpec, DRPlanExecutionStatus } from '../../../api/plan/types.js';
import { planKeyOf, removable } from './retention.js';
import type { RetentionDefaults } from './retention.js';
import type { CachedExecution, ExecutionStub } from '../types.js';

interface Case {
  spec?: Partial<DRPlanExecutionSpec>;
  status?: Partial<DRPlanExecutionStatus>;
  stub?: Partial<ExecutionStub>;
  owner?: string;
}

const minute = (n: number): string => new Date(Date.UTC(2026, 0, 1, 0, n)).toISOString();
const NOW = Date.parse(minute(60));

/** The execution that began in a minute and ended in the next, as the cache keeps it: reverted unless said otherwise. */
const ended = (name: string, at: number, more: Case = {}): CachedExecution => ({
  metadata: {
    name,
    namespace: 'ns',
    uid: name,
    resourceVersion: '1',
    creationTimestamp: minute(at),
    ...(more.owner !== undefined && {
      annotations: {
        'dr.bkbcs.tencent.com/nested-in': JSON.stringify({
          parent: { name: more.owner, uid: more.owner },
          at: '0/0/0',
          plans: ['p'],
        }),
      },
      ownerReferences: [
        { apiVersion: 'v1', kind: 'DRPlanExecution', name: more.owner, uid: more.owner, controller: true },
      ],
    }),
  },
  spec: { planRef: 'p', operationType: 'Execute', ...more.spec },
  status: {
    phase: 'Succeeded',
    startTime: minute(at),
    completionTime: minute(at + 1),
    revertedBy: { name: 'back' },
    ...more.status,
  },
  stub: { hasEffects: true, ...more.stub },
});
const standing = (name: string, at: number, more: Case = {}): CachedExecution =>
  ended(name, at, { ...more, status: { revertedBy: undefined, ...more.status } });
const running = (name: string, more: Case = {}): CachedExecution => {
  const { stub: _, ...execution } = ended(name, 50, {
    ...more,
    status: { phase: 'Running', completionTime: undefined, revertedBy: undefined },
  });
  return execution;
};

function names(
  executions: readonly CachedExecution[],
  plan: { spec?: Partial<DRPlan['spec']>; status?: DRPlan['status'] } | undefined,
  defaults: RetentionDefaults = {},
): string[] {
  const object: DRPlan | undefined = plan && {
    metadata: { name: 'p', namespace: 'ns' },
    spec: { stages: [], ...plan.spec },
    ...(plan.status !== undefined && { status: plan.status }),
  };
  const view = {
    ofPlan: (key: string) => executions.filter((execution) => planKeyOf(execution) === key),
    nestedIn: (uid: string) =>
      executions.filter(({ metadata }) => metadata.ownerReferences?.some((owner) => owner.uid === uid)),
    plan: (key: string) => (key === 'ns/p' ? object : undefined),
  };
  return removable(view, 'ns/p', defaults, NOW).map(({ metadata }) => metadata.name);
}

const four = [ended('c', 3), ended('a', 1), ended('d', 4), ended('b', 2)];

describe('what is due', () => {
  it('is nothing unless somebody asks', () => {
    expect(names(four, {})).toEqual([]);
    expect(names(four, undefined)).toEqual([]);
  });

  it('is what is over the limit, oldest first', () => {
    expect(names(four, { spec: { historyLimit: 2 } })).toEqual(['a', 'b']);
    expect(names(four, { spec: { historyLimit: 0 } })).toEqual(['a', 'b', 'c', 'd']);
    expect(names(four, {}, { historyLimit: 3 })).toEqual(['a']);
    expect(names(four, { spec: { historyLimit: 4 } }, { historyLimit: 1 })).toEqual([]);
  });

  it('is what ended long enough ago: by its own word, by its plan, by the default', () => {
    // `b` ended in minute 3, 57 minutes ago.
    const minutes = (n: number): number => n * 60;
    expect(names(four, {}, { ttlMs: 57 * 60_000 })).toEqual(['a', 'b']);
    expect(names(four, { spec: { ttlSecondsAfterFinished: minutes(58) } }, { ttlMs: 0 })).toEqual(['a']);
    const own = [
      ended('short', 50, { spec: { ttlSecondsAfterFinished: minutes(9) } }),
      ended('long', 1, { spec: { ttlSecondsAfterFinished: minutes(100) } }),
    ];
    expect(names(own, { spec: { ttlSecondsAfterFinished: minutes(58) } })).toEqual(['short']);
    expect(names(own, undefined)).toEqual(['short']);
  });

  it('is not what has no end, or is on its way out', () => {
    const going = ended('going', 1);
    going.metadata.deletionTimestamp = minute(5);
    expect(
      names([going, ended('odd', 1, { status: { completionTime: undefined } })], {
        spec: { historyLimit: 0 },
      }),
    ).toEqual([]);
  });
});

describe('what is needed stays [S5.29]', () => {
  const none = { spec: { historyLimit: 0 } };

  it('the newest run that is not reverted, and not what it overlays', () => {
    expect(names([standing('old', 1), standing('new', 2)], none)).toEqual(['old']);
    expect(names([standing('old', 1), ended('undone', 2)], none)).toEqual(['undone']);
  });

  it('all that it builds on, back to the last run of the whole plan', () => {
    const chain = [
      standing('before', 1),
      standing('install', 2, { spec: { mode: 'Install' } }),
      standing('upgrade', 3, { spec: { mode: 'Upgrade' } }),
      standing('broken', 4, { status: { phase: 'Failed' } }),
      standing('harmless', 5, { status: { phase: 'Failed' }, stub: { hasEffects: false } }),
      standing('delete', 6, { spec: { mode: 'Delete' } }),
    ];
    expect(names(chain, none)).toEqual(['before', 'harmless']);
  });

  it('what the plan is said to be executed by', () => {
    const status = {
      phase: 'Executed',
      executedBy: { apiVersion: 'v1', kind: 'DRPlanExecution', name: 'old', uid: 'old' },
    };
    expect(
      names([standing('older', 1), standing('old', 2), standing('new', 3)], { ...none, status }),
    ).toEqual(['older']);
  });

  it('one whose revert has stopped half way', () => {
    const half = standing('half', 1, { stub: { isTouched: true } });
    const whole = standing('whole', 2, { stub: { isTouched: true, hasEffects: false } });
    expect(names([half, whole, standing('new', 3)], none)).toEqual(['whole']);
  });

  it('everything of a plan on which somebody runs, or is about to', () => {
    expect(names([...four, running('r')], none)).toEqual([]);
    const currentExecution = { apiVersion: 'v1', kind: 'DRPlanExecution', name: 'x', uid: 'x' };
    expect(names(four, { ...none, status: { currentExecution } })).toEqual([]);
  });

  it('one whose row in the history is open', () => {
    const row = { name: 'a', uid: 'a', operationType: 'Execute', phase: 'Running' };
    expect(names(four, { ...none, status: { executionHistory: [row] } })).toEqual(['b', 'c', 'd']);
  });

  it.each(['Declared', 'StopUnconfirmed', 'Foreign'] as const)('%s', (kept) => {
    expect(names([ended('a', 1, { stub: { kept } }), ended('b', 2)], none)).toEqual(['b']);
  });

  it('what is part of another execution goes with that, and keeps it while it is needed itself', () => {
    const part = (more: Case = {}) => ended('part', 1, { owner: 'a', ...more, spec: { planRef: 'q' } });
    expect(names([...four, part()], none)).toEqual(['a', 'b', 'c', 'd']);
    expect(names([...four, part({ status: { revertedBy: undefined } })], none)).toEqual(['b', 'c', 'd']);
    expect(names([...four, running('part', { owner: 'a', spec: { planRef: 'q' } })], none)).toEqual([
      'b',
      'c',
      'd',
    ]);
    // Of its own plan it is not removed alone.
    expect(names([ended('part', 1, { owner: 'gone' })], none)).toEqual([]);
  });
});

it('judges thousands of one plan in a moment', () => {
  const many = Array.from({ length: 5000 }, (_, index) => standing(`e${index}`, index / 100));
  const began = performance.now();
  expect(names(many, { spec: { historyLimit: 0 } })).toHaveLength(4999);
  expect(performance.now() - began).toBeLessThan(10_000);
});
