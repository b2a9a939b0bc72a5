/** What is measured: a cluster, the controller on it, and where it runs on this machine, the processes. */
import { Client, Connection } from '@temporalio/client';
import { createKubeClient } from '../../kube/kubeconfig-client.js';
import type { KubeClient } from '../../kube/client.js';
import { loadKubeConfig } from '../../kube/config.js';
import { compressingConverter } from '../../runtime/compression.js';

/** A connected system. */
export interface System {
  kube: KubeClient;
  /** File that leads to the cluster. */
  kubeconfig: string;
  /** Absent where no Temporal was named. */
  temporal?: { client: Client; connection: Connection; address: string; namespace: string };
  /** Processes of this machine that belong to it, by name. */
  pids(): Promise<Record<string, number>>;
  /** Absent: somebody else looks after the processes. */
  embedded?: Embedded;
  /** Takes down what was brought up for this system, and disconnects. */
  close(): Promise<void>;
}

/** A system of the embedded default. */
export interface Embedded {
  /** Ends a process at once, as a crash would; resolves when it is gone. */
  kill(name: 'bridge' | 'worker'): Promise<void>;
  /** Lets a process end by itself. */
  stop(name: 'bridge' | 'worker'): Promise<void>;
  /** Starts again whatever of it does not run; resolves when all of it serves. */
  restore(): Promise<void>;
  /**
   * Starts as many more bridges and workers, which share the work with the first ones; resolves when all of them serve.
   * Admission stays with the first bridge.
   *
   * @returns ends those that were started
   */
  addReplicas(count: number): Promise<() => Promise<void>>;
  /** URL of the bridge's or worker's readiness probe. */
  readyUrl(name: 'bridge' | 'worker'): Promise<string>;
}

/** Connects to a Temporal. */
export async function connectTemporal(endpoints: {
  temporal: string;
  temporalNamespace: string;
}): Promise<NonNullable<System['temporal']>> {
  const { temporal: address, temporalNamespace: namespace } = endpoints;
  const connection = await Connection.connect({ address });
  const dataConverter = compressingConverter();
  return { client: new Client({ connection, namespace, dataConverter }), connection, address, namespace };
}

/** Connects to a cluster that somebody else looks after. */
export async function openCluster(options: {
  kubeconfig: string;
  temporal?: string;
  temporalNamespace: string;
  pids: Record<string, number>;
}): Promise<System> {
  const kube = createKubeClient(loadKubeConfig({ file: options.kubeconfig }));
  const temporal =
    options.temporal === undefined
      ? undefined
      : await connectTemporal({ temporal: options.temporal, temporalNamespace: options.temporalNamespace });
  return {
    kube,
    kubeconfig: options.kubeconfig,
    ...(temporal !== undefined && { temporal }),
    pids: () => Promise.resolve(options.pids),
    async close() {
      await temporal?.connection.close();
    },
  };
}
