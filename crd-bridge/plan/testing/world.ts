/**
 * One API server and one Temporal, both in memory, so that a test decides what happens between two requests. The
 * interleavings that matter are a few milliseconds wide: no real server can be made to show them on purpose.
 */
import { API_VERSION } from '../../../api/core/group.js';
import type { DRPlan, DRPlanExecution, DRWorkflow } from '../../../api/plan/types.js';
import type { RunDescription, Runs } from '../../../client/runs/runs.js';
import type { KubeClient } from '../../../kube/client.js';
import { KubeError } from '../../../kube/error.js';
import type { KubeObject } from '../../../kube/object.js';
import type { CancelRequest } from '../../../workflows/core/contract.js';
import type { PatchOperation } from '../../core/json-diff.js';

type ObjectKey = Parameters<KubeClient['get']>[0];
type Request = 'get' | 'patch' | 'start' | 'describe' | 'signal';

export const NAMESPACE = 'ns';

/** The API server and the Temporal that replicas share. */
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
  const store = createStore();
  const { before, once } = createInterruptions();
  const temporal = createTemporal(before);
  const read = <T>(kind: string, name: string, namespace = NAMESPACE): T =>
    store.get(keyOf({ kind, name, namespace })) as T;
  return {
    kube: createApiServer(store, before, () => Date.now() + aheadMs),
    runs: temporal.runs,
    runsById: temporal.runsById,
    signals: temporal.signals,
    put: store.put,
    read,
    remove: (kind, name) => {
      store.remove(keyOf({ kind, name }));
    },
    once,
    execution: () => read<DRPlanExecution>('DRPlanExecution', 'e'),
    plan: () => read<DRPlan>('DRPlan', 'p'),
  };
}

const keyOf = (key: { kind?: string; namespace?: string; name: string }): string =>
  `${key.kind} ${key.namespace ?? NAMESPACE}/${key.name}`;

/** Objects by key; what goes in and comes out are copies. */
interface Store {
  put: <T = KubeObject>(object: T) => T;
  get: (key: string) => KubeObject | undefined;
  remove: (key: string) => void;
}

function createStore(): Store {
  const objects = new Map<string, KubeObject>();
  let version = 100;
  // What the API server keeps is JSON, and this is far quicker than a structured clone.
  const copy = <T>(value: T): T => (value === undefined ? value : (JSON.parse(JSON.stringify(value)) as T));
  return {
    put<T = KubeObject>(object: T): T {
      version += 1;
      const stored = copy(object) as KubeObject;
      stored.metadata.resourceVersion = String(version);
      objects.set(keyOf({ ...stored.metadata, kind: stored.kind ?? '' }), stored);
      return copy(stored) as T;
    },
    get: (key) => copy(objects.get(key)),
    remove: (key) => {
      objects.delete(key);
    },
  };
}

/** Runs, once, what a test has put before a request of this kind. */
type Before = (request: Request, of: string) => Promise<void>;

function createInterruptions(): { before: Before; once: World['once'] } {
  const planned: { request: Request; of: string; work: () => unknown }[] = [];
  return {
    async before(request, of) {
      const index = planned.findIndex((one) => one.request === request && of.startsWith(one.of));
      if (index >= 0) await planned.splice(index, 1)[0]?.work();
    },
    once(request, of, work) {
      planned.push({ request, of, work });
    },
  };
}

function createApiServer(store: Store, before: Before, now: () => number): KubeClient {
  const refused = (code: number, reason: string, key: string): KubeError =>
    new KubeError(`${key}: ${reason}`, { code, reason });
  const server: Pick<KubeClient, 'now' | 'get' | 'create' | 'patch'> = {
    now,
    async get<T>(key: ObjectKey): Promise<T | undefined> {
      await before('get', keyOf(key));
      return store.get(keyOf(key)) as T | undefined;
    },
    create: <T>(object: KubeObject): Promise<T> => Promise.resolve(store.put(object) as unknown as T),
    async patch<T>(key: ObjectKey, patch: unknown): Promise<T> {
      await before('patch', keyOf(key));
      const current = store.get(keyOf(key));
      if (current === undefined) throw refused(404, 'NotFound', keyOf(key));
      const [precondition, ...operations] = patch as PatchOperation[];
      if (precondition?.op !== 'replace' || precondition.value !== current.metadata.resourceVersion) {
        throw refused(409, 'Conflict', keyOf(key));
      }
      for (const operation of operations) apply(current, operation);
      return store.put(current) as unknown as T;
    },
  };
  return server as KubeClient;
}

function createTemporal(before: Before): Pick<World, 'runs' | 'runsById' | 'signals'> {
  const runsById: World['runsById'] = new Map();
  const signals: World['signals'] = [];
  const runs: Pick<
    Runs,
    'start' | 'describe' | 'describeChild' | 'signalCancel' | 'progress' | 'result' | 'input' | 'origins'
  > = {
    async start({ workflowId, memo }) {
      await before('start', workflowId);
      const known = runsById.get(workflowId);
      if (known !== undefined) return { kind: 'exists' };
      const run: RunDescription = {
        workflowId,
        runId: 'r1',
        firstRunId: 'r1',
        state: 'Running',
        startTime: new Date(),
        memo,
      };
      runsById.set(workflowId, run);
      return { kind: 'started', runId: run.runId };
    },
    async describe(workflowId) {
      await before('describe', workflowId);
      return runsById.get(workflowId);
    },
    async describeChild(_run, workflowId) {
      await before('describe', workflowId);
      return runsById.get(workflowId);
    },
    async signalCancel(workflowId, request) {
      await before('signal', workflowId);
      if (runsById.get(workflowId)?.state !== 'Running') return 'notRunning';
      signals.push({ workflowId, request });
      return 'accepted';
    },
    progress: () => Promise.resolve(undefined),
    result: () => Promise.reject(new Error('no result')),
    // Runs are not reset here, and have no stages.
    origins: {
      of: ({ runId }) => Promise.resolve({ firstRunId: runId }),
      areOneChain: (a, b) => Promise.resolve(a.runId === b.runId),
      newestChild: () => Promise.resolve(undefined),
    },
    // What they were given is not kept.
    input: () => Promise.resolve(undefined),
  };
  return { runs: runs as Runs, runsById, signals };
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
