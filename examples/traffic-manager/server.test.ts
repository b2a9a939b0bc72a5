import { afterEach, expect, test } from 'vitest';
import { startTrafficManager } from './server.js';
import type { TrafficManager } from './server.js';

const open: TrafficManager[] = [];
const start = async (): Promise<TrafficManager> => {
  const manager = await startTrafficManager({ drainMs: 1000 });
  open.push(manager);
  return manager;
};
afterEach(async () => {
  await Promise.all(open.splice(0).map((manager) => manager.close()));
});

const put = (manager: TrafficManager, path: string, body: unknown, key?: string): Promise<Response> =>
  fetch(manager.url + path, {
    method: 'PUT',
    body: JSON.stringify(body),
    headers: { 'content-type': 'application/json', ...(key !== undefined && { 'idempotency-key': key }) },
  });

test('a request that is sent again with its key has its effect once', async () => {
  const manager = await start();
  await put(manager, '/sites/site-b/weight', { weight: 40 }, 'k1');
  await put(manager, '/sites/site-b/weight', { weight: 60 }, 'k2');
  const again = await put(manager, '/sites/site-b/weight', { weight: 40 }, 'k1');
  expect(again.headers.get('idempotency-replayed')).toBe('true');
  expect(await again.json()).toEqual({ name: 'site-b', weight: 40 });
  expect(manager.state().sites['site-b']?.weight).toBe(60);
  expect(manager.effects().duplicates).toEqual(['k1']);
  expect(manager.effects().effects.map(({ key, requests, applied }) => [key, requests, applied])).toEqual([
    ['k1', 2, 1],
    ['k2', 1, 1],
  ]);
});

test('a key cannot be used for another request', async () => {
  const manager = await start();
  await put(manager, '/maintenance', { enabled: true }, 'k1');
  expect((await put(manager, '/maintenance', { enabled: false }, 'k1')).status).toBe(422);
  expect(manager.state().maintenance).toBe(true);
});

test('a refused request leaves its key free, and requests without a key are counted apart', async () => {
  const manager = await start();
  expect((await put(manager, '/sites/site-b/weight', { weight: 101 }, 'k1')).status).toBe(400);
  expect((await put(manager, '/sites/nowhere/weight', { weight: 1 }, 'k1')).status).toBe(404);
  expect((await put(manager, '/sites/site-b/weight', { weight: 1 }, 'k1')).status).toBe(200);
  await put(manager, '/maintenance', { enabled: true });
  expect(manager.effects()).toMatchObject({ unkeyed: 1, duplicates: [] });
});

test('sessions of a site end some time after its weight went to 0', async () => {
  const manager = await start();
  await put(manager, '/sites/site-a/weight', { weight: 0 });
  expect((await fetch(`${manager.url}/sites/site-a/drained`)).status).toBe(503);
  await expect
    .poll(async () => (await fetch(`${manager.url}/sites/site-a/drained`)).status, { timeout: 20_000 })
    .toBe(200);
});

test('the URL asks for failures, before or after the effect', async () => {
  const manager = await start();
  const before = '/sites/site-b/weight?fail=503&times=1';
  expect((await put(manager, before, { weight: 5 }, 'k1')).status).toBe(503);
  expect(manager.effects().effects).toEqual([]);
  expect((await put(manager, before, { weight: 5 }, 'k1')).status).toBe(200);
  const lost = put(manager, '/sites/site-b/weight?fail=drop&when=after', { weight: 7 }, 'k2');
  await expect(lost).rejects.toThrow();
  expect(manager.state().sites['site-b']?.weight).toBe(7);
});

test('a client that goes away during the delay leaves no effect', async () => {
  const manager = await start();
  const request = fetch(`${manager.url}/maintenance?delay=200ms`, {
    method: 'PUT',
    body: '{"enabled":true}',
    signal: AbortSignal.timeout(50),
  });
  await expect(request).rejects.toThrow();
  await new Promise((resolve) => setTimeout(resolve, 250));
  expect(manager.state().maintenance).toBe(false);
});
