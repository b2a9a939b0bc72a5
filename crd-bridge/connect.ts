/** What the bridge stands on: the cluster, Temporal, the keys, and the claim that both belong together. */
import type { Server } from 'node:http';
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
import { traceRequests } from '../runtime/tracing/requests.js';
import type { Tracing } from '../runtime/tracing/tracing.js';
import { serveCodec } from './codec.js';
import type { BridgeConfig } from './config.js';
import { connectTemporal } from './temporal.js';
import type { TemporalLink } from './temporal.js';

/** What the bridge is connected to. */
export interface Connected {
  kube: KubeClient;
  /** First eight characters of the kube-system namespace's uid. */
  cluster: string;
  temporal: TemporalLink;
  sealer: Sealer;
  claim: HeldClaim;
  /** The codec endpoint, where one is configured. */
  codec: Server | undefined;
}

/**
 * Connects to everything, and waits until the claim is held and the keys of seals can be read.
 *
 * @param options.onWait called with what is missing meanwhile
 * @param options.signal ends the looks at the claim
 */
export async function connect(
  config: BridgeConfig,
  options: {
    log: Logger;
    onWait: (problem: string) => void;
    signal: AbortSignal;
    metrics: Pick<ProgramMetrics, 'onExchange' | 'watchSealRing'>;
    tracing: Tracing;
  },
): Promise<Connected> {
  const { log, onWait, signal, metrics, tracing } = options;
  const kube = createKubeClient(loadKubeConfig({ file: config.kubeconfig }), {
    onExchange: metrics.onExchange,
    traceRequest: traceRequests(tracing),
  });
  const dataConverter = await createDataConverter({
    keys: config['encryption-keys'],
    onFault: (error) => {
      log.error({ err: error }, 'encryption keys cannot be read again: the ones read before stay in use');
    },
  });
  const codec = await serveCodec({ config, dataConverter, kube, log });
  const [cluster, temporal] = await Promise.all([
    readClusterUid(kube).then(clusterId),
    connectTemporal({ log, dataConverter, tracing }),
  ]);
  const namespace = await ownNamespace(config.namespace);
  const claim = await holdClaim({
    words: createClaimWords({ kube, namespace }),
    note: createClaimNote(temporal.client, cluster),
    renews: true,
    where: { cluster, temporal: `namespace ${temporal.namespace} of Temporal` },
    isRefusedByCluster: mayNotKeepWords,
    log,
    onWait,
    signal,
  });
  // Only now: an installation that may do nothing makes no keys either.
  const sealRing = await openSealRing({
    file: config['seal-ring'],
    secret: sealSecret({ kube, namespace, make: true }),
    parse: parseSealKeys,
    log,
    onWait,
  });
  metrics.watchSealRing(sealRing, ({ id }) => sealKeyTime(id));
  return { kube, cluster, temporal, sealer: createSealer(sealRing), claim, codec };
}
