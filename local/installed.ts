import { readFile } from 'node:fs/promises';
import { readObjects } from './apply.js';
import { certificateApi, type KubeApi } from './kube-api.js';
import { parseKubeconfig } from './kubeconfig.js';
import { webhookConfigurations } from './system-namespace.js';
import { openUserCluster } from './user-cluster.js';

/** Something that `up`, or its bridge, puts into the cluster. `problem` is undefined when it is there. */
export interface InstalledStatus {
  name: 'kinds' | 'webhooks';
  problem?: string;
}

/**
 * Looks whether what was put into a cluster is still there: an uninstall takes it away under programs that run and answer.
 * Says nothing about what cannot be read.
 *
 * @param options.own - true for a kubeconfig of the embedded control plane, false for a user's.
 * @param options.crdDir - the definitions that `up` installs
 * @param options.webhooks - whether the bridge registers webhooks
 */
export async function inspectInstalled(options: {
  kubeconfigFile: string;
  own: boolean;
  crdDir: string;
  webhooks: boolean;
}): Promise<InstalledStatus[]> {
  const { kubeconfigFile, own, crdDir } = options;
  const definitions = (await readObjects(crdDir)).map(({ metadata }) => metadata.name);
  const api = own
    ? certificateApi(parseKubeconfig(await readFile(kubeconfigFile, 'utf8')))
    : (await openUserCluster({ file: kubeconfigFile })).api;
  try {
    const [kinds, webhooks] = await Promise.all([
      missing(api, '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', definitions),
      options.webhooks
        ? Promise.all(
            webhookConfigurations.map(async (plural) => {
              const [gone] = await missing(api, `/apis/admissionregistration.k8s.io/v1/${plural}`, [
                'drover',
              ]);
              return gone === undefined ? [] : [`${plural}/${gone}`];
            }),
          ).then((lists) => lists.flat())
        : [],
    ]);
    return [
      { name: 'kinds', ...(kinds.length > 0 && { problem: `not installed: ${kinds.join(', ')}` }) },
      ...(options.webhooks
        ? [
            {
              name: 'webhooks' as const,
              ...(webhooks.length > 0 && {
                problem: `not registered: ${webhooks.join(', ')}; nothing is checked when it is created`,
              }),
            },
          ]
        : []),
    ];
  } finally {
    await api.close();
  }
}

async function missing(api: KubeApi, folder: string, names: readonly string[]): Promise<string[]> {
  const codes = await Promise.all(
    names.map(async (name) => (await api.request('GET', `${folder}/${name}`, { timeoutMs: 5000 })).status),
  );
  return names.filter((_, index) => codes[index] === 404);
}
