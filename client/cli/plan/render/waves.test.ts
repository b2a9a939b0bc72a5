import { describe, expect, it } from 'vitest';
import { describeWaves } from './waves.js';

const graph = [
  { name: 'a' },
  { name: 'b' },
  { name: 'c', dependsOn: ['a', 'b'] },
  { name: 'd', dependsOn: ['a'] },
  { name: 'e', dependsOn: ['c', 'd'] },
];

describe('stages that could run together', () => {
  it('are those whose dependencies are all done [S4.4]', () => {
    expect(describeWaves(graph)).toBe('a + b; c + d');
  });

  it('come with what the plan makes of it', () => {
    expect(describeWaves(graph, 1)).toBe(
      'a + b; c + d (maxConcurrentStages is 1, so they run one after the other)',
    );
    expect(describeWaves(graph, 3)).toBe('a + b; c + d (at most 3 at once)');
  });

  it('are none in a list without dependencies', () => {
    expect(describeWaves([{ name: 'a' }, { name: 'b' }], 1)).toBeUndefined();
  });
});
