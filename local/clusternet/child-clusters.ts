import { Agent } from 'undici';
import { createEndpointClient, type KubeClient } from '../../kube/client.js';
import type { KubeObject } from '../../kube/object.js';
import { names } from './labels.js';

/** Real child clusters. */
export interface ChildClusters {
  /** The cluster of a namespace, by the Secret in it; undefined where there is none. */
  open(namespace: string): Promise<KubeClient | undefined>;
  /** Breaks off the connections to all of them. */
  close(): Promise<void>;
}

/** Child clusters whose credentials are in Secrets of the parent. */
export function createChildClusters(parent: KubeClient): ChildClusters {
  const agents: Agent[] = [];
  /** By address and token: a Secret that changes leads to another client. */
  const known = new Map<string, KubeClient>();
  return {
    async open(namespace) {
      const key = { apiVersion: 'v1', kind: 'Secret', namespace, name: names.deployerSecret };
      const secret = await parent.get<KubeObject & { data?: Record<string, string> }>(key);
      if (secret === undefined) return undefined;
      const read = (field: string): string => Buffer.from(secret.data?.[field] ?? '', 'base64').toString();
      const [server, token, ca] = [read('apiserver-advertise-url'), read('token'), read('ca.crt')];
      const id = `${server} ${token}`;
      const present = known.get(id);
      if (present !== undefined) return present;
      const dispatcher = new Agent({ connect: { ca, timeout: 3000 } });
      const headers = { authorization: `Bearer ${token}` };
      const child = createEndpointClient({
        server,
        authenticate: () => Promise.resolve({ dispatcher, headers }),
      });
      agents.push(dispatcher);
      known.set(id, child);
      return child;
    },
    async close() {
      await Promise.all(agents.map((agent) => agent.destroy()));
    },
  };
}
