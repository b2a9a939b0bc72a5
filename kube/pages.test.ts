import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { KubeClient, ListOptions } from './client.js';
import { KubeError } from './error.js';
import { listPages, nextLimit } from './pages.js';

const MIB = 1024 * 1024;
const TYPE = { apiVersion: 'v1', kind: 'Thing' };

/** A server of objects of these sizes, and what was asked of it. */
function server(sizes: readonly number[]) {
  const asked: ListOptions[] = [];
  const pages: number[] = [];
  const kube = {
    list: (_type: object, options: ListOptions) => {
      asked.push(options);
      const from = Number(options.continue ?? 0);
      const items = sizes.slice(from, from + (options.limit ?? sizes.length));
      const bytes = items.reduce((sum, size) => sum + size, 0);
      if (bytes > (options.maxBytes ?? Number.POSITIVE_INFINITY))
        return Promise.reject(new KubeError('large', { code: 0, reason: 'AnswerTooLarge' }));
      pages.push(bytes);
      const end = from + items.length;
      const more = end < sizes.length ? { continue: String(end) } : {};
      return Promise.resolve({ metadata: { resourceVersion: '7', ...more }, items, bytes });
    },
  } as unknown as KubeClient;
  return { kube, asked, pages };
}

async function all(kube: KubeClient, options?: ListOptions): Promise<number[]> {
  const items: number[] = [];
  for await (const page of listPages<number>(kube, TYPE, options)) items.push(...page.items);
  return items;
}

it('[F4] lists all there is, no page of large objects above some MiB, and small ones in large pages [S6.16]', async () => {
  const large = server(Array.from({ length: 100 }, () => 0.8 * MIB));
  expect(await all(large.kube)).toHaveLength(100);
  expect(Math.max(...large.pages)).toBeLessThanOrEqual(8 * MIB);

  const small = server(Array.from({ length: 5000 }, () => 500));
  expect(await all(small.kube)).toHaveLength(5000);
  expect(small.pages.length).toBeLessThan(15);
});

it('[F4] asks again for parts of a page that turns out to be too large, and for one object whatever its size', async () => {
  const mixed = server(Array.from({ length: 1000 }, (_, index) => (index % 200 < 150 ? 2000 : MIB)));
  expect(await all(mixed.kube)).toHaveLength(1000);
  expect(Math.max(...mixed.pages)).toBeLessThanOrEqual(8 * MIB);
  const huge = server([1000, 20 * MIB, 30 * MIB, 1000]);
  expect(await all(huge.kube)).toEqual([1000, 20 * MIB, 30 * MIB, 1000]);
});

it('[F4] lists everything once and in order, whatever the sizes', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.oneof(fc.integer({ min: 1, max: 5000 }), fc.integer({ min: 1, max: 20 * MIB })), {
        maxLength: 600,
      }),
      async (sizes) => {
        const { kube, asked, pages } = server(sizes);
        expect(await all(kube)).toEqual(sizes);
        expect(asked.every(({ limit = 0 }) => limit >= 1 && limit <= 500)).toBe(true);
        expect(pages.every((bytes) => bytes <= 8 * MIB || sizes.includes(bytes))).toBe(true);
      },
    ),
  );
});

it('gives the version only to the first page, and the selection to all', async () => {
  const { kube, asked } = server(Array.from({ length: 40 }, () => 100));
  await all(kube, { labelSelector: 'a=b', resourceVersion: '5', resourceVersionMatch: 'NotOlderThan' });
  expect(asked[0]).toMatchObject({ resourceVersion: '5', labelSelector: 'a=b' });
  expect(asked[1]).toMatchObject({ continue: '16', labelSelector: 'a=b' });
  expect(asked[1]).not.toHaveProperty('resourceVersion');
});

it.each([
  [16, { count: 16, bytes: 16 * MIB }, 2],
  [16, { count: 16, bytes: 64 * MIB }, 1],
  [16, { count: 16, bytes: 160 }, 64],
  [400, { count: 400, bytes: 400 }, 500],
  [16, { count: 0, bytes: 80 }, 16],
  [16, { count: 16 }, 16],
])('after %i asked and %o got it asks for %i', (limit, page, next) => {
  expect(nextLimit(limit, page)).toBe(next);
});
