/** What the worker stands on: the cluster, Temporal, the keys, and the claim that both belong together. */
import { Client } from '@temporalio/client';
import type { DataConverter } from '@temporalio/common';
import type { NativeConnection } from '@temporalio/worker';
import type { Logger } from 'pino';
import { createSealer, parseSealKeys, sealKeyTime } from '../api/core/seal.js';
import type { Sealer } from '../api/core/seal.js';
import { clusterId } from '../api/plan/naming.js';
import { createClaimWords, mayNotKeepWords } from '../kube/claim-words.js';
import { createKubeClient } from '../kube/kubeconfig-client.js';
import type { KubeClient } from '../kube/client.js';
import { readClusterUid } from '../kube/cluster-id.js';
import { loadKubeConfig } from '../kube/config.js';
import { ownNamespace } from '../kube/own-namespace.js';
import { sealSecret } from '../kube/seal-secret.js';
import { createClaimNote } from '../runtime/claim-note.js';
import { createDataConverter } from '../runtime/encryption/data-converter.js';
import { holdClaim } from '../runtime/hold-claim.js';
import type { HeldClaim } from '../runtime/hold-claim.js';
import type { ProgramMetrics } from '../runtime/program-metrics.js';
import { openSealRing } from '../runtime/seal-ring.js';
import { connectToTemporal } from '../runtime/temporal/connect.js';
import { traceRequests } from '../runtime/tracing/requests.js';
import type { Tracing } from '../runtime/tracing/tracing.js';
import type { WorkerConfig } from './config.js';

/** What the worker is connected to. */
export interface Connected {
  kube: KubeClient;
  /** First eight characters of the kube-system namespace's uid. */
  cluster: string;
  /** `HOST:PORT` of Temporal's frontend. */
  temporal: string;
  /** Temporal's namespace. */
  namespace: string;
  connection: NativeConnection;
  client: Client;
  dataConverter: DataConverter;
  sealer: Sealer;
  claim: HeldClaim;
}

/**
 * Connects to everything, and waits until the claim is held and the keys of seals can be read.
 *
 * @param options.onWait called with what is missing meanwhile
 * @param options.signal ends the looks at the claim
 */
export async function connect(
  config: WorkerConfig,
  options: {
    log: Logger;
    onWait: (problem: string) => void;
    signal: AbortSignal;
    metrics: Pick<ProgramMetrics, 'onExchange' | 'watchSealRing'>;
    tracing: Tracing;
  },
): Promise<Connected> {
  const { log, onWait, signal, metrics, tracing } = options;
  const dataConverter = await createDataConverter({
    keys: config['encryption-keys'],
    onFault: (error) => {
      log.error({ err: error }, 'encryption keys cannot be read again: the ones read before stay in use');
    },
  });
  const kube = createKubeClient(loadKubeConfig({ file: config.kubeconfig }), {
    onExchange: metrics.onExchange,
    traceRequest: traceRequests(tracing),
  });
  const cluster = clusterId(await readClusterUid(kube));
  const installation = await ownNamespace(config.namespace);
  const { address, connection, namespace } = await connectToTemporal();
  const client = new Client({ connection, namespace, dataConverter });
  const claim = await holdClaim({
    words: createClaimWords({ kube, namespace: installation }),
    note: createClaimNote(client, cluster),
    renews: false,
    where: { cluster, temporal: `namespace ${namespace} of Temporal` },
    isRefusedByCluster: mayNotKeepWords,
    log,
    onWait,
    signal,
  });
  const sealRing = await openSealRing({
    file: config['seal-ring'],
    secret: sealSecret({ kube, namespace: installation, make: false }),
    parse: parseSealKeys,
    log,
    onWait,
  });
  metrics.watchSealRing(sealRing, ({ id }) => sealKeyTime(id));
  return {
    kube,
    cluster,
    temporal: address,
    namespace,
    connection,
    client,
    dataConverter,
    sealer: createSealer(sealRing),
    claim,
  };
}
