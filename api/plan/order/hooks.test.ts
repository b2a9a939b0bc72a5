import { describe, expect, it } from 'vitest';
import { HOOK_TYPES, hookOf, runsIn, sequenceOf, topologicalOrder, waitsOf } from './hooks.js';
import type { Ranked } from './hooks.js';

const item = (name: string, hook?: 'pre' | 'post', dependsOn?: string[]): Ranked => ({
  name,
  hook,
  dependsOn,
});

describe('hooks', () => {
  it('are taken apart; what is none is none', () => {
    expect(hookOf({ hookType: 'pre-install' })).toEqual({ position: 'pre', mode: 'Install' });
    expect(hookOf({ hookType: 'post-rollback' })).toEqual({ position: 'post', mode: 'Rollback' });
    for (const hookType of ['', 'test', 'pre-', 'Pre-Install', undefined])
      expect(hookOf({ hookType })).toBeUndefined();
  });

  it.each([
    ['Install', ['pre-install', 'post-install']],
    ['Upgrade', ['pre-upgrade', 'post-upgrade']],
    ['Delete', ['pre-delete', 'post-delete']],
    ['Rollback', ['pre-rollback', 'post-rollback']],
    [undefined, ['pre-install', 'post-install', 'pre-upgrade', 'post-upgrade']],
  ])('run in mode %s: %s [S1.19]', (mode, expected) => {
    const running = HOOK_TYPES.filter((hookType) => {
      const hook = hookOf({ hookType });
      return hook !== undefined && runsIn(hook, mode);
    });
    expect(running).toEqual(expected);
  });
});

describe('order', () => {
  it('of a list is pre hooks, the others, post hooks', () => {
    const list = [item('after', 'post'), item('a'), item('first', 'pre'), item('b'), item('second', 'pre')];
    expect(sequenceOf(list)).toEqual([2, 4, 1, 3, 0]);
    expect(waitsOf(list)).toEqual({ graph: false, needs: [[3], [4], [], [1], [2]] });
  });

  it('of a graph is what depends on what', () => {
    const list = [item('z', undefined, ['y']), item('y'), item('hook', 'post')];
    expect(waitsOf(list)).toEqual({ graph: true, needs: [[1], [], []] });
    expect(topologicalOrder(list)).toEqual([1, 2, 0]);
  });

  it('is told of a cycle too, which is reported elsewhere', () => {
    expect(topologicalOrder([item('a', undefined, ['b']), item('b', undefined, ['a'])])).toEqual([0, 1]);
  });
});
