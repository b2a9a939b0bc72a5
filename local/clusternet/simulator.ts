import { setTimeout as sleep } from 'node:timers/promises';
import { expectOk, message, type KubeApi, type KubeObject } from '../kube-api.js';
import { createDeployer, type Deployer } from './deploy.js';
import { reconcile } from './reconcile.js';
import { resources, type Resource, type World, type Write } from './world.js';

/** What the simulator needs. */
export interface SimulatorOptions {
  api: KubeApi;
  log: (line: string) => void;
  signal: AbortSignal;
  now?: () => Date;
}

/** Events that come together are handled in one pass. */
const settleMs = 30;
/** A pass at least this often, for heartbeats and for writes that failed. */
const idlePassMs = 5000;
/** A pass this often while something is to happen later. */
const waitingPassMs = 250;

/** Runs the simulator until the signal aborts. */
export async function runSimulator(options: SimulatorOptions): Promise<void> {
  const { api, log, signal, now = () => new Date() } = options;
  const caches = new Map<Resource, Map<string, KubeObject>>();
  let wake: () => void = () => undefined;
  const followers = (Object.keys(resources) as Resource[]).map((resource) =>
    follow({ api, log, signal, resource, onChange: (cache) => (caches.set(resource, cache), wake()) }),
  );
  const warned = new Set<string>();
  const deployer = createDeployer({ api, log, now });
  while (!signal.aborted) {
    const woken = new Promise<void>((resolve) => (wake = resolve));
    let isWaiting = false;
    if (caches.size === followers.length) {
      const world = {
        ...Object.fromEntries([...caches].map(([resource, cache]) => [resource, [...cache.values()]])),
        handled: deployer.handled,
      } as unknown as World;
      isWaiting = world.descriptions.some(({ metadata }) => metadata.deletionTimestamp !== undefined);
      for (const write of reconcile(world, now())) {
        isWaiting = (await perform({ api, log, write, warned, deployer })) === 'later' || isWaiting;
      }
    }
    const idle = new AbortController();
    const stop = (): void => idle.abort();
    signal.addEventListener('abort', stop, { once: true });
    if (signal.aborted) stop();
    const pause = isWaiting ? waitingPassMs : idlePassMs;
    await Promise.race([woken, sleep(pause, undefined, { signal: idle.signal }).catch(() => undefined)]);
    signal.removeEventListener('abort', stop);
    idle.abort();
    await sleep(settleMs);
  }
  await Promise.all([...followers, deployer.close()]);
}

/** Keeps a copy of all objects of one resource, by list and watch. */
async function follow(options: {
  api: KubeApi;
  log: (line: string) => void;
  signal: AbortSignal;
  resource: Resource;
  onChange: (cache: Map<string, KubeObject>) => void;
}): Promise<void> {
  const { api, log, signal, resource, onChange } = options;
  const { group, kind } = resources[resource];
  const path = `/apis/${group}/${resource}`;
  while (!signal.aborted) {
    try {
      const list = expectOk(await api.request('GET', path), `listing ${resource}`) as {
        metadata: { resourceVersion: string };
        items: KubeObject[];
      };
      // Items of a list come without their kind.
      const cache = new Map<string, KubeObject>(
        list.items.map((o) => [o.metadata.uid!, { ...o, apiVersion: group, kind }]),
      );
      onChange(cache);
      const query = `watch=true&resourceVersion=${list.metadata.resourceVersion}&allowWatchBookmarks=true&timeoutSeconds=3600`;
      for await (const line of api.stream(`${path}?${query}`, signal)) {
        const event = line as { type: string; object: KubeObject };
        if (event.type === 'BOOKMARK') continue;
        if (event.type === 'ERROR') break;
        if (event.type === 'DELETED') cache.delete(event.object.metadata.uid!);
        else cache.set(event.object.metadata.uid!, event.object);
        onChange(cache);
      }
    } catch (error) {
      if (signal.aborted) return;
      log(`${resource}: ${(error as Error).message}; looking again in 1 s`);
      await sleep(1000, undefined, { signal }).catch(() => undefined);
    }
  }
}

async function perform(options: {
  api: KubeApi;
  log: (line: string) => void;
  write: Write;
  warned: Set<string>;
  deployer: Deployer;
}): Promise<'done' | 'later'> {
  const { api, log, write, warned, deployer } = options;
  try {
    if (write.op === 'warn') {
      await warn(api, write, warned);
      return 'done';
    }
    if (write.op === 'deploy' || write.op === 'undeploy') {
      const result = await deployer[write.op](write.description, write.cluster);
      for (const { reason, message } of result.warnings) {
        await warn(api, { op: 'warn', object: write.description, reason, message }, warned);
      }
      return result.later ? 'later' : 'done';
    }
    const name = write.op === 'create' ? write.object.metadata.name : write.name;
    const namespace = write.op === 'create' ? write.object.metadata.namespace : write.namespace;
    const { group, namespaced } = resources[write.resource];
    const folder = `/apis/${group}${namespaced ? `/namespaces/${namespace}` : ''}/${write.resource}`;
    const response = await send(api, write, folder);
    // Lost a race against someone else's write: the next pass sees what came of it.
    const expected = response.status < 300 || [404, 409].includes(response.status);
    const outcome = response.status < 300 ? '' : `: ${response.status} ${message(response.body)}`;
    const subresource =
      write.op === 'patch' && write.subresource !== undefined ? `/${write.subresource}` : '';
    log(
      `${expected ? '' : 'FAILED '}${write.op} ${write.resource}${subresource} ${namespace ?? ''}/${name}${outcome}`,
    );
  } catch (error) {
    log(`${write.op}: ${(error as Error).message}`);
  }
  return 'done';
}

async function send(
  api: KubeApi,
  write: Exclude<Write, { op: 'warn' | 'deploy' | 'undeploy' }>,
  folder: string,
): Promise<{ status: number; body: unknown }> {
  switch (write.op) {
    case 'create':
      return api.request('POST', folder, { body: write.object });
    case 'patch': {
      const suffix = write.subresource === undefined ? '' : `/${write.subresource}`;
      return api.request('PATCH', `${folder}/${write.name}${suffix}`, {
        body: write.body,
        contentType: 'application/merge-patch+json',
      });
    }
    case 'delete':
      return api.request('DELETE', `${folder}/${write.name}`, {
        body: { kind: 'DeleteOptions', apiVersion: 'v1', preconditions: { uid: write.uid } },
      });
  }
}

async function warn(api: KubeApi, write: Extract<Write, { op: 'warn' }>, warned: Set<string>): Promise<void> {
  const { object, reason, message: text } = write;
  const { name, namespace = 'default', uid, generation } = object.metadata;
  const key = `${uid}/${generation}/${reason}/${text}`;
  if (warned.has(key)) return;
  warned.add(key);
  const time = new Date().toISOString();
  await api.request('POST', `/api/v1/namespaces/${namespace}/events`, {
    body: {
      apiVersion: 'v1',
      kind: 'Event',
      metadata: { generateName: `${name.slice(0, 200)}.`, namespace },
      involvedObject: { apiVersion: object.apiVersion, kind: object.kind, name, namespace, uid },
      type: 'Warning',
      reason,
      message: text,
      source: { component: 'clusternet-simulator' },
      firstTimestamp: time,
      lastTimestamp: time,
      count: 1,
    },
  });
}
