/**
 * Two or more replicas over one API server and one Temporal, both in memory, so that a test decides what each cache has
 * seen and what happens between two requests. The interleavings that matter are a few milliseconds wide: no real server
 * can be made to show them on purpose.
 */
import { createAdmission } from '../start/admission.js';
import { createMirror } from '../status/mirror.js';
import { createMirrorRow } from '../status/mirror-row.js';
import { createMirrorEndpoint } from '../../core/mirror-endpoint.js';
import { createSnapshotStore } from '../start/snapshot-store.js';
import type { CachedExecution, DrDeps } from '../types.js';
import { trimExecution } from '../status/stub.js';
import { createBridgeVouching } from '../start/vouching.js';
import { createExecutionKind } from '../kinds/dr-plan-execution.js';
import { createPlanKind } from '../kinds/dr-plan.js';
import { createWorkflowKind } from '../kinds/dr-workflow.js';
import type { PatchOperation } from '../../core/json-diff.js';
import type { RunKind } from '../../core/kind.js';
import { createKeyedMutex } from '../../core/mutex.js';
import { createRunController } from '../../core/run-controller.js';
import { createStartRoom } from '../../core/start-room.js';
import { createStatusWriter } from '../../core/status-writer.js';
import { API_VERSION } from '../../../api/core/group.js';
import { runWorkflowId } from '../../../api/plan/naming.js';
import { createSealer, newSealKey, parseSealKeys } from '../../../api/core/seal.js';
import type { DRPlan, DRPlanExecution, DRWorkflow } from '../../../api/plan/types.js';
import type { RunDescription, Runs } from '../../../client/runs/runs.js';
import type { KubeClient } from '../../../kube/client.js';
import { KubeError } from '../../../kube/error.js';
import { createInformer } from '../../../kube/informer.js';
import type { KubeObject } from '../../../kube/object.js';
import type { CancelRequest } from '../../../workflows/core/contract.js';
import type { RunIdentity } from '../../../workflows/plan/contract.js';
import type { FinishUpdate, MirrorUpdate } from '../../../workflows/plan/contract-updates.js';
import { sealedRun } from '../../../workflows/plan/sealed.js';

type ObjectKey = Parameters<KubeClient['get']>[0];
type Request = 'get' | 'patch' | 'start' | 'describe' | 'signal';

export const NAMESPACE = 'ns';
/** All replicas hold it. */
const SEAL_KEY = newSealKey(new Date());

/** The API server and the Temporal that the replicas share. */
export interface World {
  kube: KubeClient;
  runs: Runs;
  runsById: Map<string, RunDescription>;
  signals: { workflowId: string; request: CancelRequest }[];
  /** Stores an object under a new resourceVersion. */
  put<T>(object: T): T;
  read<T>(kind: string, name: string, namespace?: string): T;
  remove(kind: string, name: string): void;
  /** Does something just before the next request of this kind about an object or run whose key starts with `of`. */
  once(request: Request, of: string, work: () => unknown): void;
  execution(): DRPlanExecution;
  plan(): DRPlan;
}

/**
 * A world with nothing in it.
 *
 * @param options.aheadMs how far the clock of the API server is ahead of the one that replicas have
 */
export function createWorld({ aheadMs = 0 }: { aheadMs?: number } = {}): World {
  const objects = new Map<string, KubeObject>();
  const runs = new Map<string, RunDescription>();
  const signals: { workflowId: string; request: CancelRequest }[] = [];
  const hooks: { request: Request; of: string; work: () => unknown }[] = [];
  let version = 100;

  const keyOf = (key: { kind?: string; namespace?: string; name: string }): string =>
    `${key.kind} ${key.namespace ?? NAMESPACE}/${key.name}`;
  // What the API server keeps is JSON, and this is far quicker than a structured clone.
  const copy = <T>(value: T): T => (value === undefined ? value : (JSON.parse(JSON.stringify(value)) as T));

  /** Runs, once, what a test has put before a request of this kind. */
  async function before(request: Request, of: string): Promise<void> {
    const index = hooks.findIndex((hook) => hook.request === request && of.startsWith(hook.of));
    if (index >= 0) await hooks.splice(index, 1)[0]?.work();
  }

  const refused = (code: number, reason: string, key: string): KubeError =>
    new KubeError(`${key}: ${reason}`, { code, reason });

  function put<T = KubeObject>(object: T): T {
    version += 1;
    const stored = copy(object) as KubeObject;
    stored.metadata.resourceVersion = String(version);
    objects.set(keyOf({ ...stored.metadata, kind: stored.kind ?? '' }), stored);
    return copy(stored) as T;
  }

  const kube: Pick<KubeClient, 'now' | 'get' | 'create' | 'patch'> = {
    now: () => Date.now() + aheadMs,
    async get<T>(key: ObjectKey): Promise<T | undefined> {
      await before('get', keyOf(key));
      return copy(objects.get(keyOf(key))) as T | undefined;
    },
    create: <T>(object: KubeObject): Promise<T> => Promise.resolve(put(object) as unknown as T),
    async patch<T>(key: ObjectKey, patch: unknown): Promise<T> {
      await before('patch', keyOf(key));
      const current = objects.get(keyOf(key));
      if (current === undefined) throw refused(404, 'NotFound', keyOf(key));
      const [precondition, ...operations] = patch as PatchOperation[];
      if (precondition?.op !== 'replace' || precondition.value !== current.metadata.resourceVersion) {
        throw refused(409, 'Conflict', keyOf(key));
      }
      const next = copy(current);
      for (const operation of operations) apply(next, operation);
      return put(next) as unknown as T;
    },
  };

  const fakeRuns: Pick<Runs, 'start' | 'describe' | 'signalCancel' | 'progress' | 'result' | 'input'> = {
    async start({ workflowId, memo }) {
      await before('start', workflowId);
      const known = runs.get(workflowId);
      if (known !== undefined && known.state !== 'Running') return { kind: 'closed' };
      const run = known ?? { workflowId, runId: 'r1', state: 'Running', startTime: new Date(), memo };
      runs.set(workflowId, run);
      return { kind: 'running', runId: run.runId };
    },
    async describe(workflowId) {
      await before('describe', workflowId);
      return runs.get(workflowId);
    },
    async signalCancel(workflowId, request) {
      await before('signal', workflowId);
      if (runs.get(workflowId)?.state !== 'Running') return 'notRunning';
      signals.push({ workflowId, request });
      return 'accepted';
    },
    progress: () => Promise.resolve(undefined),
    result: () => Promise.reject(new Error('no result')),
    // What they were given is not kept.
    input: () => Promise.resolve(undefined),
  };

  return {
    kube: kube as KubeClient,
    runs: fakeRuns as Runs,
    runsById: runs,
    signals,
    put,
    read: <T>(kind: string, name: string, namespace = NAMESPACE) =>
      copy(objects.get(keyOf({ kind, name, namespace }))) as T,
    remove(kind, name) {
      objects.delete(keyOf({ kind, name }));
    },
    once(request, of, work) {
      hooks.push({ request, of, work });
    },
    execution: () =>
      copy(objects.get(keyOf({ kind: 'DRPlanExecution', name: 'e' }))) as unknown as DRPlanExecution,
    plan: () => copy(objects.get(keyOf({ kind: 'DRPlan', name: 'p' }))) as unknown as DRPlan,
  };
}

/** A valid workflow, its plan, and an execution of it that nobody has seen yet. */
export function populate(world: World, execution: Partial<DRPlanExecution['metadata']> = {}): void {
  world.put(workflow('http://127.0.0.1:1/one'));
  world.put({
    apiVersion: API_VERSION,
    kind: 'DRPlan',
    metadata: { name: 'p', namespace: NAMESPACE, uid: 'plan-uid', generation: 1 },
    spec: { stages: [{ name: 's', workflows: [{ workflowRef: { name: 'w' } }] }] },
    status: { phase: 'Ready', observedGeneration: 1 },
  });
  world.put({
    apiVersion: API_VERSION,
    kind: 'DRPlanExecution',
    metadata: {
      name: 'e',
      namespace: NAMESPACE,
      uid: 'execution-uid',
      generation: 1,
      creationTimestamp: new Date().toISOString(),
      ...execution,
    },
    spec: { planRef: 'p', operationType: 'Execute' },
  });
}

/** The workflow of {@link populate}. */
export const workflow = (url: string, generation = 1): DRWorkflow => ({
  apiVersion: API_VERSION,
  kind: 'DRWorkflow',
  metadata: { name: 'w', namespace: NAMESPACE, uid: 'workflow-uid', generation },
  spec: { actions: [{ name: 'a', type: 'HTTP', http: { url, method: 'POST' } }] },
});

/**
 * One replica. Its caches know what it has written itself and what `sync` has shown them; at first, that is everything.
 */
export interface Replica {
  deps: DrDeps;
  clock: { now: number };
  kind: RunKind<CachedExecution>;
  mirror: FormerMirror;
  /** Shows the caches what the API server has. */
  sync(): void;
  /** Looks at the execution as the cache has it. */
  reconcile(): Promise<number | undefined>;
  reconcilePlan(): Promise<number | undefined>;
  cached(): CachedExecution;
}

/** A replica; caches that are `empty` have not even seen the objects that existed before. */
export function createReplica(
  world: World,
  temporal: Partial<DrDeps['temporal']> = {},
  options: { empty?: boolean } = {},
): Replica {
  const silent = (): void => undefined;
  const log = { debug: silent, info: silent, warn: silent, error: silent };
  const { kube } = world;
  // Which Temporal answers depends on the replica that asks.
  const runs: Runs = { ...world.runs, where: () => Promise.resolve(deps.temporal) };
  const informer = { kube, apiVersion: API_VERSION };
  const keys = parseSealKeys({ [SEAL_KEY.id]: SEAL_KEY.value });
  const sealer = createSealer({ current: () => keys, again: () => Promise.resolve(keys) });
  const deps: DrDeps = {
    pace: () => ({ beginMs: 0, intervalMs: 0 }),
    kube,
    log,
    events: { record: silent, flush: () => Promise.resolve() },
    writer: createStatusWriter(kube, silent),
    mutex: createKeyedMutex(),
    runs,
    sealer,
    snapshots: createSnapshotStore(kube, silent),
    caches: {
      workflows: createInformer<DRWorkflow>({ ...informer, kind: 'DRWorkflow' }),
      plans: createInformer<DRPlan>({ ...informer, kind: 'DRPlan' }),
      executions: createInformer<CachedExecution>({
        ...informer,
        kind: 'DRPlanExecution',
        trim: trimExecution,
      }),
    },
    cluster: 'c0ffee00',
    isAdmitted: () => true,
    admissionMissing: () => undefined,
    temporal: { namespace: 'default', namespaceId: 'here', searchAttributes: false, ...temporal },
    settings: {
      controllerIdentity: true,
      mirror: { debounceMs: 0, intervalMs: 500 },
      largeMirrorIntervalMs: 2000,
      bounds: { undoStepMs: 1000, settleMs: 1000, pauseReminderMs: 1000 },
      gitOps: 'RequestedAt',
      planWaitMs: 30_000,
      authorization: 'Off',
      answers: { verified: false, allowUnverified: false },
    },
    policies: () => [],
  };
  const admission = createAdmission(deps);
  const kind = createExecutionKind(deps, admission);
  const clock = { now: Date.now() };
  const controller = createRunController({
    kind,
    runs,
    temporal: deps.temporal,
    times: { silenceMs: 60_000, firstLookMs: 30_000, deleteWaitMs: 120_000 },
    log,
    onStart: silent,
    room: createStartRoom({ places: 1000, holdMs: 60_000, wake: silent }),
    now: () => clock.now,
  });
  const plans = createPlanKind(deps, createWorkflowKind(deps));
  const { caches } = deps;
  const cached = (): CachedExecution => {
    const execution = caches.executions.get(NAMESPACE, 'e');
    if (execution === undefined) throw new Error('the cache does not know the execution');
    return execution;
  };
  const sync = (): void => {
    for (const [cache, kindName, name] of [
      [caches.workflows, 'DRWorkflow', 'w'],
      [caches.plans, 'DRPlan', 'p'],
      [caches.executions, 'DRPlanExecution', 'e'],
    ] as const) {
      const object = world.read<never>(kindName, name);
      if (object !== undefined) cache.learn(object);
    }
  };
  if (options.empty !== true) sync();
  return {
    deps,
    clock,
    kind,
    mirror: speaksItself(deps),
    sync,
    reconcile: () => controller.reconcile(cached()),
    reconcilePlan: () => {
      const plan = caches.plans.get(NAMESPACE, 'p');
      if (plan === undefined) throw new Error('the cache does not know the plan');
      return plans.reconcile(plan);
    },
    cached,
  };
}

/** What runs of the release before say: no envelope, and all in the update itself. */
export interface FormerMirror {
  mirror(update: MirrorUpdate): Promise<unknown>;
  finish(update: FinishUpdate): Promise<void>;
}

/** The activities by which runs write to status, called by the run's own workflow with what the bridge has sealed. */
export function speaksItself(deps: DrDeps): FormerMirror {
  const asking = { workflowId: '', runId: 'r1' };
  const vouching = createBridgeVouching({ ...deps, caller: () => asking, show: () => Promise.resolve() });
  const row = createMirrorRow({ mirror: createMirror(deps), vouching });
  const { mirror, finish } = createMirrorEndpoint({
    rows: [{ ...row, heard: () => undefined }],
    onUpdate: () => undefined,
  });
  const sealed = <T extends { run: RunIdentity }>(update: T): T => {
    const workflowId = runWorkflowId(update.run);
    asking.workflowId = workflowId;
    const run = { ...update.run, workflowId };
    return { ...update, run: { ...run, seal: deps.sealer.seal('run', sealedRun(run)) } };
  };
  return {
    mirror: (update) => mirror(sealed(update)),
    finish: async (update) => void (await finish(sealed(update))),
  };
}

function apply(target: KubeObject, operation: PatchOperation): void {
  const path = operation.path
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'));
  const last = path.pop() ?? '';
  let parent = target as unknown as Record<string, unknown>;
  for (const part of path) parent = parent[part] as Record<string, unknown>;
  if (operation.op === 'remove') delete parent[last];
  else parent[last] = structuredClone(operation.value);
}
