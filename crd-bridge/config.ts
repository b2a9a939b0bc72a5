import { parseArgs } from 'node:util';
import { z } from 'zod';
import { isAccountName } from '../api/plan/authority.js';
import { parseDuration } from '../api/core/duration.js';
import { PREVIOUS_CONTROLLER_NAMES } from '../kube/previous-controller.js';
import { readUnsealedUntil } from '../runtime/unsealed-until.js';

/** Treats an empty variable as not set: as a number it would be zero. */
const unsetIfEmpty = (text: unknown): unknown => (text === '' ? undefined : text);
const milliseconds = z.string().transform((text, context) => {
  const ms = parseDuration(text);
  if (ms !== undefined) return ms;
  context.addIssue({
    code: 'custom',
    message: `is "${text}"; expected a duration such as 500ms, 30s or 2m`,
  });
  return z.NEVER;
});
const duration = (fallback: string) => z.string().default(fallback).pipe(milliseconds);
const unsealedUntil = z.string().transform((text, context) => {
  const until = readUnsealedUntil(text);
  if (until instanceof Date) return until;
  context.addIssue({ code: 'custom', message: until.problem });
  return z.NEVER;
});
const optionalDuration = z.preprocess(unsetIfEmpty, milliseconds.optional());
const count = (fallback: number) => z.coerce.number().int().min(1).default(fallback);
const optionalCount = z.preprocess(unsetIfEmpty, z.coerce.number().int().min(0).optional());
const port = z.coerce.number().int().min(0).max(65535);
const isOn = (text: string): boolean => text === 'true' || text === '1';
const flag = z.enum(['true', 'false', '1', '0', '']).default('false').transform(isOn);

const path = z.string().min(1).optional();
const serviceName = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(:[0-9]{1,5})?$/;

const schema = z.object({
  kubeconfig: z.string().optional(),
  'health-host': z.string().default('127.0.0.1'),
  'health-port': port.optional(),
  'metrics-port': port.optional(),
  'controller-identity': flag,
  'default-service-account': z
    .string()
    .refine(isAccountName, { error: 'must be the name of a ServiceAccount; leave it out for none' })
    .optional(),
  authorization: z.enum(['Enforce', 'Warn', 'Off']).default('Enforce'),
  'gitops-executions': z.enum(['RequestedAt', 'AsBefore']).default('RequestedAt'),
  'unverified-approvals': flag,
  'encryption-keys': path,
  'codec-port': port.optional(),
  'codec-host': z.string().default('127.0.0.1'),
  'codec-origins': z
    .string()
    .default('')
    .transform((text) => text.split(',').flatMap((item) => (item.trim() === '' ? [] : [item.trim()]))),
  'log-level': z.enum(['trace', 'debug', 'info', 'warn', 'error']).default('info'),
  concurrency: count(32),
  'start-window': count(100),
  'mirror-concurrency': count(50),
  'mirror-debounce': duration('250ms'),
  'mirror-begin': duration('1s'),
  'mirror-rate': count(25),
  'mirror-interval': duration('500ms'),
  'mirror-interval-large': duration('2s'),
  'plan-wait': duration('30s'),
  silence: duration('30s'),
  'delete-wait': duration('2m'),
  'orphan-interval': duration('60s'),
  'orphan-confirm': duration('30s'),
  resync: duration('10m'),
  'cache-check': duration('10m'),
  'history-limit': optionalCount,
  'ttl-after-finished': optionalDuration,
  'retention-interval': duration('30s'),
  'snapshot-unused': duration('1h'),
  'previous-controller': z
    .string()
    .default(PREVIOUS_CONTROLLER_NAMES.join(','))
    .transform((text) =>
      text
        .split(',')
        .map((name) => name.trim())
        .filter((name) => name !== ''),
    ),
  'previous-controller-namespace': z.string().min(1).optional(),
  'previous-controller-check': duration('60s'),
  'undo-step': duration('15m'),
  settle: duration('5m'),
  'stop-wait': duration('5m'),
  'pause-reminder': duration('10m'),
  namespace: z.string().min(1).optional(),
  'seal-ring': path,
  'accept-unsealed-until': z.preprocess(unsetIfEmpty, unsealedUntil.optional()),
  'webhook-port': port.optional(),
  'webhook-host': z.string().default('127.0.0.1'),
  'webhook-url': z.url({ protocol: /^https$/, error: 'must be a URL that begins with https://' }).optional(),
  'webhook-service': z
    .string()
    .regex(serviceName, 'must be NAME or NAME:PORT of a Service')
    .default('drover-webhook:443'),
  'webhook-cert': path,
  'webhook-key': path,
  'webhook-ca': path,
  'webhook-register': z.enum(['true', 'false', '1', '0']).default('true').transform(isOn),
  'webhook-certificate-life': duration('2160h'),
  'webhook-check': duration('60s'),
});

const pairs = schema.refine(
  ({ 'webhook-cert': cert, 'webhook-key': key }) => (cert === undefined) === (key === undefined),
  { path: ['webhook-key'], error: 'webhook-cert and webhook-key are given together or not at all' },
);

/** Values of the flags, by name; each can also be given as `DROVER_<NAME>`. */
export type BridgeConfig = z.output<typeof schema>;

/** What each flag means, for `--help`. */
const HELP: Record<keyof BridgeConfig, string> = {
  kubeconfig: "kubeconfig file; without it the pod's own account is used",
  'health-host': 'address that probes and metrics are served on (127.0.0.1; 0.0.0.0 in a pod)',
  'health-port': 'port of /healthz, /readyz and /metrics (8081)',
  'metrics-port': 'the same server; wins over health-port',
  'controller-identity': "let plans without a service account act with the controller's own rights",
  'gitops-executions':
    'RequestedAt: an execution that a GitOps tool keeps must say spec.requestedAt; AsBefore: it need not (RequestedAt)',
  'unverified-approvals':
    'without admission: let answers to approvals count although nobody knows who gave them',
  'default-service-account': "service account, in the plan's namespace, of plans that name none",
  'encryption-keys':
    'folder of the keys that payloads in Temporal are encrypted with; without it they are in the clear',
  'codec-port':
    'port of the codec endpoint, through which the Web UI shows encrypted payloads to those who may; with encryption-keys',
  'codec-host': 'address that the codec endpoint is served on (127.0.0.1; 0.0.0.0 in a pod)',
  'codec-origins': 'origins of the Web UI that may ask it, such as https://temporal.example.com; by commas',
  authorization:
    'what admission does about people without the verbs for what they ask: Enforce, Warn or Off (Enforce)',
  'log-level': 'trace, debug, info, warn or error (info)',
  concurrency: 'objects of a kind that are looked at at once (32)',
  'start-window':
    'runs that may be started and not taken up by a worker yet; what is beyond waits, and can be cancelled at once (100)',
  'mirror-concurrency': 'updates of runs that are written at once (50)',
  'mirror-debounce': 'how long a change of a run waits for others, to be told together (250ms)',
  'mirror-begin':
    'least time before a stage tells for the first time: one that ends sooner is told once (1s)',
  'mirror-rate':
    'updates in a second of the live runs beyond 30 that are aimed at: the more, the more rarely each tells, at least every 5s (25)',
  'mirror-interval': 'least time between two updates of a stage (500ms)',
  'mirror-interval-large': 'the same for runs of more than 1,000 actions (2s)',
  'plan-wait': 'how long a plan that is not checked yet is waited for (30s)',
  silence: 'a run that says nothing for so long is looked up (30s)',
  'delete-wait': 'how long a deleted execution waits for its cancelled run (2m)',
  'orphan-interval': 'time between two searches for runs whose execution is gone (60s)',
  'orphan-confirm': 'least time between the two looks that must find it gone (30s)',
  resync: 'time after which every object is looked at again (10m)',
  'cache-check':
    'time between two comparisons of the caches with the API server, for events that a watch has lost (10m)',
  'history-limit': 'how many ended executions are kept of a plan that does not say; without it all are kept',
  'ttl-after-finished':
    'how long an ended execution is kept where neither it nor its plan says; without it for ever',
  'retention-interval': 'time between two looks for ended executions to be removed (30s)',
  'snapshot-unused':
    'how long a snapshot that no execution names is kept after a run was last started from it (1h)',
  'previous-controller':
    'parts of the names of Deployments beside which nothing is begun; empty: do not look (drplan-controller)',
  'previous-controller-namespace': 'look for them in this namespace only',
  'previous-controller-check': 'time between two looks whether one of them has come back (60s)',
  'undo-step': 'longest time of one undo step with all its attempts (15m)',
  settle:
    'longest time of settling an interrupted action; how long a Job may take to stop says stop-wait (5m)',
  'stop-wait':
    'how long past the end of their grace the pods of a stopped Job are waited for; then StopUnconfirmed names them (5m)',
  'pause-reminder': 'time between two reminders of a paused stage (10m)',
  namespace:
    'namespace of the installation, for the Secrets of its certificates and of its seals (that of the pod, else drover-system)',
  'seal-ring': 'file of the keys of seals, instead of Secret drover-seal in that namespace',
  'accept-unsealed-until':
    'moment, at most 24h ahead, until which runs that a release without seals has begun may end although their execution is gone',
  'webhook-port': 'port of the admission webhooks; without it there is no admission',
  'webhook-host': 'address that the webhooks are served on (127.0.0.1; 0.0.0.0 in a pod)',
  'webhook-url': 'https URL by which the API server reaches the webhooks, instead of the Service',
  'webhook-service':
    "Service in the bridge's namespace by which the API server reaches them (drover-webhook:443)",
  'webhook-cert': 'certificate file, for certificates that somebody else makes; with webhook-key',
  'webhook-key': 'key file of webhook-cert',
  'webhook-ca': 'file of the authorities of webhook-cert; without it their injection is left to others',
  'webhook-register':
    'keep the webhook configurations; false fills authorities into those that are there (true)',
  'webhook-certificate-life': 'life of the certificates the bridge makes; renewed after two thirds (2160h)',
  'webhook-check': 'time between two looks at certificates and configurations (60s)',
};

/** The configuration, what is wrong with it, or a request for help. */
export type ConfigResult =
  | { kind: 'config'; config: BridgeConfig }
  | { kind: 'help'; text: string }
  | { kind: 'invalid'; message: string };

/** Reads flags, then `DROVER_*` variables, then defaults. */
export function readConfig(argv: readonly string[], env: NodeJS.ProcessEnv): ConfigResult {
  const names = Object.keys(schema.shape) as (keyof BridgeConfig)[];
  let values: Record<string, string | boolean | undefined>;
  try {
    ({ values } = parseArgs({
      args: normalize(argv),
      options: {
        help: { type: 'boolean' },
        ...Object.fromEntries(names.map((name) => [name, { type: 'string' }] as const)),
      },
    }));
  } catch (error) {
    return { kind: 'invalid', message: error instanceof Error ? error.message : String(error) };
  }
  if (values.help === true) return { kind: 'help', text: helpText(names) };
  const raw = Object.fromEntries(names.map((name) => [name, values[name] ?? env[variable(name)]]));
  const parsed = pairs.safeParse(raw);
  if (parsed.success) return { kind: 'config', config: parsed.data };
  return {
    kind: 'invalid',
    message: parsed.error.issues
      .map((issue) => `--${issue.path.join('.')} (or ${variable(String(issue.path[0]))}): ${issue.message}`)
      .join('\n'),
  };
}

const SWITCHES = new Set(['--controller-identity', '--unverified-approvals']);

/** Lets a switch stand alone: `--controller-identity`. */
const normalize = (argv: readonly string[]): string[] =>
  argv.map((argument) => (SWITCHES.has(argument) ? `${argument}=true` : argument));

const variable = (name: string): string => `DROVER_${name.toUpperCase().replaceAll('-', '_')}`;

const helpText = (names: readonly (keyof BridgeConfig)[]): string =>
  [
    'Starts Temporal runs for DRPlanExecutions and keeps their status.',
    'Temporal is configured by the standard TEMPORAL_* variables. Each flag can also be given as DROVER_<NAME>.',
    '',
    ...names.map((name) => `  --${name.padEnd(31)}${HELP[name]}`),
    '',
  ].join('\n');
