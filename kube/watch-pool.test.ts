import { AsyncLocalStorage } from 'node:async_hooks';
import { describe, expect, it } from 'vitest';
import type { KubeClient } from './client.js';
import { KubeError } from './error.js';
import type { KubeObject } from './object.js';
import { createWatchPool } from './watch-pool.js';

type Event = { type: string; object: KubeObject };

/** An API server with ConfigMaps, which counts its watches. */
function setup(options: { namedOnly?: boolean } = {}) {
  const objects = new Map<string, KubeObject>();
  const watches = new Set<{ name: string | undefined; push: (event: Event) => void }>();
  const fieldName = (selector: string | undefined): string | undefined => selector?.split('=')[1];
  const kube = {
    server: 'https://here',
    list: (_: unknown, { fieldSelector }: { fieldSelector?: string }) => {
      const name = fieldName(fieldSelector);
      if (options.namedOnly === true && name === undefined)
        return Promise.reject(new KubeError('no', { code: 403, reason: 'Forbidden' }));
      const items = [...objects.values()].filter(
        ({ metadata }) => name === undefined || metadata.name === name,
      );
      return Promise.resolve({ items, metadata: { resourceVersion: '1' } });
    },
    async *watch(_: unknown, { fieldSelector, signal }: { fieldSelector?: string; signal: AbortSignal }) {
      const queue: Event[] = [];
      let wake = (): void => undefined;
      const entry = {
        name: fieldName(fieldSelector),
        push: (event: Event) => {
          queue.push(event);
          wake();
        },
      };
      watches.add(entry);
      signal.addEventListener('abort', () => wake());
      try {
        while (!signal.aborted) {
          yield* queue.splice(0);
          await new Promise<void>((resolve) => {
            wake = resolve;
            if (signal.aborted || queue.length > 0) resolve();
          });
        }
      } finally {
        watches.delete(entry);
      }
    },
  } as unknown as KubeClient;
  const put = (name: string): void => {
    const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace: 'ns', uid: name } };
    objects.set(name, object);
    for (const watch of watches)
      if (watch.name === undefined || watch.name === name) watch.push({ type: 'ADDED', object });
  };
  const key = (name: string) => ({ apiVersion: 'v1', kind: 'ConfigMap', namespace: 'ns', name });
  return { kube, put, key, watches };
}

const exists = (object: KubeObject | undefined): string | undefined => object?.metadata.name;
const settled = () => new Promise((resolve) => setTimeout(resolve, 20));

describe('waits for objects of a kind in a namespace [F10]', () => {
  it.each([
    ['share a watch', {}, 5],
    ['keep one each where all of them may not be watched', { namedOnly: true }, 100],
  ])('%s, and each hears of its own object', async (_, options, most) => {
    const { kube, put, key, watches } = setup(options);
    const pool = createWatchPool();
    const names = Array.from({ length: 100 }, (__, index) => `c${index}`);
    const waits = names.map((name) =>
      // Each wait is an attempt, and has a signal of its own.
      pool.until({ kube, id: 'me' }, key(name), exists, {
        signal: new AbortController().signal,
        timeoutMs: 5_000,
      }),
    );
    await settled();
    expect(watches.size).toBe(most);
    names.forEach(put);
    expect(await Promise.all(waits)).toEqual(names);
    await settled();
    expect(watches.size).toBe(0);
  });

  it('share a watch that is no part of what the first of them belongs to, such as its trace', async () => {
    const { kube, put, key } = setup();
    const storage = new AsyncLocalStorage<string>();
    const lists: (string | undefined)[] = [];
    const watched: KubeClient = Object.assign(Object.create(kube) as KubeClient, {
      list: (...args: Parameters<KubeClient['list']>) => {
        lists.push(storage.getStore());
        return kube.list(...args);
      },
    });
    const pool = createWatchPool();
    const names = ['a', 'b', 'c', 'd', 'e'];
    const waits = storage.run('a run', () =>
      names.map((name) =>
        pool.until({ kube: watched, id: 'me' }, key(name), exists, {
          signal: new AbortController().signal,
          timeoutMs: 5_000,
        }),
      ),
    );
    await settled();
    names.forEach(put);
    await Promise.all(waits);
    // Four of their own, and the shared one.
    expect(lists).toEqual(['a run', 'a run', 'a run', 'a run', undefined]);
  });

  it('of two owners never share one', async () => {
    const { kube, key, watches } = setup();
    const pool = createWatchPool();
    const stops = Array.from({ length: 20 }, () => new AbortController());
    const waits = stops.map(({ signal }, index) =>
      pool
        .until({ kube, id: index % 2 === 0 ? 'me' : 'you' }, key(`c${index}`), exists, {
          signal,
          timeoutMs: 5_000,
        })
        .catch((error: unknown) => error),
    );
    await settled();
    expect(watches.size).toBe(10);
    for (const stop of stops) stop.abort(new Error('over'));
    expect(await Promise.all(waits)).toEqual(Array.from({ length: 20 }, () => new Error('over')));
  });

  it('end without an answer when their time is up', async () => {
    const { kube, key } = setup();
    const pool = createWatchPool();
    const waits = Array.from({ length: 8 }, (_, index) =>
      pool.until({ kube, id: 'me' }, key(`c${index}`), exists, {
        signal: new AbortController().signal,
        timeoutMs: 30,
      }),
    );
    expect(await Promise.all(waits)).toEqual(Array.from({ length: 8 }, () => undefined));
  });
});
