/** What can be set on the bridge. */
import { formatDuration, parseDuration } from '../api/core/duration.js';
import { editDistance } from '../api/core/near.js';
import { isAccountName } from '../api/plan/authority.js';
import { PREVIOUS_CONTROLLER_NAMES } from '../kube/previous-controller.js';
import { group, optional, setting } from '../runtime/options/option.js';
import type { OptionValues, Program, ValueType } from '../runtime/options/option.js';
import { INSTALLATION, KEYS, portClashes, portsOf, probes } from '../runtime/options/shared.js';
import {
  count,
  host,
  listOf,
  matching,
  oneOf,
  onOff,
  path,
  port,
  text,
  valueType,
} from '../runtime/options/types.js';

/** The longest wait that a timer takes is a few minutes less than 597 h; a longer one would be over at once. */
const MAX_TIMER_MS = 576 * 3_600_000;

/** Ten years: their authority lives forty times as long. */
const MAX_CERTIFICATE_MS = 87_600 * 3_600_000;

/** A duration. Without bounds: longer than nothing, and no longer than a timer can wait. */
const durationIn = ({ min = 1, max = MAX_TIMER_MS } = {}): ValueType<number> =>
  valueType(
    'duration',
    `a duration such as 500ms, 30s or 2m${min === 0 ? '' : `, at least ${formatDuration(min)}`}${max === Infinity ? '' : `, at most ${max / 3_600_000}h`}`,
    (text) => {
      const ms = parseDuration(text);
      return ms !== undefined && ms >= min && ms <= max ? ms : undefined;
    },
  );
const duration = durationIn();
/** A time that may be none at all. */
const wait = durationIn({ min: 0 });
const account = valueType('name', 'the name of a ServiceAccount; leave it out for none', (name) =>
  isAccountName(name) ? name : undefined,
);
const httpsUrl = valueType('url', 'a URL that begins with https://', (url) =>
  URL.canParse(url) && new URL(url).protocol === 'https:' ? url : undefined,
);
const service = matching(
  'name:port',
  'NAME or NAME:PORT of a Service',
  /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(:[0-9]{1,5})?$/,
);

const RIGHTS = group('Who may, and who acts', {
  'default-service-account': optional(account, {
    means: "service account, in the plan's namespace, of plans that name none",
    see: 'authority.md',
  }),
  authorization: setting(oneOf('Enforce', 'Warn', 'Off'), 'Enforce', {
    means: 'what admission does about people without the verbs for what they ask',
    see: 'authority.md',
  }),
  'unverified-approvals': setting(onOff, 'false', {
    means: 'without admission: let answers to approvals count although nobody knows who gave them',
    see: 'admission.md',
  }),
  'gitops-executions': setting(oneOf('RequestedAt', 'AsBefore'), 'RequestedAt', {
    means:
      'RequestedAt: an execution that a GitOps tool keeps must say spec.requestedAt; AsBefore: it need not',
    see: 'concepts.md',
  }),
});

const PACE = group('Pace', {
  concurrency: setting(count(), '32', { means: 'objects of a kind that are looked at at once' }),
  'start-window': setting(count(), '100', {
    means:
      'runs that may be started and not taken up by a worker yet; what is beyond waits, and can be cancelled at once',
    see: 'operating.md#more-at-once-than-can-be-done-at-once',
  }),
  'mirror-rate': setting(count(), '25', {
    means:
      'updates in a second of the live runs beyond 30 that are aimed at: the more, the more rarely each tells, at least every 5s',
  }),
  'mirror-interval': setting(wait, '500ms', { means: 'least time between two updates of a stage' }),
  'mirror-interval-large': setting(wait, '2s', { means: 'the same for runs of more than 1,000 actions' }),
  'mirror-begin': setting(wait, '1s', {
    means: 'least time before a stage tells for the first time',
    leaving: 'a stage that ends within a second is told once; --mirror-rate says how much is told',
  }),
  'mirror-debounce': setting(wait, '250ms', {
    means: 'how long a change of a run waits for others, to be told together',
    leaving: '--mirror-interval says how often a stage tells',
  }),
  'mirror-concurrency': setting(count(), '50', {
    means: 'updates of runs that are written at once',
    leaving: '--mirror-rate says how much is told, and the API server how fast it takes it',
  }),
});

const TIMES = group('Times and bounds', {
  'plan-wait': setting(wait, '30s', { means: 'how long a plan that is not checked yet is waited for' }),
  silence: setting(duration, '30s', { means: 'a run that says nothing for so long is looked up' }),
  'delete-wait': setting(wait, '2m', {
    means: 'how long a deleted execution waits for its cancelled run',
  }),
  'undo-step': setting(duration, '15m', { means: 'longest time of one undo step with all its attempts' }),
  settle: setting(duration, '5m', {
    means: 'longest time of settling an interrupted action; how long a Job may take to stop says --stop-wait',
  }),
  'stop-wait': setting(wait, '5m', {
    means:
      'how long past the end of their grace period the pods of a stopped Job are waited for; then StopUnconfirmed names them',
  }),
  'pause-reminder': setting(duration, '10m', { means: 'time between two reminders of a paused stage' }),
  'orphan-interval': setting(duration, '60s', {
    means: 'time between two searches for runs whose execution is gone',
  }),
  'orphan-confirm': setting(duration, '30s', {
    means: 'least time between the two looks that must find it gone',
  }),
  'task-wait': setting(duration, '30s', {
    means: 'a task that no worker has taken for so long is shown',
    hidden: true,
  }),
  'last-attempt': setting(wait, '10s', {
    means: 'an attempt of a stage that was ended from outside has given up by then',
    hidden: true,
  }),
  resync: setting(duration, '10m', {
    means: 'time after which every object is looked at again',
    hidden: true,
  }),
  'cache-check': setting(duration, '10m', {
    means: 'time between two comparisons of the caches with the API server, for events that a watch has lost',
    leaving: 'caches are compared every ten minutes',
  }),
});

const RETENTION = group('What is kept', {
  'history-limit': optional(count({ min: 0 }), {
    means: 'how many ended executions are kept of a plan that does not say',
    otherwise: 'all',
    see: 'operating.md#removing-ended-executions',
  }),
  'ttl-after-finished': optional(durationIn({ min: 0, max: Infinity }), {
    means: 'how long an ended execution is kept where neither it nor its plan says',
    otherwise: 'for ever',
    see: 'operating.md#removing-ended-executions',
  }),
  'snapshot-unused': setting(duration, '1h', {
    means: 'how long a snapshot that no execution names is kept after a run was last started from it',
  }),
  'retention-interval': setting(duration, '30s', {
    means: 'time between two looks for ended executions to be removed',
    hidden: true,
  }),
});

const PREVIOUS = group('The controller before', {
  'previous-controller': setting(
    listOf({ ...text, placeholder: 'name' }),
    PREVIOUS_CONTROLLER_NAMES.join(','),
    {
      means: 'parts of the names of Deployments beside which nothing is begun; empty: do not look',
      see: 'migrating.md',
    },
  ),
  'previous-controller-namespace': optional(
    { ...text, placeholder: 'name' },
    { means: 'look for them in this namespace only', otherwise: 'in all' },
  ),
  'previous-controller-check': setting(duration, '60s', {
    means: 'time between two looks whether one of them has come back',
    hidden: true,
  }),
});

const WEBHOOK = group('Admission', {
  'webhook-port': optional(port, {
    means: 'port of the admission webhooks',
    otherwise: 'no admission',
    see: 'admission.md',
  }),
  'webhook-host': setting(host, '127.0.0.1', {
    means: 'address that the webhooks are served on; 0.0.0.0 in a pod',
  }),
  'webhook-service': setting(service, 'drover-webhook:443', {
    means: "Service in the bridge's namespace by which the API server reaches them",
  }),
  'webhook-url': optional(httpsUrl, {
    means: 'https URL by which the API server reaches them, instead of the Service',
  }),
  'webhook-cert': optional(path, {
    means: 'certificate file, for certificates that somebody else makes; with --webhook-key',
    otherwise: 'the bridge makes its own',
  }),
  'webhook-key': optional(path, { means: 'key file of --webhook-cert' }),
  'webhook-ca': optional(path, {
    means: 'file of the authorities of --webhook-cert; without it their injection is left to others',
  }),
  'webhook-register': setting(onOff, 'true', {
    means: 'keep the webhook configurations; false fills authorities into those that are there',
  }),
  'webhook-certificate-life': setting(durationIn({ max: MAX_CERTIFICATE_MS }), '2160h', {
    means:
      'life of the certificates the bridge makes, renewed after two thirds; their authority lives forty times as long',
  }),
  'webhook-check': setting(duration, '60s', {
    means: 'time between two looks at certificates and configurations',
    leaving: 'they are looked at every minute',
  }),
});

const CODEC = group('Codec endpoint', {
  'codec-port': optional(port, {
    means: 'port through which the Web UI shows encrypted payloads to those who may; with --encryption-keys',
    otherwise: 'none',
    see: 'encryption.md',
  }),
  'codec-host': setting(host, '127.0.0.1', {
    means: 'address that it is served on; 0.0.0.0 in a pod',
  }),
  'codec-origins': setting(listOf({ ...text, placeholder: 'origin' }), '', {
    means: 'origins of the Web UI that may ask it, such as https://temporal.example.com',
  }),
});

const OPTIONS = {
  ...INSTALLATION,
  ...RIGHTS,
  ...probes('8081, unless there is a metrics port'),
  ...WEBHOOK,
  ...KEYS,
  ...CODEC,
  ...TIMES,
  ...RETENTION,
  ...PACE,
  ...PREVIOUS,
};

/** What the bridge was told, by name of the option. */
export type BridgeConfig = OptionValues<typeof OPTIONS>;

/** The bridge. */
export const BRIDGE: Program<typeof OPTIONS> = {
  name: 'crd-bridge',
  summary:
    'Starts Temporal runs for DRPlanExecutions and keeps their status. Temporal itself is configured by the standard TEMPORAL_* variables.',
  options: OPTIONS,
  check: (values) => {
    const { 'webhook-cert': cert, 'webhook-key': key, 'codec-port': codec, 'encryption-keys': keys } = values;
    return [
      ...((cert === undefined) === (key === undefined)
        ? []
        : ['--webhook-cert and --webhook-key are given together or not at all']),
      ...(codec === undefined || keys !== undefined
        ? []
        : ['--codec-port needs --encryption-keys: there is nothing to decode']),
      ...portClashes({ ...portsOf(values), '--webhook-port': values['webhook-port'], '--codec-port': codec }),
    ];
  },
  editDistance,
};
