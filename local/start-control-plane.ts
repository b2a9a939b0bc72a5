import { setTimeout as sleep } from 'node:timers/promises';
import { Applier, readObjects } from './apply.js';
import { clusternetDefinitions, clusternetSites, simulatorSpec } from './clusternet/sites.js';
import type { ControlPlane } from './control-plane.js';
import { fakeNode, fakeNodeName, fakeNodeStatus } from './fake-node/node.js';
import { expectOk, type KubeApi } from './kube-api.js';
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
  const applier = new Applier(admin);
  await allOf([
    // kwok and the simulator need their rights before they are of use.
    Promise.all(embeddedRbac().map((object) => applier.apply(object))).then(() =>
      runner.ensure(plane.specs.kwok),
    ),
    runner.ensure(plane.specs.controllerManager),
    runner.ensure(plane.specs.scheduler),
    ensureFakeNode(admin, applier),
    applier.apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: systemNamespace } }),
    options.webhook === false ? removeWebhooks(admin) : Promise.resolve(),
    applyCustomResources(options, applier).then(() =>
      runner.ensure(simulatorSpec(paths, plane.kubeconfigs.clusternet, admin)),
    ),
  ]);
  await Promise.all([waitNode(admin, options.signal), waitDefaultServiceAccount(admin, options.signal)]);
}

async function applyCustomResources(options: UpOptions, applier: Applier): Promise<void> {
  await applier.applyDefinitions([
    ...(options.crdDir === undefined ? [] : await readObjects(options.crdDir)),
    ...(await clusternetDefinitions()),
  ]);
  const sites = clusternetSites();
  for (const object of sites) await applier.apply(object);
  for (const object of options.extraObjects ?? []) await applier.apply(object);
}

async function ensureFakeNode(api: KubeApi, applier: Applier): Promise<void> {
  const path = `/api/v1/nodes/${fakeNodeName}`;
  if ((await api.request('GET', path)).status === 200) return;
  await applier.apply(fakeNode());
  expectOk(
    await api.request('PATCH', `${path}/status`, {
      body: fakeNodeStatus(),
      contentType: 'application/merge-patch+json',
    }),
    `writing the status of node ${fakeNodeName}`,
  );
}

/** Pods are scheduled once the node is Ready and the controllers have taken its taints off. */
async function waitNode(api: KubeApi, signal: AbortSignal | undefined): Promise<void> {
  await until(`node ${fakeNodeName} to be ready for pods`, signal, async () => {
    const node = expectOk(await api.request('GET', `/api/v1/nodes/${fakeNodeName}`), 'reading the node') as {
      spec: { taints?: unknown[] };
      status: { conditions?: { type: string; status: string }[] };
    };
    const ready = node.status.conditions?.some((c) => c.type === 'Ready' && c.status === 'True') ?? false;
    return ready && (node.spec.taints ?? []).length === 0;
  });
}

async function waitDefaultServiceAccount(api: KubeApi, signal: AbortSignal | undefined): Promise<void> {
  const path = '/api/v1/namespaces/default/serviceaccounts/default';
  await until(
    'the default service account',
    signal,
    async () => (await api.request('GET', path)).status === 200,
  );
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
