/** Whatever several actions do to one object, their undo gives back what there was. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { createKubernetesResourceHandler } from '../../../activities/actions/objects/kubernetes-resource.js';
import { startLife } from '../../support/life.js';
import { THING } from './memory-api.js';
import { companyProperty, memoryBench, undoProperty } from './story.js';

const CASES = 800;
const BUSY = { timeout: 600_000 };

it(`[F6] ${CASES} sequences of actions on one object are undone to the last byte [S3.17]`, BUSY, async () => {
  const counts = { stories: 0, steps: 0 };
  await fc.assert(undoProperty(counts), { numRuns: CASES, seed: 6 });
  expect(counts.steps).toBeGreaterThan(CASES * 4);
});

it('[F6] what others write in the meantime is kept', BUSY, async () => {
  const checked = fc.assert(companyProperty, { numRuns: 300, seed: 6 });
  await expect(checked).resolves.toBeUndefined();
});

it('[F5] after 300 runs, all of them undone, an object has one entry an action [S3.46]', BUSY, async () => {
  const { bench } = memoryBench();
  const { kube, namespace } = bench;
  const key = { ...THING, name: 'thing', namespace };
  await kube.create(
    { ...THING, metadata: { name: 'thing', namespace }, data: { a: 'theirs', kept: '1' } },
    { fieldManager: 'kubectl' },
  );
  const handler = createKubernetesResourceHandler();
  const apply = (name: string, data: object) => {
    const manifest = JSON.stringify({ ...THING, metadata: { name: 'thing' }, data });
    const resource = { operation: 'Apply' as const, manifest };
    return startLife(bench, handler, { type: 'KubernetesResource', resource }, { name });
  };
  const managers = async (): Promise<string[]> =>
    ((await kube.get(key))?.metadata.managedFields ?? []).map(
      ({ manager, operation }) => `${manager} ${operation}`,
    );
  let most: string[] = [];
  for (let run = 0; run < 300; run += 1) {
    const lives = [apply('one', { a: `${run}`, b: '1' }), apply('two', { a: 'x', c: `${run}` })];
    for (const life of lives) {
      await life.capture();
      expect(await life.run()).toMatchObject({ kind: 'succeeded' });
    }
    most = await managers();
    for (const life of lives.reverse()) expect(await life.undo()).toMatchObject({ kind: 'succeeded' });
    expect((await kube.get(key))?.data).toEqual({ a: 'theirs', kept: '1' });
  }
  expect(most).toHaveLength(new Set(most).size);
  expect(most.length).toBeLessThanOrEqual(4);
  expect(most.filter((entry) => entry.endsWith('Apply'))).toHaveLength(2);
});
