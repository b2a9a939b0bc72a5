import { describe, expect, it } from 'vitest';
import type { InterruptCause, OperationEnd, OperationResult } from './operation-result.js';
import { judgeApply, judgePlan } from './verdict.js';

const result = (over: Partial<OperationResult>): OperationResult => ({
  operation: 'x',
  kind: 'apply',
  runner: { hostId: 'h', bootId: 'b', pid: 1, startTime: '1' },
  end: { kind: 'engine', end: { kind: 'exited', code: 0 } },
  step: 'applying',
  diagnostics: [],
  moves: [],
  inDoubt: [],
  inDoubtCount: 0,
  leftProcesses: 0,
  ...over,
});
const exited = (code: number): OperationEnd => ({ kind: 'engine', end: { kind: 'exited', code } });
const killed = (byUs: boolean): OperationEnd => ({
  kind: 'engine',
  end: { kind: 'signalled', signal: 'SIGKILL', byUs },
});
const by = (cause: InterruptCause['by']): InterruptCause => ({ by: cause, at: '2026-01-01T00:00:00Z' });
const facts = { lineage: 'l', serial: 3, engineVersion: '1.11.4', bytes: 9 };
const whole = { kind: 'whole', digest: 'd', facts } as const;
const error = (summary: string) => ({ severity: 'error', summary, file: 'main.tf', line: 2 }) as const;

describe('an apply is judged by what was found [T8.7]', () => {
  it.each([
    ['exit 0', { state: whole }, { phase: 'applied' }],
    ['exit 0 of an empty plan, without a state', { state: { kind: 'none' } }, { phase: 'applied' }],
    [
      'exit 1',
      { end: exited(1), diagnostics: [error('Boom')] },
      { phase: 'failed', reason: 'ApplyFailed', message: 'main.tf:2: Boom' },
    ],
    [
      'exit 1 after a change',
      { end: exited(1), serialGrew: true },
      { phase: 'failed', reason: 'ApplyFailed', isPartial: true },
    ],
    [
      'exit 1, stale',
      { end: exited(1), diagnostics: [error('Saved plan is stale')] },
      { phase: 'failed', reason: 'StalePlan', hasNoEffect: true },
    ],
    [
      'exit 1, of another state',
      { end: exited(1), diagnostics: [error('Saved plan does not match the given state')] },
      { phase: 'failed', reason: 'StalePlan', hasNoEffect: true },
    ],
    [
      'exit 1, interrupted by request',
      { end: exited(1), interrupted: by('request'), serialGrew: true },
      { phase: 'cancelled', isPartial: true },
    ],
    [
      'exit 1, interrupted by applyTimeout',
      { end: exited(1), interrupted: by('timeout') },
      { phase: 'failed', reason: 'ApplyTimeout' },
    ],
    [
      'exit 1, interrupted from outside',
      { end: exited(1), interrupted: by('outside') },
      { phase: 'failed', reason: 'Interrupted' },
    ],
    ['exit 0 in spite of an interrupt', { interrupted: by('request'), state: whole }, { phase: 'applied' }],
    [
      'exit 0 with a state that is not whole',
      { state: { kind: 'torn', problem: 'it is empty' } },
      {
        phase: 'apply_unknown',
        reason: 'StateIncomplete',
        message: 'the engine left a state that is not whole: it is empty',
      },
    ],
    [
      'exit 1 with a state that lacks what was created',
      { end: exited(1), inDoubt: [{ address: 't.a', action: 'create', why: 'notInState' }], inDoubtCount: 1 },
      { phase: 'apply_unknown', reason: 'StateIncomplete', message: expect.stringContaining('create t.a') },
    ],
    [
      'a signal',
      { end: killed(true), interrupted: by('request') },
      { phase: 'apply_unknown', reason: 'EngineKilled' },
    ],
    ['a crash of the engine', { end: exited(11) }, { phase: 'apply_unknown', reason: 'EngineKilled' }],
    [
      'no runner, spawning there',
      { end: { kind: 'runnerLost', spawning: true } },
      { phase: 'apply_unknown', reason: 'RunnerLost' },
    ],
    [
      'no runner, folder out of sight',
      { end: { kind: 'runnerLost', spawning: 'unseen' } },
      { phase: 'apply_unknown', reason: 'RunnerLost' },
    ],
    [
      'no runner, no spawning',
      { end: { kind: 'runnerLost', spawning: false } },
      { phase: 'failed', reason: 'NotStarted', hasNoEffect: true },
    ],
    [
      'refused before it began',
      { end: { kind: 'refused', reason: 'StaleState', message: 'm' } },
      { phase: 'failed', reason: 'StaleState', message: 'm', hasNoEffect: true },
    ],
    [
      'cancelled before it began',
      { end: { kind: 'refused', reason: 'Cancelled', message: 'm' }, interrupted: by('revoked') },
      { phase: 'cancelled', hasNoEffect: true },
    ],
  ] as [string, Partial<OperationResult>, object][])('%s', (_, found, verdict) => {
    expect(judgeApply(result(found))).toMatchObject(verdict);
  });

  it('of several rows the worse one counts', () => {
    const found = { state: { kind: 'torn', problem: 'x' }, interrupted: by('request') } as const;
    expect(judgeApply(result({ ...found, end: exited(1) }))).toMatchObject({ reason: 'StateIncomplete' });
    expect(judgeApply(result({ ...found, end: killed(false) }))).toMatchObject({ reason: 'EngineKilled' });
  });
});

describe('a plan is judged by the exit code alone [T6.1]', () => {
  const plan = {
    hasChanges: true,
    ...{
      add: 0,
      change: 0,
      destroy: 0,
      resources: [],
      resourceCount: 0,
      outputs: ['o'],
      drifted: [],
      driftedCount: 0,
    },
  };
  it.each([
    ['exit 2 with outputs alone', { end: exited(2), plan }, { phase: 'planned', hasChanges: true }],
    [
      'exit 0',
      { end: exited(0), plan: { ...plan, hasChanges: false } },
      { phase: 'planned', hasChanges: false },
    ],
    [
      'exit 1',
      { end: exited(1), diagnostics: [error('Boom')] },
      { phase: 'failed', reason: 'PlanFailed', message: 'plan: main.tf:2: Boom' },
    ],
    [
      'exit 1 of init',
      { end: exited(1), step: 'init' },
      { phase: 'failed', reason: 'InitFailed', message: 'init: exit code 1' },
    ],
    [
      'over its time',
      { end: killed(true), interrupted: by('timeout') },
      { phase: 'failed', reason: 'PlanTimeout' },
    ],
    ['cancelled', { end: exited(1), interrupted: by('request') }, { phase: 'cancelled' }],
    ['cancelled, though it was made', { end: exited(2), interrupted: by('request') }, { phase: 'cancelled' }],
    [
      'interrupted from outside',
      { end: exited(1), interrupted: by('outside') },
      { phase: 'failed', reason: 'Interrupted' },
    ],
    [
      'killed by somebody',
      { end: killed(false) },
      { phase: 'failed', reason: 'PlanFailed', message: 'plan: it was ended by SIGKILL' },
    ],
    [
      'refused',
      { end: { kind: 'refused', reason: 'BackendConflict', message: 'm' } },
      { phase: 'failed', reason: 'BackendConflict' },
    ],
    ['without its runner', { end: { kind: 'runnerLost', spawning: false } }, { phase: 'lost' }],
  ] as [string, Partial<OperationResult>, object][])('%s', (_, found, verdict) => {
    expect(judgePlan(result({ kind: 'plan', step: 'planning', ...found }))).toMatchObject(verdict);
  });
});
