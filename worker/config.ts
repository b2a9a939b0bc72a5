import { z } from 'zod';
import { readPlace } from '../activities/core/places.js';
import type { Place } from '../activities/core/places.js';
import { readUnsealedUntil } from '../runtime/unsealed-until.js';

const flag = z
  .enum(['true', 'false', '1', '0', ''])
  .optional()
  .transform((value) => value === 'true' || value === '1');
const port = z.coerce.number().int().min(0).max(65_535);
const count = (fallback: number) => z.coerce.number().int().min(1).max(10_000).default(fallback);
const list = z
  .string()
  .optional()
  .transform((value) =>
    (value ?? '').split(',').flatMap((item) => (item.trim() === '' ? [] : [item.trim()])),
  );

const PLACE_FORM = 'expected HOST:PORT, where HOST may be a name, *.domain, an address or a CIDR, or a URL';
const place = z
  .string()
  .optional()
  .transform((text, context) => {
    if (text === undefined || text.trim() === '') return undefined;
    const read = readPlace(text.trim());
    if (read !== undefined) return read;
    context.addIssue({ code: 'custom', message: PLACE_FORM });
    return z.NEVER;
  });
const places = list.transform((items, context) =>
  items.flatMap((item) => {
    const read = readPlace(item);
    if (read === undefined) {
      context.addIssue({ code: 'custom', message: `${JSON.stringify(item)}: ${PLACE_FORM}` });
    }
    return read ?? [];
  }),
);

const unsealedUntil = z
  .string()
  .optional()
  .transform((text, context) => {
    if (text === undefined || text === '') return undefined;
    const until = readUnsealedUntil(text);
    if (until instanceof Date) return until;
    context.addIssue({ code: 'custom', message: until.problem });
    return z.NEVER;
  });

/** What Temporal accepts in the names of deployments and builds, and Kubernetes in a label. */
const label = z
  .string()
  .regex(/^([A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?)?$/, {
    error: 'expected at most 63 letters, digits, ".", "-" and "_"',
  })
  .optional()
  .transform((value) => value || undefined);

const schema = z.object({
  DROVER_KUBECONFIG: z.string().optional(),
  DROVER_HEALTH_HOST: z.string().default('127.0.0.1'),
  DROVER_HEALTH_PORT: port.optional(),
  DROVER_METRICS_PORT: port.optional(),
  DROVER_CONTROLLER_IDENTITY: flag,
  DROVER_EGRESS_ALLOW_LOOPBACK: flag,
  DROVER_EGRESS_ALLOW: list,
  DROVER_EGRESS_DENY: list,
  DROVER_EGRESS_NEVER: places,
  DROVER_TEMPORAL_UI: place,
  DROVER_SHUTDOWN_GRACE_SECONDS: z.coerce.number().int().min(0).max(3600).default(30),
  DROVER_MAX_CACHED_WORKFLOWS: count(500),
  DROVER_MAX_WORKFLOW_TASKS: count(40),
  DROVER_MAX_ACTIVITIES: count(200),
  DROVER_MAX_WAITS: count(1000),
  DROVER_WORKFLOW_STACK_FRAMES: z.coerce.number().int().min(0).max(100).default(0),
  DROVER_ENCRYPTION_KEYS: z.string().min(1).optional(),
  DROVER_NAMESPACE: z.string().min(1).optional(),
  DROVER_SEAL_RING: z.string().min(1).optional(),
  DROVER_ACCEPT_UNSEALED_UNTIL: unsealedUntil,
  DROVER_LOG_LEVEL: z.enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace']).default('info'),
  DROVER_WORKFLOW_BUNDLE: z.string().optional(),
  DROVER_BUILD_ID: label,
  DROVER_PIN_RUNS: flag,
  // As Temporal's worker controller sets them.
  TEMPORAL_WORKER_BUILD_ID: label,
  TEMPORAL_DEPLOYMENT_NAME: z.string().optional(),
});

/** Configuration of the worker process. Temporal's own (`TEMPORAL_ADDRESS`, …) is read by its environment library. */
export interface WorkerConfig {
  /** Kubeconfig file; absent = the pod's service account. */
  kubeconfig?: string;
  /** Address that health and metrics listen on (default 127.0.0.1; a pod wants 0.0.0.0). */
  healthHost: string;
  /** Port of `/healthz` and `/readyz`; absent = none. */
  healthPort?: number;
  /** Port of `/metrics`; absent = none. May be the health port. */
  metricsPort?: number;
  /** Whether a plan without a service account acts as the controller. */
  controllerIdentity: boolean;
  egress: { allowLoopback: boolean; allow: string[]; deny: string[] };
  /** Endpoints of Drover that no action may reach, beside those that the worker knows by itself. */
  never: Pick<Place, 'host' | 'port'>[];
  /** Where Temporal's Web UI is, which no action reaches; absent = at its usual ports on Temporal's host. */
  temporalUi?: Pick<Place, 'host' | 'port'>;
  /** How long running actions may go on after SIGTERM, in milliseconds (default 30 s). */
  shutdownGraceMs: number;
  maxCachedWorkflows: number;
  maxWorkflowTasks: number;
  /** Actions that are carried out at once (default 200). */
  maxActivities: number;
  /** Waits for objects at once (default 1,000). */
  maxWaits: number;
  /** Most frames of a stack trace in workflow code (default 0: none is taken). */
  workflowStackFrames: number;
  /** Folder of the keys that payloads in Temporal are encrypted with; absent = in the clear. */
  encryptionKeys?: string;
  /** Namespace of the installation; absent = that of the pod, else `drover-system`. */
  namespace?: string;
  /** File of the keys of seals; absent = Secret `drover-seal` in the namespace of the installation. */
  sealRing?: string;
  /** Until this moment, runs that a release without seals has begun go on. */
  acceptUnsealedUntil?: Date;
  logLevel: string;
  /** Prebuilt workflow bundle; absent = the one beside the program. */
  workflowBundle?: string;
  /** Name of the build; absent = version and digest of the workflow code. */
  buildId?: string;
  /** Whether runs are carried on by the build that has begun them (default false). */
  pinsRuns: boolean;
  /** Worker Deployment; absent = one for the cluster. Where it is set, something else decides which build begins runs. */
  deploymentName?: string;
}

/**
 * Reads the configuration from environment variables.
 *
 * @throws Error that names each variable, its value and what is allowed.
 */
export function loadConfig(env: NodeJS.ProcessEnv): WorkerConfig {
  const parsed = schema.safeParse(env);
  if (!parsed.success) {
    const faults = parsed.error.issues.map((issue) => {
      const name = issue.path.join('.');
      return `${name}=${JSON.stringify(env[name])}: ${issue.message}`;
    });
    throw new Error(`configuration is not usable; ${faults.join('; ')}`);
  }
  const value = parsed.data;
  return {
    ...(value.DROVER_KUBECONFIG !== undefined && { kubeconfig: value.DROVER_KUBECONFIG }),
    healthHost: value.DROVER_HEALTH_HOST,
    ...(value.DROVER_HEALTH_PORT !== undefined && { healthPort: value.DROVER_HEALTH_PORT }),
    ...(value.DROVER_METRICS_PORT !== undefined && { metricsPort: value.DROVER_METRICS_PORT }),
    controllerIdentity: value.DROVER_CONTROLLER_IDENTITY,
    egress: {
      allowLoopback: value.DROVER_EGRESS_ALLOW_LOOPBACK,
      allow: value.DROVER_EGRESS_ALLOW,
      deny: value.DROVER_EGRESS_DENY,
    },
    never: value.DROVER_EGRESS_NEVER,
    ...(value.DROVER_TEMPORAL_UI !== undefined && { temporalUi: value.DROVER_TEMPORAL_UI }),
    shutdownGraceMs: value.DROVER_SHUTDOWN_GRACE_SECONDS * 1000,
    maxCachedWorkflows: value.DROVER_MAX_CACHED_WORKFLOWS,
    maxWorkflowTasks: value.DROVER_MAX_WORKFLOW_TASKS,
    maxActivities: value.DROVER_MAX_ACTIVITIES,
    maxWaits: value.DROVER_MAX_WAITS,
    workflowStackFrames: value.DROVER_WORKFLOW_STACK_FRAMES,
    ...(value.DROVER_ENCRYPTION_KEYS !== undefined && { encryptionKeys: value.DROVER_ENCRYPTION_KEYS }),
    ...(value.DROVER_NAMESPACE !== undefined && { namespace: value.DROVER_NAMESPACE }),
    ...(value.DROVER_SEAL_RING !== undefined && { sealRing: value.DROVER_SEAL_RING }),
    ...(value.DROVER_ACCEPT_UNSEALED_UNTIL !== undefined && {
      acceptUnsealedUntil: value.DROVER_ACCEPT_UNSEALED_UNTIL,
    }),
    logLevel: value.DROVER_LOG_LEVEL,
    ...(value.DROVER_WORKFLOW_BUNDLE !== undefined && { workflowBundle: value.DROVER_WORKFLOW_BUNDLE }),
    ...buildConfig(value),
  };
}

/** Temporal's worker controller tells its workers build and deployment, and means them to be pinned. */
function buildConfig({
  DROVER_BUILD_ID: own,
  DROVER_PIN_RUNS: pins,
  TEMPORAL_WORKER_BUILD_ID: given,
  TEMPORAL_DEPLOYMENT_NAME: deployment,
}: z.output<typeof schema>): Pick<WorkerConfig, 'buildId' | 'pinsRuns' | 'deploymentName'> {
  const buildId = own ?? given;
  const deploymentName = deployment || undefined;
  return {
    ...(buildId !== undefined && { buildId }),
    pinsRuns: pins || deploymentName !== undefined,
    ...(deploymentName !== undefined && { deploymentName }),
  };
}
