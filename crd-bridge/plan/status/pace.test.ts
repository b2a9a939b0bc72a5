import { expect, it } from 'vitest';
import type { Change } from '../../../kube/informer.js';
import { createPace } from './pace.js';
import type { CachedExecution } from '../types.js';

function pace() {
  let handler: (change: Change<CachedExecution>) => void = () => undefined;
  const now = createPace(
    { onChange: (given) => void (handler = given) },
    { beginMs: 1000, stepsPerSecond: 25 },
  );
  const change = (kind: 'set' | 'gone', uid: number, status?: object): void => {
    handler({
      kind,
      object: { metadata: { name: 'x', uid: String(uid) }, status },
    } as Change<CachedExecution>);
  };
  const live = (count: number): void => {
    for (let uid = 0; uid < count; uid += 1) change('set', uid, { phase: 'Running', temporal: {} });
  };
  return { now, change, live };
}

it('lets the first change of a few runs be told at once [F14] [S6.6]', () => {
  const { now, live } = pace();
  expect(now()).toEqual({ beginMs: 400, intervalMs: 0 });
  live(10);
  expect(now()).toEqual({ beginMs: 400, intervalMs: 0 });
});

it('lets some runs tell everything as it changes', () => {
  const { now, live } = pace();
  live(11);
  expect(now()).toEqual({ beginMs: 1000, intervalMs: 0 });
  live(30);
  expect(now()).toEqual({ beginMs: 1000, intervalMs: 0 });
});

it.each([
  [50, { beginMs: 1800, intervalMs: 800 }],
  [100, { beginMs: 3800, intervalMs: 2800 }],
  [5000, { beginMs: 5000, intervalMs: 5000 }],
])('slows %i live runs down, but never beyond 5 s [S6.6]', (count, expected) => {
  const { now, live } = pace();
  live(count);
  expect(now()).toEqual(expected);
});

it('counts what has begun and not ended', () => {
  const { now, change, live } = pace();
  live(50);
  change('set', 50, { phase: 'Pending' });
  for (let uid = 0; uid < 10; uid += 1) change('set', uid, { phase: 'Succeeded', temporal: {} });
  for (let uid = 10; uid < 15; uid += 1) change('gone', uid, { phase: 'Running', temporal: {} });
  expect(now().intervalMs).toBe(200);
});
