import { Agent } from 'undici';
import { expectOk, kubeApi, message, type KubeApi, type KubeObject } from '../kube-api.js';
import { names } from './labels.js';
import { lagOf } from './reconcile.js';
import type { Description, ManagedCluster } from './world.js';

/** How a deployment or removal went. */
export interface DeployResult {
  /** It is to be looked at again by itself. */
  later: boolean;
  warnings: { reason: string; message: string }[];
}

/**
 * Brings what Descriptions hold into real child clusters, as Clusternet's deployers do: each is dealt with once per
 * change, the phase of the former change stays until the new one is through, and nothing is looked at afterwards.
 */
export interface Deployer {
  /** Generation that each Description was last dealt with at. */
  readonly handled: ReadonlyMap<string, number>;
  deploy(description: Description, cluster: ManagedCluster): Promise<DeployResult>;
  undeploy(description: Description, cluster: ManagedCluster): Promise<DeployResult>;
  close(): Promise<void>;
}

/** Waits between tries of a failed deployment: each is twice the one before, from 5 ms up to 1000 s. */
const firstRetryMs = 5;
const lastRetryMs = 1_000_000;
const done: DeployResult = { later: false, warnings: [] };
const later: DeployResult = { later: true, warnings: [] };

/** A deployer that reads the credentials of each child from the Secret in its namespace. */
export function createDeployer(options: {
  api: KubeApi;
  log: (line: string) => void;
  now: () => Date;
}): Deployer {
  const { api, log, now } = options;
  const handled = new Map<string, number>();
  /** When each change is due, by uid and generation. */
  const due = new Map<string, number>();
  /** Tries that failed, by uid and generation. */
  const failures = new Map<string, number>();
  /** What was deployed last, by uid. */
  const deployed = new Map<string, KubeObject[]>();
  const children = new Map<string, KubeApi>();

  async function open(namespace: string): Promise<KubeApi | undefined> {
    const path = `/api/v1/namespaces/${namespace}/secrets/${names.deployerSecret}`;
    const response = await api.request('GET', path);
    if (response.status === 404) return undefined;
    const secret = expectOk(response, `reading Secret ${names.deployerSecret}`) as {
      data?: Record<string, string>;
    };
    const read = (key: string): string => Buffer.from(secret.data?.[key] ?? '', 'base64').toString();
    const [server, token, ca] = [read('apiserver-advertise-url'), read('token'), read('ca.crt')];
    const known = children.get(`${server} ${token}`);
    if (known !== undefined) return known;
    const agent = new Agent({ connect: { ca, timeout: 3000 } });
    const child = kubeApi(
      server,
      () => Promise.resolve({ dispatcher: agent, headers: { authorization: `Bearer ${token}` } }),
      () => agent.destroy(),
    );
    children.set(`${server} ${token}`, child);
    return child;
  }

  async function setStatus(description: Description, phase: string, reason: string): Promise<void> {
    if (description.status?.phase === phase && (description.status.reason ?? '') === reason) return;
    await patchDescription(api, description, { status: { phase, reason } }, '/status');
  }

  return {
    handled,
    async deploy(description, cluster) {
      const { uid = '', generation = 0, name, namespace = '' } = description.metadata;
      const key = `${uid}/${generation}`;
      const at = due.get(key) ?? now().getTime() + lagOf(cluster);
      due.set(key, at);
      if (now().getTime() < at) return later;
      const child = await open(namespace);
      const retry = (): DeployResult => {
        const before = failures.get(key) ?? 0;
        failures.set(key, before + 1);
        due.set(key, now().getTime() + Math.min(firstRetryMs * 2 ** before, lastRetryMs));
        return later;
      };
      if (child === undefined) {
        // One Event, and then never again until the Description changes: as the real one was seen to do.
        handled.set(uid, generation);
        const text = `secret "${names.deployerSecret}" not found`;
        return { later: false, warnings: [{ reason: 'FailedSynced', message: text }] };
      }
      const problems: string[] = [];
      const objects = objectsOf(description);
      const keep = new Set(objects.map(identityOf));
      for (const former of deployed.get(uid) ?? []) {
        if (!keep.has(identityOf(former))) await removeObject(child, former);
      }
      deployed.set(uid, objects);
      for (const object of objects) {
        const problem = await applyObject(child, object, `${namespace}.${name}`).catch(
          (error: unknown) => (error as Error).message,
        );
        if (problem !== undefined) problems.push(problem);
      }
      log(`deploy ${namespace}/${name}: ${problems.join('; ') || 'applied'}`);
      if (problems.length > 0) {
        await setStatus(description, 'Failure', problems.join('; '));
        return retry();
      }
      handled.set(uid, generation);
      due.delete(key);
      failures.delete(key);
      await setStatus(description, 'Success', '');
      return done;
    },
    async undeploy(description) {
      const { uid = '', name, namespace = '', finalizers = [], resourceVersion } = description.metadata;
      const child = await open(namespace);
      if (child === undefined) return later;
      for (const object of objectsOf(description)) await removeObject(child, object);
      log(`undeploy ${namespace}/${name}`);
      handled.delete(uid);
      deployed.delete(uid);
      await patchDescription(api, description, {
        metadata: { finalizers: finalizers.filter((one) => one !== names.finalizer), resourceVersion },
      });
      return done;
    },
    async close() {
      await Promise.all([...children.values()].map((child) => child.close()));
    },
  };
}

async function patchDescription(
  api: KubeApi,
  { apiVersion, metadata }: Description,
  body: Record<string, unknown>,
  subresource = '',
): Promise<void> {
  const path = `/apis/${apiVersion}/namespaces/${metadata.namespace}/descriptions/${metadata.name}${subresource}`;
  await api.request('PATCH', path, { body, contentType: 'application/merge-patch+json' });
}

/** Charts are not installed: what their Descriptions hold are values. */
function objectsOf({ spec }: Description): KubeObject[] {
  if (spec.deployer === 'Helm') return [];
  return (spec.raw ?? []).map((raw) => JSON.parse(Buffer.from(raw, 'base64').toString()) as KubeObject);
}

const identityOf = ({ kind, metadata }: KubeObject): string =>
  `${kind}/${metadata.namespace ?? ''}/${metadata.name}`;

/** Path of an object, found by discovery; undefined when the cluster does not serve the kind. */
async function pathOf(
  child: KubeApi,
  { apiVersion, kind, metadata }: KubeObject,
): Promise<{ folder: string; path: string } | undefined> {
  const root = apiVersion.includes('/') ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
  const { resources } = expectOk(await child.request('GET', root), `looking up ${kind}`) as {
    resources: { name: string; kind: string; namespaced: boolean }[];
  };
  const resource = resources.find((one) => one.kind === kind && !one.name.includes('/'));
  if (resource === undefined) return undefined;
  const scope = resource.namespaced ? `/namespaces/${metadata.namespace ?? 'default'}` : '';
  const folder = `${root}${scope}/${resource.name}`;
  return { folder, path: `${folder}/${metadata.name}` };
}

/** Creates an object, or changes it by what is new and what is gone since the last time. Returns what went wrong. */
async function applyObject(child: KubeApi, object: KubeObject, owner: string): Promise<string | undefined> {
  const where = await pathOf(child, object);
  if (where === undefined) return `no matches for kind "${object.kind}" in version "${object.apiVersion}"`;
  const owned: KubeObject = {
    ...object,
    metadata: {
      ...object.metadata,
      annotations: { ...object.metadata.annotations, [names.ownedBy]: owner },
    },
  };
  const annotations = { ...owned.metadata.annotations, [names.lastApplied]: JSON.stringify(owned) };
  const body: KubeObject = { ...owned, metadata: { ...owned.metadata, annotations } };
  const created = await child.request('POST', where.folder, { body });
  if (created.status < 300) return undefined;
  const isThere =
    created.status === 409 && (created.body as { reason?: string } | null)?.reason === 'AlreadyExists';
  if (!isThere) return message(created.body);
  const current = expectOk(await child.request('GET', where.path), `reading ${where.path}`) as KubeObject;
  const last = current.metadata.annotations?.[names.lastApplied];
  const gone = last === undefined ? {} : removedSince(JSON.parse(last) as Tree, owned);
  const patched = await child.request('PATCH', where.path, {
    body: { ...merged(gone, body) },
    contentType: isBuiltIn(object.apiVersion)
      ? 'application/strategic-merge-patch+json'
      : 'application/merge-patch+json',
  });
  return patched.status < 300 ? undefined : message(patched.body);
}

async function removeObject(child: KubeApi, object: KubeObject): Promise<void> {
  const where = await pathOf(child, object);
  if (where === undefined) return;
  const response = await child.request('DELETE', where.path, {
    body: { kind: 'DeleteOptions', apiVersion: 'v1', propagationPolicy: 'Background' },
  });
  if (response.status !== 404) expectOk(response, `deleting ${where.path}`);
}

interface Tree {
  [key: string]: unknown;
}

const isTree = (value: unknown): value is Tree =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Null at every place that was there before and is not there now. */
function removedSince(before: Tree, now: Tree): Tree {
  const gone: Tree = {};
  for (const [key, value] of Object.entries(before)) {
    const present = now[key];
    if (present === undefined) gone[key] = null;
    else if (isTree(value) && isTree(present)) {
      const inner = removedSince(value, present);
      if (Object.keys(inner).length > 0) gone[key] = inner;
    }
  }
  return gone;
}

function merged(a: Tree, b: Tree): Tree {
  const result: Tree = { ...a };
  for (const [key, value] of Object.entries(b)) {
    const under = result[key];
    result[key] = isTree(under) && isTree(value) ? merged(under, value) : value;
  }
  return result;
}

/** Kinds of Kubernetes itself know how their lists are merged. */
function isBuiltIn(apiVersion: string): boolean {
  const [group = ''] = apiVersion.includes('/') ? apiVersion.split('/') : [''];
  return !group.includes('.') || group.endsWith('.k8s.io');
}
