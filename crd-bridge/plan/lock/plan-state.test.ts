import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isTerminalExecution } from '../../../api/core/phase.js';
import type { DRPlanStatus } from '../../../api/plan/types.js';
import { recordRow } from './history.js';
import { releaseHolder } from './lock-holder.js';
import { abandonOnPlan, endOnPlan, freeLock, takeLock, wasExecuted } from './plan-state.js';
import type { ExecutionIdentity } from './plan-state.js';

const execution = (
  uid: string,
  operation: 'Execute' | 'Revert' = 'Execute',
  target = '1',
): ExecutionIdentity => ({
  name: `run-${uid}`,
  namespace: 'ns',
  uid,
  operation,
  ...(operation === 'Revert' && { target: { name: `run-${target}`, uid: target } }),
});
const at = '2026-01-01T00:00:00Z';
const end = (phase: 'Succeeded' | 'Failed' | 'Cancelled') => ({ phase, startTime: at, completionTime: at });

function lock(status: DRPlanStatus | undefined, who: ExecutionIdentity): DRPlanStatus {
  const taken = takeLock(status, who, at);
  if (taken === undefined) throw new Error('busy');
  return taken;
}

describe('the lock', () => {
  it('is held by one, taken again by the same, and refused to others', () => {
    const held = lock({ phase: 'Ready' }, execution('1'));
    expect(held.currentExecution).toMatchObject({ name: 'run-1', uid: '1' });
    expect(held.executionHistory).toMatchObject([{ uid: '1', phase: 'Running' }]);
    expect(takeLock(held, execution('1'), at)).toEqual(held);
    expect(takeLock(held, execution('2'), at)).toBeUndefined();
    // Same name, another object.
    expect(takeLock(held, { ...execution('2'), name: 'run-1' }, at)).toBeUndefined();
  });

  it('is freed by its holder only [S5.4] [S5.21]', () => {
    const held = lock({ phase: 'Ready' }, execution('1'));
    expect(endOnPlan(held, execution('2'), end('Succeeded'))).toEqual(held);
    expect(freeLock(held, '2')).toEqual(held);
    expect(freeLock(held, '1').currentExecution).toBeUndefined();
    expect(endOnPlan(held, execution('1'), end('Failed')).currentExecution).toBeUndefined();
  });
});

describe('the end on a plan', () => {
  it('makes it Executed, and Ready again by a revert; failure and cancel leave the phase [S1.17]', () => {
    let status = endOnPlan(lock({ phase: 'Ready' }, execution('1')), execution('1'), end('Succeeded'));
    expect(status).toMatchObject({ phase: 'Executed', lastExecutionRef: 'run-1', lastExecutionTime: at });
    status = endOnPlan(lock(status, execution('2', 'Revert')), execution('2', 'Revert'), end('Failed'));
    expect(status).toMatchObject({ phase: 'Executed', lastExecutionRef: 'run-1' });
    status = endOnPlan(lock(status, execution('3', 'Revert')), execution('3', 'Revert'), end('Succeeded'));
    expect(status).toMatchObject({ phase: 'Ready', lastExecutionRef: 'run-3' });
    expect(wasExecuted(status)).toBe(false);
  });

  it('stays Executed when another run than the newest successful one is reverted', () => {
    const run = (before: DRPlanStatus | undefined, who: ExecutionIdentity, phase: 'Succeeded' | 'Failed') =>
      endOnPlan(lock(before, who), who, end(phase));
    const first = run({ phase: 'Ready' }, execution('1'), 'Succeeded');
    expect(first.executedBy?.uid).toBe('1');
    // A failed rerun is undone; the first run is still in effect.
    const failed = run(first, execution('2'), 'Failed');
    const undone = run(failed, execution('3', 'Revert', '2'), 'Succeeded');
    expect(undone).toMatchObject({ phase: 'Executed', executedBy: { uid: '1' } });
    expect(wasExecuted(undone)).toBe(true);
    // However many rows have gone by.
    let many = undone;
    for (let n = 10; n < 25; n += 1) many = run(many, execution(String(n), 'Revert', '2'), 'Failed');
    const back = run(many, execution('30', 'Revert', '1'), 'Succeeded');
    expect(back.phase).toBe('Ready');
    expect(back.executedBy).toBeUndefined();
    expect(back.executionHistory?.[0]).toMatchObject({ uid: '30', revertOf: '1' });
  });

  it('is Ready again after a deletion, and Executed by what was there before when that is reverted [S1.19]', () => {
    const run = (before: DRPlanStatus | undefined, who: ExecutionIdentity) =>
      endOnPlan(lock(before, who), who, end('Succeeded'));
    const installed = run({ phase: 'Ready' }, { ...execution('1'), mode: 'Install' });
    const upgraded = run(installed, { ...execution('2'), mode: 'Upgrade' });
    expect(upgraded).toMatchObject({ phase: 'Executed', executedBy: { uid: '2' } });
    const deleted = run(upgraded, { ...execution('3'), mode: 'Delete' });
    expect(deleted).toMatchObject({ phase: 'Ready', lastExecutionRef: 'run-3' });
    expect(deleted.executedBy).toBeUndefined();
    expect(deleted.executionHistory?.map((row) => row.mode)).toEqual(['Delete', 'Upgrade', 'Install']);
    const restored = run(deleted, execution('4', 'Revert', '3'));
    expect(restored).toMatchObject({ phase: 'Executed', executedBy: { uid: '2', name: 'run-2' } });
    expect(restored.conditions).toMatchObject([{ type: 'Executed', status: 'True', reason: 'Restored' }]);
    expect(run(restored, execution('5', 'Revert', '2')).phase).toBe('Ready');
  });

  it('knows the target from its row when only its name is left', () => {
    const first = endOnPlan(lock({ phase: 'Ready' }, execution('1')), execution('1'), end('Succeeded'));
    const locked = lock(first, execution('2', 'Revert', '1'));
    const nameOnly = { ...execution('2', 'Revert'), target: { name: 'another' } };
    expect(endOnPlan(locked, nameOnly, end('Succeeded')).phase).toBe('Ready');
  });

  it('is remembered through Invalid', () => {
    const status = endOnPlan(lock({ phase: 'Invalid' }, execution('1')), execution('1'), end('Succeeded'));
    expect(status.phase).toBe('Invalid');
    expect(wasExecuted(status)).toBe(true);
  });

  it('is read from statuses of the original controller', () => {
    expect(wasExecuted({ phase: 'Executed' })).toBe(true);
    const row = { name: 'a', operationType: 'Execute', phase: 'Succeeded' };
    expect(wasExecuted({ phase: 'Invalid', executionHistory: [{ ...row, phase: 'Failed' }, row] })).toBe(
      true,
    );
    expect(
      wasExecuted({ phase: 'Invalid', executionHistory: [{ ...row, operationType: 'Revert' }, row] }),
    ).toBe(false);
    expect(wasExecuted(undefined)).toBe(false);
  });

  it('seen again, or late, never changes what a newer execution wrote [S5.24]', () => {
    const first = endOnPlan(lock({ phase: 'Ready' }, execution('1')), execution('1'), end('Succeeded'));
    const second = lock(first, execution('2', 'Revert'));
    expect(endOnPlan(second, execution('1'), end('Succeeded'))).toEqual(second);
    const third = endOnPlan(second, execution('2', 'Revert'), end('Succeeded'));
    expect(endOnPlan(third, execution('1'), end('Succeeded'))).toEqual(third);
  });

  it('still closes its row when the lock was taken away meanwhile', () => {
    const swept = freeLock(lock({ phase: 'Ready' }, execution('1')), '1');
    const status = endOnPlan(swept, execution('1'), end('Cancelled'));
    expect(status.executionHistory).toMatchObject([{ uid: '1', phase: 'Cancelled' }]);
    expect(status.phase).toBe('Ready');
  });
});

describe('what the original controller has left on a plan', () => {
  const row = { name: 'run-1', namespace: 'ns', operationType: 'Execute', startTime: at };
  const held = (phase: string): DRPlanStatus => ({
    phase: 'Ready',
    currentExecution: { name: 'run-1', namespace: 'ns' },
    executionHistory: [{ ...row, phase }],
  });

  it('is taken off with an abandoned execution: the lock, and its open row [S5.14]', () => {
    expect(abandonOnPlan(held('Running'), execution('1'), end('Failed'))).toEqual({
      phase: 'Ready',
      executionHistory: [{ ...row, uid: '1', phase: 'Failed', completionTime: at }],
    });
    expect(abandonOnPlan({ phase: 'Ready' }, execution('1'), end('Failed'))).toBeUndefined();
    const taken = lock({ ...held('Running'), currentExecution: undefined }, execution('2'));
    expect(abandonOnPlan(taken, execution('1'), end('Failed'))?.currentExecution?.uid).toBe('2');
  });

  it('keeps one row of an execution that it has ended, without a uid, and we free', () => {
    for (const phase of ['Running', 'Succeeded']) {
      expect(endOnPlan(held(phase), execution('1'), end('Succeeded'))).toMatchObject({
        phase: 'Executed',
        executionHistory: [{ uid: '1', phase: 'Succeeded' }],
      });
    }
  });

  it('is freed with its row where the execution is gone', () => {
    const over = { kind: 'over', why: 'gone' } as const;
    const freed = releaseHolder(held('Running'), { name: 'run-1', namespace: 'ns' }, over);
    expect(freed.currentExecution).toBeUndefined();
    expect(freed.executionHistory).toMatchObject([{ name: 'run-1', phase: 'Cancelled' }]);
  });
});

describe('history', () => {
  const row = (uid: string, phase: string) => ({ name: `run-${uid}`, uid, operationType: 'Execute', phase });

  it('keeps ten rows, newest first, one per uid, and never opens one again [S5.23]', () => {
    fc.assert(
      fc.property(
        fc.array(
          fc.record({
            uid: fc.nat({ max: 14 }).map(String),
            phase: fc.constantFrom('Running', 'Succeeded', 'Failed'),
          }),
          { maxLength: 40 },
        ),
        (writes) => {
          let rows = recordRow(undefined, row('first', 'Running'));
          for (const write of writes) {
            const before = rows.find((known) => known.uid === write.uid);
            rows = recordRow(rows, row(write.uid, write.phase));
            const after = rows.find((known) => known.uid === write.uid);
            if (before !== undefined && isTerminalExecution(before.phase)) {
              expect(isTerminalExecution(after?.phase)).toBe(true);
            }
            if (before === undefined) expect(rows[0]?.uid).toBe(write.uid);
          }
          expect(rows.length).toBeLessThanOrEqual(10);
          expect(new Set(rows.map((known) => known.uid)).size).toBe(rows.length);
        },
      ),
    );
  });

  it('tells two executions of one name apart, and keeps a row that the original wrote without uid [S5.23]', () => {
    const old = { name: 'run', operationType: 'Execute', phase: 'Succeeded' };
    const rows = recordRow(recordRow([old], { ...row('1', 'Running'), name: 'run' }), {
      ...row('2', 'Running'),
      name: 'run',
    });
    expect(rows.map((known) => known.uid)).toEqual(['2', '1', undefined]);
  });
});
