/** Options that bridge and worker share, so that one environment does for both. */
import { readUnsealedUntil } from '../unsealed-until.js';
import { group, optional, setting } from './option.js';
import type { Option, ValueType } from './option.js';
import { host, oneOf, onOff, path, port, text } from './types.js';

/** Until when runs without seals may go on. */
const unsealedUntil: ValueType<Date> = {
  placeholder: 'time',
  read(value) {
    const until = readUnsealedUntil(value);
    return until instanceof Date ? { value: until } : until;
  },
};

/** Which cluster, which installation, whose rights. */
export const INSTALLATION = group('Installation', {
  kubeconfig: optional(path, { means: 'kubeconfig file', otherwise: "the pod's own account" }),
  namespace: optional(
    { ...text, placeholder: 'name' },
    {
      means: 'namespace of the installation, where its Secrets are',
      otherwise: 'that of the pod, else drover-system',
    },
  ),
  'controller-identity': setting(onOff, 'false', {
    means:
      "let plans without a service account act with the controller's own rights; bridge and worker must agree",
    see: 'authority.md',
  }),
});

/** Keys of what passes through Temporal. */
export const KEYS = group('Encryption and seals', {
  'encryption-keys': optional(path, {
    means: 'folder of the keys that payloads in Temporal are encrypted with',
    otherwise: 'payloads are in the clear',
    see: 'encryption.md',
  }),
  'seal-ring': optional(path, {
    means: 'file of the keys of seals',
    otherwise: 'Secret drover-seal in the namespace of the installation',
    see: 'operating.md#keys-of-seals',
  }),
  'accept-unsealed-until': optional(unsealedUntil, {
    means: 'moment, at most 24h ahead, until which runs that a release without seals has begun go on',
    see: 'operating.md#keys-of-seals',
  }),
});

/** Options about probes, metrics, profiles and the log. */
type ProbeOptions = Record<'health-host' | 'log-level', Option<string>> &
  Record<'health-port' | 'metrics-port' | 'profile-port', Option<number | undefined>> &
  Record<'metrics-exemplars', Option<boolean>>;

/**
 * Probes, metrics, profiles and the log.
 *
 * @param healthPort what holds where no port is given
 */
export const probes = (healthPort: string): ProbeOptions =>
  group('Probes, metrics, profiles and log', {
    'health-host': setting(host, '127.0.0.1', {
      means: 'address that probes and metrics are served on; 0.0.0.0 in a pod',
    }),
    'health-port': optional(port, {
      means: 'port of /healthz, /readyz and /metrics',
      otherwise: healthPort,
    }),
    'metrics-port': optional(port, { means: 'a further port of the same; may be the same one' }),
    'metrics-exemplars': setting(onOff, 'false', {
      means:
        'histograms name a trace beside each bucket, and metrics are served in the format of OpenMetrics; needs traces',
      see: 'observability.md#exemplars',
    }),
    'profile-port': optional(port, {
      means: 'port, on the loopback interface alone, at which those who may take profiles of the program',
      otherwise: 'none',
      see: 'observability.md#profiles',
    }),
    'log-level': setting(oneOf('trace', 'debug', 'info', 'warn', 'error', 'fatal'), 'info', {
      means: 'least severe lines that are logged, in JSON, on standard output',
    }),
  });

/** Ports that every program may listen on, by flag. Probes and metrics may share one. */
export const portsOf = (
  values: Readonly<Record<'health-port' | 'metrics-port' | 'profile-port', number | undefined>>,
): Record<string, number | undefined> => ({
  '--health-port': values['health-port'],
  ...(values['metrics-port'] !== values['health-port'] && { '--metrics-port': values['metrics-port'] }),
  '--profile-port': values['profile-port'],
});

/** What is wrong with ports, by flag: two servers cannot listen on one. */
export function portClashes(ports: Readonly<Record<string, number | undefined>>): string[] {
  const taken = new Map<number, string>();
  return Object.entries(ports).flatMap(([flag, port]) => {
    if (port === undefined || port === 0) return [];
    const other = taken.get(port);
    taken.set(port, flag);
    return other === undefined ? [] : [`${other} and ${flag} are both ${port}: give each a port of its own`];
  });
}
