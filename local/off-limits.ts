import { dataPaths } from './paths.js';
import { readState, type PortName } from './state.js';

/** Where the command line serves payloads in the clear, if it was not told otherwise. */
const CODEC_PORT = 8234;

/** What a data dir serves that no action may reach; all as `HOST:PORT`. */
export interface OffLimits {
  /** Whether the cluster is the embedded one, where loopback is reached but for this. */
  isEmbeddedCluster: boolean;
  temporal: string;
  temporalUi: string | undefined;
  workerPorts: number[];
  never: string[];
}

/** What the worker of a data dir that is up was told; undefined when it was never brought up. */
export async function offLimits(dataDir: string): Promise<OffLimits | undefined> {
  const state = await readState(dataPaths(dataDir).state);
  if (state === undefined) return undefined;
  const { ports, mode } = state;
  const temporal = mode.temporal === 'embedded' ? `127.0.0.1:${ports.temporal}` : mode.temporal;
  return {
    isEmbeddedCluster: mode.cluster === 'embedded',
    temporal,
    workerPorts: [ports.workerHealth, ports.workerMetrics].filter((port) => port !== undefined),
    ...ownEndpoints({ ports, temporal }),
  };
}

/** Everything that listens here and that no action may reach; for the API server the worker has a rule of its own. */
export function ownEndpoints(options: {
  ports: Partial<Record<PortName, number>>;
  temporal: string;
}): Pick<OffLimits, 'never' | 'temporalUi'> {
  const { ports, temporal } = options;
  const isEmbeddedTemporal = temporal === `127.0.0.1:${ports.temporal}`;
  const mine = (Object.keys(ports) as PortName[]).filter(
    (port) => port !== 'apiserver' && (isEmbeddedTemporal || !port.startsWith('temporal')),
  );
  const codecs = [CODEC_PORT, Number(process.env.DROVER_CODEC_PORT)].filter((port) => port > 0);
  return {
    never: [...mine.map((port) => ports[port]), ...codecs].map((port) => `127.0.0.1:${port}`),
    temporalUi: isEmbeddedTemporal ? `127.0.0.1:${ports.temporalUi}` : undefined,
  };
}
