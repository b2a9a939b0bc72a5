/** Two or more replicas over one world: a test decides what each of their caches has seen. */
import { API_VERSION } from '../../../api/core/group.js';
import { runWorkflowId } from '../../../api/plan/naming.js';
import { createSealer, newSealKey, parseSealKeys } from '../../../api/core/seal.js';
import type { DRPlan, DRWorkflow } from '../../../api/plan/types.js';
import { createInformer } from '../../../kube/informer.js';
import { NO_TRACING } from '../../../runtime/tracing/tracing.js';
import type { RunIdentity } from '../../../workflows/plan/contract.js';
import type { FinishUpdate, MirrorUpdate } from '../../../workflows/plan/contract-updates.js';
import { sealedRun } from '../../../workflows/plan/sealed.js';
import type { RunKind } from '../../core/kind.js';
import { createMirrorEndpoint } from '../../core/mirror-endpoint.js';
import { createKeyedMutex } from '../../core/mutex.js';
import { createRunController } from '../../core/run-controller.js';
import { createStartRoom } from '../../core/start-room.js';
import { createStatusWriter } from '../../core/status-writer.js';
import { createExecutionKind } from '../kinds/dr-plan-execution.js';
import { createPlanKind } from '../kinds/dr-plan.js';
import { createWorkflowKind } from '../kinds/dr-workflow.js';
import { createStarts } from '../start/starts.js';
import { createSnapshotStore } from '../start/snapshot-store.js';
import { createBridgeVouching } from '../start/vouching.js';
import { createMirror } from '../status/mirror.js';
import { createMirrorRow } from '../status/mirror-row.js';
import { trimExecution } from '../status/stub.js';
import type { CachedExecution, DrDeps } from '../types.js';
import { NAMESPACE } from './world.js';
import type { World } from './world.js';

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
  const deps = depsOf(world, temporal);
  const { caches } = deps;
  const kind = createExecutionKind(deps, createStarts(deps));
  const clock = { now: Date.now() };
  const controller = createRunController({
    kind,
    runs: deps.runs,
    temporal: deps.temporal,
    times: { silenceMs: 60_000, firstLookMs: 30_000, deleteWaitMs: 120_000 },
    log: deps.log,
    onStart: ignore,
    room: createStartRoom({ places: 1000, holdMs: 60_000, wake: ignore }),
    now: () => clock.now,
  });
  const plans = createPlanKind(deps, createWorkflowKind(deps));
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

/** All replicas hold it. */
const SEAL_KEY = newSealKey(new Date());
const ignore = (): void => undefined;

function depsOf(world: World, temporal: Partial<DrDeps['temporal']>): DrDeps {
  const { kube } = world;
  const where = { namespace: 'default', namespaceId: 'here', searchAttributes: false, ...temporal };
  const informer = { kube, apiVersion: API_VERSION };
  const keys = parseSealKeys({ [SEAL_KEY.id]: SEAL_KEY.value });
  return {
    pace: () => ({ beginMs: 0, intervalMs: 0 }),
    kube,
    log: { debug: ignore, info: ignore, warn: ignore, error: ignore },
    tracing: NO_TRACING,
    events: { record: ignore, flush: () => Promise.resolve() },
    writer: createStatusWriter(kube, ignore),
    mutex: createKeyedMutex(),
    // Which Temporal answers depends on the replica that asks.
    runs: { ...world.runs, where: () => Promise.resolve(where) },
    sealer: createSealer({ current: () => keys, again: () => Promise.resolve(keys) }),
    snapshots: createSnapshotStore(kube, ignore),
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
    temporal: where,
    settings: {
      controllerIdentity: true,
      mirror: { debounceMs: 0, intervalMs: 500 },
      largeMirrorIntervalMs: 2000,
      bounds: { undoStepMs: 1000, settleMs: 1000, pauseReminderMs: 1000 },
      gitOps: 'RequestedAt',
      planWaitMs: 30_000,
      taskWaitMs: 30_000,
      authorization: 'Off',
      answers: { verified: false, allowUnverified: false },
    },
    policies: () => [],
  };
}

/** How runs of the previous release report: without an envelope, with everything in the update itself. */
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
