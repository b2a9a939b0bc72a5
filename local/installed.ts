import type { KubeClient } from '../kube/client.js';
import { KubeError } from '../kube/error.js';
import type { ObjectKey } from '../kube/object.js';
import { readObjects } from './apply.js';
import { openCluster } from './open-cluster.js';
import { webhookConfigurations } from './system-namespace.js';

/** Something that `up`, or its bridge, puts into the cluster. `problem` is undefined when it is there. */
export interface InstalledStatus {
  name: 'kinds' | 'webhooks';
  problem?: string;
}

const REQUEST_TIMEOUT_MS = 5000;

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
  const { kubeconfigFile, own, crdDir, webhooks } = options;
  const definitions = (await readObjects(crdDir)).map(({ apiVersion, kind, metadata }) => ({
    apiVersion,
    kind,
    name: metadata.name,
  }));
  const kube = await openCluster(kubeconfigFile, own);
  const [kinds, registrations] = await Promise.all([
    missing(kube, definitions),
    missing(kube, webhooks ? webhookConfigurations : []),
  ]);
  const withoutKinds = kinds.map(({ name }) => name).join(', ');
  const withoutWebhooks = registrations.map(({ plural, name }) => `${plural}/${name}`).join(', ');
  return [
    { name: 'kinds', ...(withoutKinds !== '' && { problem: `not installed: ${withoutKinds}` }) },
    ...(webhooks
      ? [
          {
            name: 'webhooks' as const,
            ...(withoutWebhooks !== '' && {
              problem: `not registered: ${withoutWebhooks}; nothing is checked when it is created`,
            }),
          },
        ]
      : []),
  ];
}

/** Those of some objects that are not there. @throws KubeError when the server does not answer */
async function missing<K extends ObjectKey>(kube: KubeClient, keys: readonly K[]): Promise<K[]> {
  const isThere = async (key: K): Promise<boolean> => {
    try {
      return (await kube.get(key, { timeoutMs: REQUEST_TIMEOUT_MS })) !== undefined;
    } catch (error) {
      if (error instanceof KubeError && error.code !== 0) return true;
      throw error;
    }
  };
  const found = await Promise.all(keys.map(isThere));
  return keys.filter((_, index) => found[index] === false);
}
