/** Bridge and worker as the chart would run them: as processes with the variables and the accounts of its Deployments. */
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { KubeClient } from '../../../kube/client.js';
import type { KubeObject } from '../../../kube/object.js';
import { choosePorts } from '../../../local/ports.js';
import { startDetached, stopProcess, waitReady } from '../../../local/processes.js';
import type { ProcessSpec } from '../../../local/processes.js';
import { recordServer } from '../../support/leftovers.js';
import { servers } from '../../support/servers.js';

type Deployment = KubeObject & {
  spec: {
    template: {
      spec: {
        serviceAccountName: string;
        containers: { args: string[]; env: { name: string; value?: string }[] }[];
      };
    };
  };
};

/** Starts one and waits until it is ready. */
export async function startProgram(
  name: 'bridge' | 'worker',
  options: {
    kube: KubeClient;
    namespace: string;
    folder: string;
    server: string;
    ca: string;
    /** Address of another Temporal than the stack's. */
    temporal?: string;
    /** More variables than the Deployment has. */
    env?: Record<string, string>;
  },
): Promise<{ stop(): Promise<void> }> {
  const { kube, namespace } = options;
  const folder = join(options.folder, name);
  await mkdir(folder, { recursive: true });
  const deployment = await kube.get<Deployment>({
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    namespace,
    name: `drover-${name}`,
  });
  const pod = deployment?.spec.template.spec;
  const [container] = pod?.containers ?? [];
  if (pod === undefined || container === undefined) throw new Error(`no Deployment drover-${name}`);
  const kubeconfig = join(folder, `${name}.kubeconfig`);
  await writeFile(kubeconfig, await kubeconfigOf(options, pod.serviceAccountName), { mode: 0o600 });
  const { health, webhook } = await choosePorts({
    names: ['health', 'webhook'],
    remembered: {},
    keep: () => false,
  });
  const env = Object.fromEntries(container.env.map(({ name: variable, value }) => [variable, value]));
  const spec: ProcessSpec = {
    name,
    command: process.execPath,
    args: ['--import', './dist/runtime/source-maps.js', ...container.args],
    env: {
      ...env,
      // What is different outside of a pod and beside other programs.
      TEMPORAL_ADDRESS: options.temporal ?? servers.temporal,
      DROVER_KUBECONFIG: kubeconfig,
      DROVER_NAMESPACE: namespace,
      DROVER_HEALTH_HOST: '127.0.0.1',
      DROVER_HEALTH_PORT: String(health),
      ...(env.DROVER_WEBHOOK_PORT !== undefined && {
        DROVER_WEBHOOK_HOST: '127.0.0.1',
        DROVER_WEBHOOK_PORT: String(webhook),
      }),
      ...options.env,
    },
    log: join(folder, `${name}.log`),
    ready: async () => {
      const response = await fetch(`http://127.0.0.1:${health}/readyz`);
      if (!response.ok) throw new Error(await response.text());
      return true;
    },
    readyTimeoutMs: 60_000,
  };
  const record = await startDetached(spec);
  await recordServer(folder, name, record);
  await waitReady(spec, record);
  return {
    async stop() {
      await stopProcess(record, 5000);
    },
  };
}

async function kubeconfigOf(
  { kube, namespace, server, ca }: { kube: KubeClient; namespace: string; server: string; ca: string },
  account: string,
): Promise<string> {
  const { status } = await kube.raw<{ status: { token: string } }>({
    method: 'POST',
    path: `/api/v1/namespaces/${namespace}/serviceaccounts/${account}/token`,
    body: { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: {} },
  });
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'chart',
    contexts: [{ name: 'chart', context: { cluster: 'chart', user: account } }],
    clusters: [
      {
        name: 'chart',
        cluster: { server, 'certificate-authority-data': Buffer.from(ca).toString('base64') },
      },
    ],
    users: [{ name: account, user: { token: status.token } }],
  });
}
