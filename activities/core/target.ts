import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { Agent } from 'undici';
import { renderString } from '../../api/plan/template/render.js';
import type { RenderScope } from '../../api/plan/template/render.js';
import type { ActionTarget } from '../../api/plan/types.js';
import type { TraceRequest } from '../../api/core/trace-context.js';
import { createEndpointClient } from '../../kube/client.js';
import type { Endpoint } from '../../kube/transport.js';
import type { KubeClient } from '../../kube/client.js';
import { KubeError } from '../../kube/error.js';
import { causesOf } from './causes.js';
import { EgressRefused } from './egress.js';
import type { EgressPolicy } from './egress.js';
import type { AttemptResult } from './handler.js';
import { KUBECONFIG_USER } from './kube-errors.js';
import { readSecretKey } from './secrets.js';
import type { SecretReader } from './secrets.js';
import { readTargetKubeconfig } from './target-kubeconfig.js';
import type { TargetCluster } from './target-kubeconfig.js';

/** Another cluster, ready to be acted on. */
export interface Target {
  kube: KubeClient;
  /** Address of its API server. */
  server: URL;
  /** Whom the action acts as there, for messages. */
  identity: string;
}

type Failed = Extract<AttemptResult, { kind: 'failed' }>;

/** Finds the other clusters that actions name. */
export interface Targets {
  /**
   * The cluster of a target. The Secret is read anew each time, as the action's own identity; connections are kept as
   * long as it stays the same.
   *
   * @returns the cluster, or the failures `SecretNotFound`, `InvalidKubeconfig` and `EgressRefused`
   * @throws RenderError for placeholders; KubeError when the Secret cannot be read
   */
  open(target: ActionTarget, scope: RenderScope, reader: SecretReader): Promise<Target | Failed>;
}

interface Opened {
  target: Target;
  agent: Agent;
}

/** Clusters that connections are kept for; the one that was not used for longest goes first. */
const MAX_CLUSTERS = 64;
const DEFAULT_KEY = 'kubeconfig';

/**
 * Targets under one egress policy.
 *
 * @param traceRequest shows requests to them in the trace of their action (default: in none)
 */
export function createTargets(egress: EgressPolicy, traceRequest?: TraceRequest): Targets {
  const known = new LRUCache<string, Opened>({
    max: MAX_CLUSTERS,
    // Requests under way end in peace.
    dispose: ({ agent }) => void agent.close().catch(() => undefined),
  });
  return {
    async open({ kubeconfigSecretRef }, scope, reader) {
      const name = renderString(kubeconfigSecretRef.name, scope);
      const key = kubeconfigSecretRef.key ?? DEFAULT_KEY;
      const where = `Secret ${reader.namespace}/${name}`;
      const read = await readSecretKey({ name, key }, 'which target.kubeconfigSecretRef names', reader);
      if ('kind' in read) return read;
      const id = createHash('sha256')
        .update(JSON.stringify([reader.namespace, name, key, read.version]))
        .digest('hex');
      const opened = known.get(id);
      if (opened !== undefined) return opened.target;

      const config = readTargetKubeconfig(read.text);
      if (!config.ok) {
        return failed('InvalidKubeconfig', `the kubeconfig in key "${key}" of ${where} ${config.problem}`);
      }
      const { cluster } = config;
      const refused = egress.refuse(cluster.server);
      if (refused !== undefined) return failed('EgressRefused', refusalText(cluster, where, refused));
      const made = connect(cluster, where, { egress, traceRequest });
      known.set(id, made);
      return made.target;
    },
  };
}

function connect(
  cluster: TargetCluster,
  where: string,
  { egress, traceRequest }: { egress: EgressPolicy; traceRequest: TraceRequest | undefined },
): Opened {
  const agent = new Agent({
    // The address is checked on each connection: a name may come to mean something else.
    connect: egress.connector({ insecure: false, onConnect: () => undefined, tls: cluster.tls }),
    // A watch and its requests beside each other; more would not make an action faster.
    connections: 16,
  });
  const headers: Record<string, string> = {};
  if (cluster.token !== undefined) headers.authorization = `Bearer ${cluster.token}`;
  const endpoint: Endpoint = {
    server: cluster.server.href.replace(/\/+$/, ''),
    name: `cluster "${cluster.name}" from ${where}`,
    authenticate: () => Promise.resolve({ headers, dispatcher: agent }),
    explain(error) {
      const refused = causesOf(error).find((link) => link instanceof EgressRefused);
      if (refused === undefined) return undefined;
      return new KubeError(refusalText(cluster, where, refused.message), {
        code: 400,
        reason: 'EgressRefused',
      });
    },
  };
  const kube = createEndpointClient(endpoint, traceRequest && { traceRequest });
  return { agent, target: { kube, server: cluster.server, identity: `${KUBECONFIG_USER} in ${where}` } };
}

const refusalText = (cluster: TargetCluster, where: string, why: string): string =>
  `cluster "${cluster.name}" from ${where} at ${cluster.server.origin} is not allowed: ${why}`;

const failed = (reason: string, message: string): Failed => ({
  kind: 'failed',
  reason,
  message,
  effect: 'None',
});
