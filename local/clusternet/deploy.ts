import { keyOf, type KubeClient } from '../../kube/client.js';
import { KubeError } from '../../kube/error.js';
import type { TypedObject } from '../../kube/object.js';
import { createChildClusters } from './child-clusters.js';
import { applyObject, identityOf, removeObject } from './child-objects.js';
import { fieldManager } from './field-manager.js';
import { names } from './labels.js';
import { lagOf } from './reconcile.js';
import type { Description, ManagedCluster } from './world.js';

/** How a deployment or removal went. */
export interface DeployResult {
  /** Whether to try again without a further change. */
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
const minRetryMs = 5;
const maxRetryMs = 1_000_000;
const done: DeployResult = { later: false, warnings: [] };
const later: DeployResult = { later: true, warnings: [] };

/** A deployer that reads the credentials of each child from the Secret in its namespace. */
export function createDeployer(options: {
  kube: KubeClient;
  log: (line: string) => void;
  now: () => Date;
}): Deployer {
  const { kube, log, now } = options;
  const children = createChildClusters(kube);
  const timetable = createTimetable(now);
  const handled = new Map<string, number>();
  /** What was deployed last, by uid of the Description. */
  const deployed = new Map<string, TypedObject[]>();

  /** Applies what a Description holds, after what it holds no longer has been removed. Returns what went wrong. */
  async function bring(child: KubeClient, description: Description): Promise<string[]> {
    const { uid = '', name, namespace = '' } = description.metadata;
    const objects = objectsOf(description);
    const keep = new Set(objects.map(identityOf));
    for (const former of deployed.get(uid) ?? []) {
      if (!keep.has(identityOf(former))) await removeObject(child, former);
    }
    deployed.set(uid, objects);
    const problems: string[] = [];
    for (const object of objects) {
      const problem = await applyObject(child, object, `${namespace}.${name}`);
      if (problem !== undefined) problems.push(problem);
    }
    return problems;
  }

  async function setStatus(description: Description, phase: string, reason: string): Promise<void> {
    if (description.status?.phase === phase && (description.status.reason ?? '') === reason) return;
    await patchDescription(kube, description, { status: { phase, reason } }, 'status');
  }

  return {
    handled,
    async deploy(description, cluster) {
      const { uid = '', generation = 0, name, namespace = '' } = description.metadata;
      const change = `${uid}/${generation}`;
      if (!timetable.isDue(change, lagOf(cluster))) return later;
      const child = await children.open(namespace);
      if (child === undefined) {
        // One Event, and then never again until the Description changes: as the real one was seen to do.
        handled.set(uid, generation);
        const text = `secret "${names.deployerSecret}" not found`;
        return { later: false, warnings: [{ reason: 'FailedSynced', message: text }] };
      }
      const problems = await bring(child, description);
      log(`deploy ${namespace}/${name}: ${problems.join('; ') || 'applied'}`);
      if (problems.length > 0) {
        await setStatus(description, 'Failure', problems.join('; '));
        timetable.failed(change);
        return later;
      }
      handled.set(uid, generation);
      timetable.done(change);
      await setStatus(description, 'Success', '');
      return done;
    },
    async undeploy(description) {
      const { uid = '', name, namespace = '', finalizers = [], resourceVersion } = description.metadata;
      const child = await children.open(namespace);
      if (child === undefined) return later;
      for (const object of objectsOf(description)) await removeObject(child, object);
      log(`undeploy ${namespace}/${name}`);
      handled.delete(uid);
      deployed.delete(uid);
      await patchDescription(kube, description, {
        metadata: { finalizers: finalizers.filter((one) => one !== names.finalizer), resourceVersion },
      });
      return done;
    },
    close: () => children.close(),
  };
}

/** When each change of a Description is due. */
interface Timetable {
  /** @param lagMs how long after it was first seen a change is due */
  isDue(change: string, lagMs: number): boolean;
  failed(change: string): void;
  done(change: string): void;
}

function createTimetable(now: () => Date): Timetable {
  const due = new Map<string, number>();
  const failures = new Map<string, number>();
  return {
    isDue(change, lagMs) {
      const at = due.get(change) ?? now().getTime() + lagMs;
      due.set(change, at);
      return now().getTime() >= at;
    },
    failed(change) {
      const before = failures.get(change) ?? 0;
      failures.set(change, before + 1);
      due.set(change, now().getTime() + Math.min(minRetryMs * 2 ** before, maxRetryMs));
    },
    done(change) {
      due.delete(change);
      failures.delete(change);
    },
  };
}

async function patchDescription(
  kube: KubeClient,
  description: Description,
  body: Record<string, unknown>,
  subresource?: 'status',
): Promise<void> {
  try {
    await kube.patch(keyOf(description), body, {
      kind: 'merge',
      fieldManager,
      ...(subresource && { subresource }),
    });
  } catch (error) {
    // Lost a race against someone else's write: the next pass sees what came of it.
    if (!(error instanceof KubeError) || error.code === 0) throw error;
  }
}

/** Charts are not installed: what their Descriptions hold are values. */
function objectsOf({ spec }: Description): TypedObject[] {
  if (spec.deployer === 'Helm') return [];
  return (spec.raw ?? []).map((raw) => JSON.parse(Buffer.from(raw, 'base64').toString()) as TypedObject);
}
