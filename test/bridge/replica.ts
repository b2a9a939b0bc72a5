/** One more replica of the bridge, in this process and with short times: all replicas are active, so it may join any time. */
import { randomBytes } from 'node:crypto';
import { Client } from '@temporalio/client';
import { NativeConnection, Runtime } from '@temporalio/worker';
import { pino } from 'pino';
import type { Kind } from '../../api/core/group.js';
import { clusterId } from '../../api/plan/naming.js';
import { createRuns } from '../../client/runs/runs.js';
import type { Runs } from '../../client/runs/runs.js';
import { createWorkflows } from '../../client/runs/workflows.js';
import { startBridge } from '../../crd-bridge/bridge.js';
import type { Bridge, BridgeOptions } from '../../crd-bridge/bridge.js';
import { BRIDGE } from '../../crd-bridge/config.js';
import { createMetrics } from '../../crd-bridge/core/metrics.js';
import { createKubeClient } from '../../kube/kubeconfig-client.js';
import { readClusterUid } from '../../kube/cluster-id.js';
import { loadKubeConfig } from '../../kube/config.js';
import { readOptions } from '../../runtime/options/read-options.js';
import { NO_TRACING } from '../../runtime/tracing/tracing.js';
import { stackSealer } from '../support/seals.js';
import { servers } from '../support/servers.js';

export interface Replica {
  bridge: Bridge;
  runs: Runs;
  cluster: string;
  /** Writes to the Kubernetes API so far, Events included. */
  writes(): Promise<number>;
  /** Looks at objects of a kind so far: a marker that shows it has had the occasion to do something. */
  looks(kind: Kind): Promise<number>;
  stop(): Promise<void>;
}

const FAST = [
  '--silence=1s',
  '--delete-wait=3s',
  '--orphan-interval=500ms',
  '--orphan-confirm=1s',
  '--last-attempt=3s',
];

let installed = false;

/**
 * Starts a replica.
 *
 * @param options.flags more flags than the fast ones
 * @param options.temporal address of another Temporal than the stack's
 * @param options.kubeconfig of another cluster than the stack's
 * @param options.rows another table than that of all systems, with its kinds
 * @param options.controllerIdentity false: plans have to name the account that acts. Default true
 */
export async function startReplica({
  flags = [],
  temporal = servers.temporal,
  kubeconfig = servers.kubeconfig,
  controllerIdentity = true,
  cluster: given,
  ...table
}: {
  flags?: readonly string[];
  temporal?: string;
  kubeconfig?: string;
  controllerIdentity?: boolean;
  /** A cluster id that a test has made up: then nothing of the stack's is touched. */
  cluster?: string;
} & Pick<BridgeOptions, 'rows' | 'kinds'> = {}): Promise<Replica> {
  if (!installed) Runtime.install({ shutdownSignals: [] });
  installed = true;
  const kube = createKubeClient(loadKubeConfig({ file: kubeconfig }));
  const connection = await NativeConnection.connect({ address: temporal });
  const namespace = servers.temporalNamespace;
  const [{ namespaceInfo }, { clusterId: temporalCluster }] = await Promise.all([
    connection.workflowService.describeNamespace({ namespace }),
    connection.workflowService.getClusterInfo({}),
  ]);
  const client = new Client({ connection, namespace });
  const runs = createRuns(client);
  const cluster = given ?? clusterId(await readClusterUid(kube));
  const argv = [...FAST, ...(controllerIdentity ? ['--controller-identity'] : []), ...flags];
  const read = readOptions(BRIDGE, argv, {});
  if (read.kind !== 'values') throw new Error(JSON.stringify(read));
  const metrics = createMetrics();
  const bridge = await startBridge({
    kube,
    runs,
    workflows: createWorkflows(client),
    ...table,
    sealer: await stackSealer(),
    connection,
    temporal: {
      namespace,
      namespaceId: namespaceInfo?.id ?? '',
      clusterId: temporalCluster,
      searchAttributes: true,
    },
    cluster,
    config: read.values,
    log: pino({ level: process.env.DROVER_TEST_LOG ?? 'silent' }),
    metrics,
    tracing: NO_TRACING,
    instance: `replica-${randomBytes(3).toString('hex')}`,
  });
  await bridge.whenSynced();
  return {
    bridge,
    runs,
    cluster,
    async writes() {
      const metric = await metrics.registry.getSingleMetric('drover_bridge_api_writes_total')?.get();
      return (metric?.values ?? []).reduce((sum, { value }) => sum + value, 0);
    },
    async looks(kind) {
      const metric = await metrics.registry.getSingleMetric('drover_bridge_reconcile_seconds')?.get();
      const counts = (metric?.values ?? []) as { metricName?: string; labels: object; value: number }[];
      const count = counts.find(
        ({ metricName, labels }) =>
          metricName?.endsWith('_count') && 'kind' in labels && labels.kind === kind,
      );
      return count?.value ?? 0;
    },
    async stop() {
      await bridge.stop();
      await connection.close();
    },
  };
}
