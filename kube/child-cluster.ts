import type { KubeClient } from './client.js';
import { KubeError } from './error.js';
import type { KubeObject } from './object.js';

/** A member cluster of Clusternet, as far as it is needed to look into it. */
export interface MemberCluster {
  metadata: { name: string; namespace?: string };
  spec?: { clusterId?: string };
}

/** Through whom a member cluster is opened. */
export interface Opener {
  /** Reads the child's token, as the identity that wants to look there: that it can read it shows that it may. */
  kube: KubeClient;
  /** Calls the proxy. Not an impersonating client: a request cannot be made as two others at once. */
  home: KubeClient;
  signal: AbortSignal;
  /** Whom `kube` acts as, for messages. */
  identity: string;
}

/** A member cluster that can be looked into, or why it cannot. */
export type Child = { ok: true; kube: KubeClient } | { ok: false; why: string };

/** Secret with the token of Clusternet's deployer, in the namespace of each cluster. */
const DEPLOYER_SECRET = 'child-cluster-deployer';
/** Clusternet's proxy takes the child's token from this extra field of this impersonated user. */
const PROXY_USER = 'clusternet';
const TOKEN_EXTRA = 'clusternet-token';

/** Opens a member cluster through the proxy that Clusternet serves in the parent. */
export async function openChild(opener: Opener, cluster: MemberCluster): Promise<Child> {
  const { kube, home, signal, identity } = opener;
  const namespace = cluster.metadata.namespace ?? '';
  const id = cluster.spec?.clusterId ?? '';
  if (!/^[0-9a-f-]{8,64}$/.test(id)) return { ok: false, why: 'the ManagedCluster has no clusterId' };
  try {
    const secret = await kube
      .get<KubeObject & { data?: Record<string, string> }>(
        { apiVersion: 'v1', kind: 'Secret', namespace, name: DEPLOYER_SECRET },
        { signal },
      )
      .catch((error: unknown) => {
        if (error instanceof KubeError && error.code === 403) return 'forbidden' as const;
        throw error;
      });
    // Short, and the same for all clusters: these texts are shown on every Subscription.
    if (secret === 'forbidden') {
      return { ok: false, why: `${identity} may not get its Secret ${DEPLOYER_SECRET}` };
    }
    if (secret === undefined) return { ok: false, why: `it has no Secret ${DEPLOYER_SECRET}` };
    const token = Buffer.from(secret.data?.token ?? '', 'base64')
      .toString('utf8')
      .trim();
    if (!/^[\x21-\x7e]+$/.test(token)) {
      return { ok: false, why: `Secret ${namespace}/${DEPLOYER_SECRET} holds no token` };
    }
    const child = home.behind(`/apis/proxies.clusternet.io/v1alpha1/sockets/${id}/proxy/direct`, {
      name: `member cluster ${namespace}/${cluster.metadata.name}`,
      as: { user: PROXY_USER, extra: { [TOKEN_EXTRA]: token } },
    });
    // Checks that the proxy is there at all: later, its NotFound and that of the child look the same.
    await child.raw({ method: 'GET', path: '/version', signal, timeoutMs: 10_000 });
    return { ok: true, kube: child };
  } catch (error) {
    if (signal.aborted || !(error instanceof KubeError)) throw error;
    if (error.code === 404) {
      return { ok: false, why: 'the proxy of Clusternet (proxies.clusternet.io) is not served' };
    }
    return { ok: false, why: `${error.message}${error.code === 403 ? ` (${identity})` : ''}` };
  }
}
