import { expect, it } from 'vitest';
import type { KubeClient, KubeList, ListOptions } from './client.js';
import { createInformer } from './informer.js';
import type { Cacheable } from './informer.js';

const configMap = (name: string, resourceVersion: string): Cacheable => ({
  metadata: { namespace: 'shop', name, uid: `uid-${name}`, resourceVersion },
});

it('[F25] a check finds that the server was set back, though it has gone past the version of before [S6.19]', async () => {
  // The watch was opened again when the restored server had counted on: it tells nothing of what was undone.
  const server = { version: '120', items: [configMap('undone', '110'), configMap('same', '50')] };
  const kube = {
    list: (_type: unknown, _options: ListOptions): Promise<KubeList<Cacheable>> =>
      Promise.resolve({ metadata: { resourceVersion: server.version }, items: [...server.items] } as never),
    get: (): Promise<undefined> => Promise.resolve(undefined),
    // oxlint-disable-next-line require-yield
    async *watch(_type: unknown, { signal }: { signal: AbortSignal }) {
      await new Promise((end) => signal.addEventListener('abort', end, { once: true }));
    },
  } as unknown as KubeClient;
  const repaired: string[] = [];
  const informer = createInformer({
    kube,
    apiVersion: 'v1',
    kind: 'ConfigMap',
    check: { everyMs: 30, graceMs: 5, onRepair: (objects) => repaired.push(...objects) },
  });
  const ending = new AbortController();
  const running = informer.run(ending.signal);
  await informer.whenSynced();
  Object.assign(server, { version: '130', items: [configMap('undone', '90'), configMap('same', '50')] });
  await expect.poll(() => informer.get('shop', 'undone')?.metadata.resourceVersion).toBe('90');
  expect(repaired).toEqual(['shop/undone']);
  // Versions count again.
  informer.learn(configMap('undone', '80'));
  expect(informer.get('shop', 'undone')?.metadata.resourceVersion).toBe('90');
  ending.abort();
  await running;
});
