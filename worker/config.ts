/** What can be set on the worker. */
import { readPlace } from '../activities/core/places.js';
import { editDistance } from '../api/core/near.js';
import { group, optional, setting } from '../runtime/options/option.js';
import type { OptionValues, Program } from '../runtime/options/option.js';
import { INSTALLATION, KEYS, portClashes, portsOf, probes } from '../runtime/options/shared.js';
import { count, listOf, matching, onOff, path, text, valueType } from '../runtime/options/types.js';

const MAX_SLOTS = 10_000;
const slots = count({ max: MAX_SLOTS });

const place = valueType(
  'host:port',
  'HOST:PORT, where HOST may be a name, *.domain, an address or a CIDR, or a URL',
  (value) => readPlace(value.trim()),
);
const hosts = listOf({ ...text, placeholder: 'host' });
/** What Temporal accepts in the names of deployments and builds, and Kubernetes in a label. */
const label = matching(
  'name',
  'at most 63 letters, digits, ".", "-" and "_"',
  /^[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?$/,
);

const EGRESS = group('What actions may reach', {
  'egress-allow': setting(hosts, '', {
    means: 'host names, *.domain, addresses or CIDRs; when set, HTTP actions reach nothing else',
    see: 'operating.md#what-actions-reach',
  }),
  'egress-deny': setting(hosts, '', { means: 'the same; never reached, whatever else says' }),
  'egress-never': setting(listOf(place), '', {
    means:
      'endpoints of Drover as HOST:PORT or URL that no action reaches, whatever is allowed; HOST may be a name, *.domain, an address or a CIDR',
    see: 'operating.md#what-actions-reach',
  }),
  'temporal-ui': optional(place, {
    means: "where Temporal's Web UI is, which no action reaches",
    otherwise: "ports 8233 and 8080 of Temporal's host",
  }),
  'egress-allow-loopback': setting(onOff, 'false', { means: 'HTTP actions may reach loopback' }),
});

const CAPACITY = group('Capacity', {
  'max-activities': setting(slots, '200', {
    means: 'actions that are carried out at once',
    see: 'sizing.md',
  }),
  'max-waits': setting(slots, '1000', { means: 'waits for objects at once; they have slots of their own' }),
  'max-cached-workflows': setting(slots, '500', {
    means: 'runs that are kept in memory between their tasks',
    see: 'performance.md',
  }),
  'max-workflow-tasks': setting(slots, '40', {
    means: 'steps of runs that are taken at once',
    leaving: 'they all run on one core; more workers do more',
  }),
  'shutdown-grace-seconds': setting(count({ min: 0, max: 3600 }), '30', {
    means: 'how long running actions may go on after SIGTERM; give the pod 15 seconds more',
  }),
});

const BUILDS = group('Builds', {
  'build-id': optional(label, {
    means: 'name of the build',
    otherwise: 'version and digest of the workflow code',
    variables: ['DROVER_BUILD_ID', 'TEMPORAL_WORKER_BUILD_ID'],
    see: 'upgrading.md#builds',
  }),
  'pin-runs': setting(onOff, 'false', {
    means: 'each run is carried on by the build that began it',
    see: 'upgrading.md#several-builds-beside-each-other',
  }),
  'deployment-name': optional(
    { ...text, placeholder: 'name' },
    {
      means:
        "Worker Deployment, as Temporal's worker controller sets it: then runs are pinned, and something else decides which build begins them",
      otherwise: 'one for the cluster',
      variables: ['TEMPORAL_DEPLOYMENT_NAME'],
    },
  ),
  'workflow-bundle': optional(path, {
    means: 'prebuilt workflow code',
    otherwise: 'that beside the program',
    hidden: true,
  }),
  'workflow-stack-frames': setting(count({ min: 0, max: 100 }), '0', {
    means: 'most frames of a stack trace in workflow code',
    hidden: true,
  }),
});

const OPTIONS = {
  ...INSTALLATION,
  ...EGRESS,
  ...CAPACITY,
  ...BUILDS,
  ...probes('none'),
  ...KEYS,
};

/** What the worker was told, by name of the option. */
export type WorkerConfig = OptionValues<typeof OPTIONS>;

/** The worker. */
export const WORKER: Program<typeof OPTIONS> = {
  name: 'worker',
  summary: 'Carries runs out. Temporal itself is configured by the standard TEMPORAL_* variables.',
  options: OPTIONS,
  check: (values) => portClashes(portsOf(values)),
  editDistance,
};
