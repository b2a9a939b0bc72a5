import { setTimeout as sleep } from 'node:timers/promises';
import type { KubeClient } from '../kube/client.js';
import type { KubeObject } from '../kube/object.js';
import { applyDefinitions, applyObject, fieldManager, readObjects } from './apply.js';
import { clusternetDefinitions, clusternetSites, simulatorSpec } from './clusternet/sites.js';
import type { ControlPlane } from './control-plane.js';
import { fakeNode, fakeNodeName, fakeNodeStatus } from './fake-node/node.js';
import type { UpOptions } from './options.js';
import type { DataPaths } from './paths.js';
import { allOf } from './progress.js';
import { embeddedRbac } from './rbac.js';
import type { Runner } from './runner.js';
import { removeWebhooks, systemNamespace } from './system-namespace.js';

/**
 * Starts the control plane, the fake node and the Clusternet simulator, applies
 * rights and definitions, and waits until pods can be scheduled.
 *
 * @throws Error saying what did not come up.
 */
export async function startControlPlane(
  options: UpOptions,
  plane: ControlPlane,
  runner: Runner,
  paths: DataPaths,
): Promise<void> {
  await runner.ensure(plane.specs.etcd);
  await runner.ensure(plane.specs.apiserver);
  const { admin } = plane;
  await allOf([
    // kwok and the simulator need their rights before they are of use.
    Promise.all(embeddedRbac().map((object) => applyObject(admin, object))).then(() =>
      runner.ensure(plane.specs.kwok),
    ),
    runner.ensure(plane.specs.controllerManager),
    runner.ensure(plane.specs.scheduler),
    ensureFakeNode(admin),
    applyObject(admin, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: systemNamespace } }),
    options.webhook === false ? removeWebhooks(admin) : Promise.resolve(),
    applyCustomResources(options, admin).then(() =>
      runner.ensure(simulatorSpec(paths, plane.kubeconfigs.clusternet, admin)),
    ),
  ]);
  await Promise.all([waitNode(admin, options.signal), waitDefaultServiceAccount(admin, options.signal)]);
}

async function applyCustomResources(options: UpOptions, admin: KubeClient): Promise<void> {
  await applyDefinitions(admin, [
    ...(options.crdDir === undefined ? [] : await readObjects(options.crdDir)),
    ...(await clusternetDefinitions()),
  ]);
  for (const object of [...clusternetSites(), ...(options.extraObjects ?? [])]) {
    await applyObject(admin, object);
  }
}

const nodeKey = { apiVersion: 'v1', kind: 'Node', name: fakeNodeName };

async function ensureFakeNode(admin: KubeClient): Promise<void> {
  if ((await admin.get(nodeKey)) !== undefined) return;
  await applyObject(admin, fakeNode());
  await admin.patch(nodeKey, fakeNodeStatus(), { kind: 'merge', subresource: 'status', fieldManager });
}

interface Node extends KubeObject {
  spec?: { taints?: unknown[] };
  status?: { conditions?: { type: string; status: string }[] };
}

/** Pods are scheduled once the node is Ready and the controllers have taken its taints off. */
async function waitNode(admin: KubeClient, signal: AbortSignal | undefined): Promise<void> {
  await until(`node ${fakeNodeName} to be ready for pods`, signal, async () => {
    const node = await admin.get<Node>(nodeKey);
    const isReady = node?.status?.conditions?.some((c) => c.type === 'Ready' && c.status === 'True');
    return isReady === true && (node?.spec?.taints ?? []).length === 0;
  });
}

async function waitDefaultServiceAccount(admin: KubeClient, signal: AbortSignal | undefined): Promise<void> {
  const key = { apiVersion: 'v1', kind: 'ServiceAccount', namespace: 'default', name: 'default' };
  await until('the default service account', signal, async () => (await admin.get(key)) !== undefined);
}

async function until(
  what: string,
  signal: AbortSignal | undefined,
  reached: () => Promise<boolean>,
  timeoutMs = 60_000,
): Promise<void> {
  const deadline = Date.now() + timeoutMs;
  while (!(await reached())) {
    signal?.throwIfAborted();
    if (Date.now() > deadline) {
      throw new Error(
        `waited ${timeoutMs / 1000} s for ${what}; look at the logs of controllerManager, scheduler and kwok`,
      );
    }
    await sleep(100);
  }
}
