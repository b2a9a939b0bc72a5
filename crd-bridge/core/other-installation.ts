import type { KubeClient } from '../../kube/client.js';
import { KubeError } from '../../kube/error.js';
import type { KubeObject } from '../../kube/object.js';
import { ownNamespace } from '../../kube/own-namespace.js';

type Deployment = KubeObject & { spec?: { replicas?: number } };

const BRIDGES = 'app.kubernetes.io/name=drover,app.kubernetes.io/component=bridge';

/**
 * Looks whether another namespace of the cluster has a bridge that was there first. Two that share a Temporal namespace
 * find out by their claims; with a Temporal each, both would begin the same executions.
 *
 * @returns finds why nothing may begin; undefined where nothing is found, or where Deployments may not be listed
 */
export function otherInstallationLook(
  config: { namespace: string | undefined },
  kube: Pick<KubeClient, 'list'>,
): () => Promise<string | undefined> {
  return async () => {
    const own = await ownNamespace(config.namespace);
    let bridges: Deployment[];
    try {
      const type = { apiVersion: 'apps/v1', kind: 'Deployment' };
      const { items } = await kube.list<Deployment>(type, { labelSelector: BRIDGES });
      bridges = items.filter(({ spec }) => (spec?.replicas ?? 1) > 0);
    } catch (error) {
      if (error instanceof KubeError && error.code === 403) return undefined;
      throw new Error(
        `cannot tell whether another Drover is in this cluster: ${error instanceof Error ? error.message : String(error)}`,
        { cause: error },
      );
    }
    const [first] = bridges.sort((a, b) => bornOf(a).localeCompare(bornOf(b)));
    // A bridge without a Deployment, as "drover up" starts one, makes room for any.
    if (first === undefined || first.metadata.namespace === own) return undefined;
    const { namespace = '', name } = first.metadata;
    return `another Drover is in this cluster already, Deployment ${namespace}/${name}: a cluster has one, which serves all namespaces; take this one away, or that one, then executions begin here by themselves`;
  };
}

/** When it was created, and a name where two were in the same second. */
const bornOf = ({ metadata: { creationTimestamp, namespace, name } }: Deployment): string =>
  `${creationTimestamp ?? ''} ${namespace ?? ''}/${name}`;
