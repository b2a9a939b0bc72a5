/**
 * An independent oracle: of Drover's own code it uses the Kubernetes client alone. What Clusternet selects, patches and
 * renders is written here once more, from Clusternet's behaviour, so that a fault in Drover's own code is not met by the
 * same fault here.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { KubeClient } from '../../kube/client.js';
import { KubeError } from '../../kube/error.js';
import type { TypedObject } from '../../kube/object.js';
import { createDeployer, type Deployer } from './deploy.js';
import { fieldManager } from './field-manager.js';
import { reconcile } from './reconcile.js';
import { resources, type Resource, type World, type Write } from './world.js';

/** What the simulator needs. */
export interface SimulatorOptions {
  kube: KubeClient;
  log: (line: string) => void;
  signal: AbortSignal;
  now?: () => Date;
}

/** Events that come within this time are handled in one pass. */
const gatherMs = 30;
/** A pass at least this often, for heartbeats and for writes that failed. */
const idlePassMs = 5000;
/** A pass this often while something is to happen later. */
const waitingPassMs = 250;

/** Runs the simulator until the signal aborts. */
export async function runSimulator(options: SimulatorOptions): Promise<void> {
  const { kube, log, signal, now = () => new Date() } = options;
  const caches = new Map<Resource, Map<string, TypedObject>>();
  let wake: () => void = () => undefined;
  const followers = (Object.keys(resources) as Resource[]).map((resource) =>
    follow({ kube, log, signal, resource, onChange: (cache) => (caches.set(resource, cache), wake()) }),
  );
  const warned = new Set<string>();
  const deployer = createDeployer({ kube, log, now });
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
        isWaiting = (await perform({ kube, log, write, warned, deployer })) === 'later' || isWaiting;
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
    await sleep(gatherMs);
  }
  await Promise.all([...followers, deployer.close()]);
}

/** Keeps a copy of all objects of one resource, by list and watch. */
async function follow(options: {
  kube: KubeClient;
  log: (line: string) => void;
  signal: AbortSignal;
  resource: Resource;
  onChange: (cache: Map<string, TypedObject>) => void;
}): Promise<void> {
  const { kube, log, signal, resource, onChange } = options;
  const { group: apiVersion, kind } = resources[resource];
  while (!signal.aborted) {
    try {
      const list = await kube.list<TypedObject>({ apiVersion, kind }, { signal });
      // Items of a list come without their kind.
      const cache = new Map<string, TypedObject>(
        list.items.map((object) => [object.metadata.uid ?? '', { ...object, apiVersion, kind }]),
      );
      onChange(cache);
      const { resourceVersion } = list.metadata;
      const watch = { resourceVersion, timeoutSeconds: 3600, signal };
      for await (const event of kube.watch<TypedObject>({ apiVersion, kind }, watch)) {
        if (event.type === 'BOOKMARK') continue;
        const { uid = '' } = event.object.metadata;
        if (event.type === 'DELETED') cache.delete(uid);
        else cache.set(uid, event.object);
        onChange(cache);
      }
    } catch (error) {
      if (signal.aborted) return;
      // Too old to be followed: what is there now is listed.
      if (error instanceof KubeError && error.code === 410) continue;
      log(`${resource}: ${(error as Error).message}; looking again in 1 s`);
      await sleep(1000, undefined, { signal }).catch(() => undefined);
    }
  }
}

async function perform(options: {
  kube: KubeClient;
  log: (line: string) => void;
  write: Write;
  warned: Set<string>;
  deployer: Deployer;
}): Promise<'done' | 'later'> {
  const { kube, log, write, warned, deployer } = options;
  try {
    switch (write.op) {
      case 'warn':
        await warn(kube, write, warned);
        return 'done';
      case 'deploy':
      case 'undeploy': {
        const result = await deployer[write.op](write.description, write.cluster);
        for (const { reason, message } of result.warnings) {
          await warn(kube, { op: 'warn', object: write.description, reason, message }, warned);
        }
        return result.later ? 'later' : 'done';
      }
      case 'create':
      case 'patch':
      case 'delete':
        log(`${describe(write)}${await send(kube, write)}`);
    }
  } catch (error) {
    const failed = error instanceof KubeError && error.code !== 0;
    log(
      failed && isStored(write)
        ? `FAILED ${describe(write)}: ${error.code} ${error.message}`
        : `${write.op}: ${(error as Error).message}`,
    );
  }
  return 'done';
}

/** A write of an object that the simulator looks at. */
type StoredWrite = Extract<Write, { op: 'create' | 'patch' | 'delete' }>;

const isStored = (write: Write): write is StoredWrite => 'resource' in write;

function describe(write: StoredWrite): string {
  const { name, namespace = '' } = write.op === 'create' ? write.object.metadata : write;
  const part = write.op === 'patch' && write.subresource !== undefined ? `/${write.subresource}` : '';
  return `${write.op} ${write.resource}${part} ${namespace}/${name}`;
}

/** Returns what to add to the log. */
async function send(kube: KubeClient, write: StoredWrite): Promise<string> {
  try {
    if (write.op === 'create') {
      await kube.create(write.object, { fieldManager });
      return '';
    }
    const { group: apiVersion, kind, namespaced } = resources[write.resource];
    const { name, namespace } = write;
    const key = { apiVersion, kind, name, ...(namespaced && namespace !== undefined && { namespace }) };
    if (write.op === 'delete') {
      return (await kube.delete(key, { uid: write.uid })) ? '' : ': it was gone already';
    }
    const { subresource } = write;
    const options = { kind: 'merge', fieldManager, ...(subresource && { subresource }) } as const;
    await kube.patch(key, write.body, options);
    return '';
  } catch (error) {
    // Lost a race against someone else's write: the next pass sees what came of it.
    if (error instanceof KubeError && [404, 409].includes(error.code))
      return `: ${error.code} ${error.message}`;
    throw error;
  }
}

async function warn(
  kube: KubeClient,
  write: Extract<Write, { op: 'warn' }>,
  warned: Set<string>,
): Promise<void> {
  const { object, reason, message } = write;
  const { name, namespace = 'default', uid, generation } = object.metadata;
  const key = `${uid}/${generation}/${reason}/${message}`;
  if (warned.has(key)) return;
  warned.add(key);
  const time = new Date().toISOString();
  await kube.raw({
    method: 'POST',
    path: `/api/v1/namespaces/${namespace}/events`,
    query: { fieldManager },
    body: {
      apiVersion: 'v1',
      kind: 'Event',
      metadata: { generateName: `${name.slice(0, 200)}.`, namespace },
      involvedObject: { apiVersion: object.apiVersion, kind: object.kind, name, namespace, uid },
      type: 'Warning',
      reason,
      message,
      source: { component: 'clusternet-simulator' },
      firstTimestamp: time,
      lastTimestamp: time,
      count: 1,
    },
  });
}
