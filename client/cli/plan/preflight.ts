import { isObject } from '../../../api/core/json.js';
import { SECRET_NAME } from '../../../api/plan/template/secret-names.js';
import { takeSnapshot } from '../../../api/plan/snapshot/snapshot.js';
import type { DRPlan, DRPlanExecution, DRWorkflow, Parameter } from '../../../api/plan/types.js';
import type { EgressPolicy } from '../../../activities/core/egress.js';
import type { ActionPreflight } from '../../../activities/preflight/preflight.js';
import { KubeError } from '../../../kube/error.js';
import type { KubeClient } from '../../../kube/client.js';
import type { KubeObject } from '../../../kube/object.js';
import { CliError } from '../core/cli-error.js';
import type { Cluster } from '../core/cluster.js';
import { EXIT } from '../core/exit-codes.js';
import { keyFor } from '../core/resources.js';

/** What is tried. */
export interface PreflightRequest {
  plan: DRPlan;
  /** Workflows that are not taken from the cluster. */
  workflows?: readonly DRWorkflow[];
  params: readonly Parameter[];
  runMode?: 'Planned' | 'Emergency' | 'Drill';
  /** Account, in the plan's namespace, of a plan that names none. */
  serviceAccount?: string;
  /** `HOST:PORT` of Temporal, where it is known. */
  temporal?: string | undefined;
}

/** What was found. */
export interface PreflightReport {
  identity: string;
  actions: ActionPreflight[];
  problems: number;
  warnings: number;
  untried: number;
}

/**
 * Tries a plan by server-side dry run, as the account that its actions act as.
 *
 * @throws CliError when that account is not known, does not exist, or may not be acted as
 */
export async function preflightPlan(cluster: Cluster, request: PreflightRequest): Promise<PreflightReport> {
  const { plan } = request;
  const namespace = plan.metadata.namespace ?? cluster.namespace;
  const { kube, identity } = await accountOf(cluster, namespace, request);
  const found = new Map(
    (request.workflows ?? []).map((workflow) => [
      `${workflow.metadata.namespace}/${workflow.metadata.name}`,
      workflow,
    ]),
  );
  for (const { workflowRef } of plan.spec.stages.flatMap((stage) => stage.workflows)) {
    const home = workflowRef.namespace || namespace;
    const id = `${home}/${workflowRef.name}`;
    if (found.has(id)) continue;
    const workflow = await cluster.kube.get<DRWorkflow>(keyFor('DRWorkflow', home, workflowRef.name));
    if (workflow !== undefined) found.set(id, workflow);
  }
  const execution: DRPlanExecution = {
    metadata: { name: 'preflight', namespace },
    spec: {
      planRef: plan.metadata.name,
      operationType: 'Execute',
      params: [...request.params],
      ...(request.runMode !== undefined && { runMode: request.runMode }),
    },
  };
  const { snapshot, missing } = takeSnapshot({
    plan,
    execution,
    lookup: (home, name) => found.get(`${home}/${name}`),
  });
  if (missing.length > 0) {
    throw new CliError(
      `plan "${plan.metadata.name}" uses workflows that do not exist: ${missing.join(', ')}`,
      {
        hints: ['create them, correct the references, or give their files with -f'],
        exitCode: EXIT.invalid,
      },
    );
  }
  // Loaded on demand: the code that carries out actions is slow to load, and few commands need it.
  const { preflight, createPolicies } = await import('../../../activities/preflight/preflight.js');
  const actions = await preflight({
    snapshot,
    namespace,
    kube,
    identity,
    policy: await createPolicies(cluster.kube).of(namespace),
    ...(await reachOf(cluster, request.temporal)),
    signal: new AbortController().signal,
  });
  const count = (level: string): number =>
    actions.flatMap(({ findings }) => findings).filter((finding) => finding.level === level).length;
  const hide = redactorOf(
    actions.flatMap(({ writes }) => writes.map(({ object }) => object)),
    [...(plan.spec.globalParams ?? []), ...request.params],
  );
  return {
    identity,
    actions: actions.map((action) => ({
      ...action,
      writes: action.writes.map(({ operation, object }) => ({ operation, object: hide(object) })),
    })),
    problems: count('problem'),
    warnings: count('warning'),
    untried: count('untried'),
  };
}

/** The policy of the workers, as far as it is known here: their lists are, where `up` has started them. */
async function reachOf(
  { kube, embedded }: Cluster,
  temporal: string | undefined,
): Promise<{ egress: EgressPolicy; listsUnknown: boolean }> {
  const [{ ownPlaces, readPlace }, { createEgressPolicy }, { offLimits }] = await Promise.all([
    import('../../../activities/preflight/preflight.js'),
    import('../../../activities/core/egress.js'),
    import('../../../local/index.js'),
  ]);
  const own = embedded && (await offLimits(embedded.paths.root));
  const frontend = own?.temporal ?? temporal;
  return {
    egress: createEgressPolicy({
      allowLoopback: own?.isEmbeddedCluster === true,
      apiServers: [kube.server],
      never:
        frontend === undefined
          ? []
          : ownPlaces({
              temporal: frontend,
              temporalUi: own?.temporalUi === undefined ? undefined : readPlace(own.temporalUi),
              workerPorts: own?.workerPorts ?? [],
              never: (own?.never ?? []).flatMap((place) => readPlace(place) ?? []),
            }),
    }),
    listsUnknown: own === undefined,
  };
}

async function accountOf(
  cluster: Cluster,
  namespace: string,
  { plan, serviceAccount }: PreflightRequest,
): Promise<{ kube: KubeClient; identity: string }> {
  const name = plan.spec.serviceAccountName ?? serviceAccount;
  if (name === undefined) {
    // The embedded default lets such plans act as the controller, which may do what its administrator may.
    if (cluster.embedded !== undefined) return { kube: cluster.kube, identity: 'the controller' };
    throw new CliError(`plan "${plan.metadata.name}" names no service account`, {
      hints: [
        "give the one that the installation's --default-service-account names, with --service-account NAME",
      ],
    });
  }
  const identity = `system:serviceaccount:${namespace}:${name}`;
  if (name.trim() === '') throw new CliError('the service account has an empty name');
  const there = await cluster.kube
    .get({ apiVersion: 'v1', kind: 'ServiceAccount', namespace, name })
    .catch((error: unknown) => {
      // Who may not look may still be allowed to act as it.
      if (error instanceof KubeError && error.code === 403) return 'unknown' as const;
      throw error;
    });
  if (there === undefined) {
    throw new CliError(
      `ServiceAccount "${name}", which the plan names, does not exist in namespace ${namespace}`,
      {
        hints: ['create it and give it the rights that the actions need'],
        exitCode: EXIT.invalid,
      },
    );
  }
  const kube = cluster.kube.as({ user: identity });
  try {
    const self = await kube.raw<{ status?: { userInfo?: { username?: string } } }>({
      method: 'POST',
      path: '/apis/authentication.k8s.io/v1/selfsubjectreviews',
      body: { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' },
    });
    const who = self.status?.userInfo?.username;
    if (who !== identity) {
      throw new CliError(
        `asked to act as ${identity}, the API server took the request for ${who ?? 'nobody'}'s: something on the way drops impersonation`,
      );
    }
  } catch (error) {
    if (!(error instanceof KubeError) || error.code !== 403) throw error;
    throw new CliError(`you may not act as ${identity}: ${error.message}`, {
      hints: [
        `a preflight needs the verb "impersonate" on serviceaccounts/${name} in namespace ${namespace}, which the ClusterRoles edit and admin have`,
      ],
    });
  }
  return { kube, identity };
}

/** Hides what Secrets hold, and the values of parameters with names of secrets, wherever they stand. */
function redactorOf(
  objects: readonly KubeObject[],
  params: readonly Parameter[],
): (object: KubeObject) => KubeObject {
  const SHORTEST = 4;
  const secrets = new Set(
    params
      .filter(({ name }) => SECRET_NAME.test(name))
      .flatMap(({ value, default: fallback }) => [value, fallback])
      .map(String),
  );
  for (const { kind, data, stringData } of objects) {
    if (kind !== 'Secret') continue;
    for (const values of [data, stringData]) {
      if (isObject(values)) for (const value of Object.values(values)) secrets.add(String(value));
    }
  }
  const long = [...secrets].filter((text) => text.length >= SHORTEST).sort((a, b) => b.length - a.length);
  const hide = (value: unknown, inSecret: boolean): unknown => {
    if (typeof value === 'string') {
      if (inSecret) return '(redacted)';
      return long.reduce((text, secret) => text.replaceAll(secret, '(redacted)'), value);
    }
    if (Array.isArray(value)) return value.map((item) => hide(item, inSecret));
    if (!isObject(value)) return value;
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, hide(item, inSecret)]));
  };
  return (object) =>
    Object.fromEntries(
      Object.entries(object).map(([field, value]) => [
        field,
        hide(value, object.kind === 'Secret' && (field === 'data' || field === 'stringData')),
      ]),
    ) as unknown as KubeObject;
}
