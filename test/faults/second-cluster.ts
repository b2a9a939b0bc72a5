/**
 * Another cluster beside the first: an API server of its own over a part of etcd of its own, with a bridge and a worker,
 * and the same Temporal namespace.
 */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { clusterId } from '../../api/plan/naming.js';
import { createKubeClient } from '../../kube/kubeconfig-client.js';
import type { KubeClient } from '../../kube/client.js';
import { readClusterUid } from '../../kube/cluster-id.js';
import { loadKubeConfig } from '../../kube/config.js';
import { applyDefinitions, readObjects } from '../../local/apply.js';
import { kubeconfig, parseKubeconfig } from '../../local/kubeconfig.js';
import { startDetached, stopProcess, waitReady } from '../../local/processes.js';
import type { ProcessSpec } from '../../local/processes.js';
import { isPortFree } from '../../local/ports.js';
import { writeWhole } from '../../local/state.js';
import { eventually, insistOnCreating } from './insist.js';
import type { Plant } from './plant.js';
import { createTenant } from './tenant.js';

/** A running one. */
export interface SecondCluster {
  kube: KubeClient;
  cluster: string;
  stop(): Promise<void>;
}

/** Starts it. */
export async function startSecondCluster(plant: Plant): Promise<SecondCluster> {
  let port = 22_000;
  while (!(await isPortFree(port))) port += 11;
  const own = parseKubeconfig(await readFile(plant.kubeconfig, 'utf8'));
  const server = `https://127.0.0.1:${port}`;
  const file = join(plant.root, 'second.kubeconfig');
  await writeWhole(file, kubeconfig({ name: 'second', user: 'admin', ...own, server }));
  const kube = createKubeClient(loadKubeConfig({ file }));
  const [command = '', ...args] = plant.apiserverCommand;
  const spec: ProcessSpec = {
    name: 'apiserver',
    command,
    args: [...withOption(args, '--secure-port', String(port)), '--etcd-prefix', '/second'],
    env: { KUBECONFIG: undefined },
    log: join(plant.root, 'logs', 'second-apiserver.log'),
    ready: async () => {
      await kube.text({ method: 'GET', path: '/readyz', timeoutMs: 2000 }, 1000);
      return true;
    },
    readyTimeoutMs: 180_000,
  };
  const record = await startDetached(spec);
  const instances: Awaited<ReturnType<Plant['add']>>[] = [];
  const stop = async (): Promise<void> => {
    for (const instance of instances) await plant.remove(instance);
    await stopProcess(record, 10_000);
  };
  try {
    await waitReady(spec, record);
    await applyDefinitions(kube, await readObjects('deploy/crds'));
    for (const name of ['faults', 'default']) {
      await insistOnCreating(() => kube.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } }));
    }
    await createTenant(kube, 'faults');
    const uid = await eventually(
      'the second cluster has its system namespace',
      () => readClusterUid(kube).catch(() => undefined),
      60_000,
    );
    for (const role of ['bridge', 'worker'] as const) {
      instances.push(await plant.add(role, {}, { ...own, server }));
    }
    return { kube, cluster: clusterId(uid), stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Arguments with another value for an option that stands before its value. */
function withOption(args: readonly string[], name: string, value: string): string[] {
  const at = args.indexOf(name);
  if (at < 0) return [...args, name, value];
  return [...args.slice(0, at + 1), value, ...args.slice(at + 2)];
}
