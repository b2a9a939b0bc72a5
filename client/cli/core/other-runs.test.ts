import { expect, it } from 'vitest';
import { findOtherRuns } from './other-runs.js';

it('finds runs of other clusters by their ids, and neither its own nor what is no run of a plan', async () => {
  const ids = [
    'dr/c0ffee00/shop/mine/11111111',
    'dr/bbbbbbbb/shop/second/22222222',
    'dr/aaaaaaaa/shop/one/33333333',
    'dr/bbbbbbbb/shop/first/44444444',
    'dr/aaaaaaaa/shop/one/33333333/s0',
    'drplan',
  ];
  async function* listOpen() {
    await Promise.resolve();
    for (const workflowId of ids) yield { workflowId, memo: undefined };
  }
  expect(await findOtherRuns({ listOpen }, 'c0ffee00-0000-4000-8000-000000000000')).toEqual([
    { cluster: 'aaaaaaaa', workflowIds: ['dr/aaaaaaaa/shop/one/33333333'] },
    {
      cluster: 'bbbbbbbb',
      workflowIds: ['dr/bbbbbbbb/shop/first/44444444', 'dr/bbbbbbbb/shop/second/22222222'],
    },
  ]);
});
