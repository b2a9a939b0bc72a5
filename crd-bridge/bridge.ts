import { setMaxListeners } from 'node:events';
import { activityInfo } from '@temporalio/activity';
import type { DataConverter } from '@temporalio/common';
import { Worker } from '@temporalio/worker';
import type { NativeConnection } from '@temporalio/worker';
import { ANNOTATIONS, API_VERSION, FINALIZERS, LABELS } from '../api/core/group.js';
import { isTerminalExecution } from '../api/core/phase.js';
import type { Sealer } from '../api/core/seal.js';
import type { DRPolicy } from '../api/plan/schema/policy.js';
import type { DRPlan, DRWorkflow } from '../api/plan/types.js';
import { describeSigns, findPreviousController } from '../kube/previous-controller.js';
import type { Runs } from '../client/runs/runs.js';
import type { KubeClient } from '../kube/client.js';
import { KubeError } from '../kube/error.js';
import { createInformer } from '../kube/informer.js';
import type { Cacheable, Informer, InformerOptions } from '../kube/informer.js';
import { runWorker } from '../runtime/run-worker.js';
import { taskQueues } from '../workflows/plan/contract.js';
import type { BridgeConfig } from './config.js';
import { createEventRecorder } from './core/events.js';
import { createGate, openGate } from './core/gate.js';
import type { Gate } from './core/gate.js';
import type { Log } from './core/log.js';
import type { BridgeMetrics } from './core/metrics.js';
import { createKeyedMutex } from './core/mutex.js';
import { createOrphanSweep } from './core/orphans.js';
import { createQueue } from './core/queue.js';
import type { QueueRank, WorkQueue } from './core/queue.js';
import { createRunController } from './core/run-controller.js';
import { createStartRoom } from './core/start-room.js';
import { createStatusWriter } from './core/status-writer.js';
import { createAdmission } from './plan/start/admission.js';
import { createFinalizerSweep } from './plan/status/finalizer.js';
import { createMirror } from './plan/status/mirror.js';
import { createPace } from './plan/status/pace.js';
import { holds } from './plan/lock/plan-state.js';
import { createRetentionSweep } from './plan/retention/retention-sweep.js';
import { createSnapshotStore } from './plan/start/snapshot-store.js';
import { createSnapshotSweep } from './plan/retention/snapshot-sweep.js';
import { trimExecution } from './plan/status/stub.js';
import type { CachedExecution, DrDeps } from './plan/types.js';
import { createBridgeVouching } from './plan/start/vouching.js';
import { createExecutionKind } from './plan/kinds/dr-plan-execution.js';
import { createPlanKind } from './plan/kinds/dr-plan.js';
import { createWorkflowKind } from './plan/kinds/dr-workflow.js';
import { createNestedPlans } from './plan/nested/nested-plans.js';
import { createNudge } from './plan/nested/nudge.js';
import { createAuthority } from './plan/review/authority.js';
import { createRules } from './plan/review/rules.js';
import { setUpWebhook } from './webhook/setup.js';
import type { AdmissionWebhook } from './webhook/webhook.js';

/** What a bridge is built from. */
export interface BridgeOptions {
  kube: KubeClient;
  runs: Runs;
  /** Vouches for what passes through Temporal. */
  sealer: Sealer;
  connection: NativeConnection;
  temporal: DrDeps['temporal'] & { dataConverter?: DataConverter };
  cluster: string;
  config: BridgeConfig;
  log: Log;
  metrics: BridgeMetrics;
  /** Tells replicas apart in events. */
  instance: string;
}

/** A running bridge. */
export interface Bridge {
  /** What is still missing before it may be called ready; empty when nothing is. */
  notReady(): string[];
  /** Resolves once the caches are complete and every object is queued. */
  whenSynced(): Promise<void>;
  /** Rejects when the bridge cannot go on. */
  readonly done: Promise<void>;
  /** Takes nothing new, finishes what is under way. */
  stop(): Promise<void>;
}

const BACKOFF = { minMs: 100, maxMs: 60_000 };
/** A run that no worker takes up keeps others from being started for at most this long. */
const START_HOLD_MS = 60_000;
/** Time between two looks while the previous controller runs: somebody waits for it to stop. */
const CLOSED_LOOK_MS = 3000;
/** At most ten ended executions are removed per second. */
const RETENTION_PACE_MS = 100;
/** Number of looks for unused snapshots in the time for which one is kept. */
const SNAPSHOT_LOOKS = 6;
/** At most twenty finalizers that a crash or an earlier release has left are removed per second. */
const FINALIZER_PACE_MS = 50;
const FINALIZER_INTERVAL_MS = 30_000;
const NO_WEBHOOK = { missing: () => 'admission webhook: not started yet' };
/** Most objects that one log line names. */
const NAMED_OBJECTS = 10;

/**
 * Brings caches, queues, kinds and the mirror together. All replicas are active: a start is idempotent by id, the lock
 * of a plan is one conditional write, and mirrors are handed out by Temporal.
 */
export async function startBridge(options: BridgeOptions): Promise<Bridge> {
  const { kube, runs, config, log, metrics, cluster } = options;
  const abort = new AbortController();
  // Every cache, its check, every sweep and every request under way listens to it.
  setMaxListeners(0, abort.signal);
  const lastErrors = new Map<string, string>();

  const watching = (kind: string): Pick<InformerOptions<Cacheable>, 'onError' | 'check'> => ({
    onError: (error) => {
      const text = error instanceof Error ? error.message : String(error);
      lastErrors.set(kind, text);
      log.warn({ kind, err: error }, 'watch failed; trying again');
    },
    check: {
      everyMs: config['cache-check'],
      onRepair: (objects) => {
        log.warn(
          { kind, count: objects.length, objects: objects.slice(0, NAMED_OBJECTS) },
          'a watch has lost changes; read them anew',
        );
      },
    },
  });
  const informerFor = <T extends Cacheable>(kind: string, trim?: (object: T) => T): Informer<T> =>
    createInformer<T>({
      kube,
      apiVersion: API_VERSION,
      kind,
      ...(trim !== undefined && { trim }),
      ...watching(kind),
    });
  const caches: DrDeps['caches'] = {
    workflows: informerFor<DRWorkflow>('DRWorkflow'),
    plans: informerFor<DRPlan>('DRPlan'),
    executions: informerFor<CachedExecution>('DRPlanExecution', trimExecution),
  };

  const policies = informerFor<DRPolicy>('DRPolicy');
  const hasAdmission = config['webhook-port'] !== undefined;
  const unadmitted = createInformer({
    kube,
    apiVersion: 'v1',
    kind: 'Namespace',
    labelSelector: `${LABELS.admission}=disabled`,
    ...watching('Namespace'),
  });

  let webhook: AdmissionWebhook | undefined;
  const events = createEventRecorder({
    kube,
    controller: 'drover-bridge',
    instance: options.instance,
    onWrite: metrics.onWrite,
    onError: (error) => {
      log.warn({ err: error }, 'could not write an event');
    },
  });
  const mutex = createKeyedMutex();
  const gate = gateFor(config, kube, log);
  const deps: DrDeps = {
    kube,
    log,
    events,
    writer: createStatusWriter(kube, metrics.onWrite),
    mutex,
    runs,
    sealer: options.sealer,
    snapshots: createSnapshotStore(kube, metrics.onWrite),
    caches,
    cluster,
    temporal: options.temporal,
    pace: createPace(caches.executions, {
      beginMs: config['mirror-begin'],
      stepsPerSecond: config['mirror-rate'],
    }),
    isAdmitted: (namespace) => unadmitted.get(undefined, namespace) === undefined,
    admissionMissing: () => (hasAdmission ? (webhook ?? NO_WEBHOOK).missing() : undefined),
    settings: {
      controllerIdentity: config['controller-identity'],
      ...(config['default-service-account'] !== undefined && {
        defaultServiceAccount: config['default-service-account'],
      }),
      mirror: { debounceMs: config['mirror-debounce'], intervalMs: config['mirror-interval'] },
      largeMirrorIntervalMs: config['mirror-interval-large'],
      bounds: {
        undoStepMs: config['undo-step'],
        settleMs: config.settle,
        stopWaitMs: config['stop-wait'],
        pauseReminderMs: config['pause-reminder'],
      },
      authorization: config.authorization,
      gitOps: config['gitops-executions'],
      planWaitMs: config['plan-wait'],
      answers: {
        verified: hasAdmission,
        allowUnverified: config['unverified-approvals'],
      },
    },
    policies: () => policies.list().map(({ spec }) => spec),
  };

  const workflowKind = createWorkflowKind(deps);
  const planKind = createPlanKind(deps, workflowKind);
  const executionKind = createExecutionKind(deps, createAdmission(deps), (execution) => {
    controller.forget(execution.metadata.uid ?? '');
  });
  const room = createStartRoom({
    places: config['start-window'],
    holdMs: START_HOLD_MS,
    quietMs: () => deps.pace().beginMs,
    wake: (key) => {
      queues.executions.add(key);
    },
  });
  metrics.watchWaiting(() => room.waiting);
  const controller = createRunController({
    kind: executionKind,
    room,
    runs,
    temporal: options.temporal,
    times: {
      silenceMs: config.silence,
      firstLookMs: Math.min(30_000, config.silence),
      deleteWaitMs: config['delete-wait'],
    },
    log,
    onStart: () => {
      metrics.starts.inc();
    },
    mayBegin: () => gate.closed() === undefined,
  });

  const queueFor = <T extends Cacheable>(
    informer: Informer<T>,
    reconcile: (object: T) => Promise<number | undefined>,
    rank?: (object: T) => QueueRank,
  ): WorkQueue => {
    const queue = createQueue({
      concurrency: config.concurrency,
      backoff: BACKOFF,
      atLeastMs: (error) => (error instanceof KubeError ? error.retryAfterMs : undefined),
      ...(rank !== undefined && {
        rank: (key) => {
          const [namespace = '', name = ''] = key.split('/');
          const object = informer.get(namespace, name);
          return object === undefined ? 1 : rank(object);
        },
      }),
      handle: (key) => {
        const stop = metrics.reconcile.startTimer({ kind: informer.kind });
        return mutex
          .run(`${informer.kind} ${key}`, async () => {
            const [namespace = '', name = ''] = key.split('/');
            const object = informer.get(namespace, name);
            return object === undefined ? undefined : reconcile(object);
          })
          .finally(stop);
      },
      onError: (key, error, attempt) => {
        metrics.errors.inc({ kind: informer.kind });
        log.warn(
          { kind: informer.kind, object: key, attempt, err: error },
          'could not bring an object forward; trying again',
        );
      },
    });
    metrics.watchDepth(informer.kind, () => queue.depth);
    return queue;
  };
  const queues = {
    workflows: queueFor(caches.workflows, async (workflow) => {
      if (gate.closed() === undefined) await workflowKind.reconcile(workflow);
      return undefined;
    }),
    plans: queueFor(caches.plans, async (plan) =>
      gate.closed() === undefined ? planKind.reconcile(plan) : undefined,
    ),
    executions: queueFor(caches.executions, (execution) => controller.reconcile(execution), rankOf),
  };

  function connect(): void {
    // Executions that wait for their plan, by plan.
    const waiting = new Map<string, Set<string>>();
    caches.workflows.onChange((change) => {
      const { namespace = '', name } = change.object.metadata;
      if (change.kind === 'set') queues.workflows.add(`${namespace}/${name}`);
      const isSame =
        change.kind === 'set' && change.previous?.metadata.generation === change.object.metadata.generation;
      if (isSame) return;
      for (const plan of planKind.workflowChanged({ namespace, name })) queues.plans.add(keyOf(plan));
    });
    policies.onChange(() => {
      for (const plan of planKind.policyChanged()) queues.plans.add(keyOf(plan));
    });
    caches.plans.onChange((change) => {
      const key = keyOf(change.object);
      if (change.kind === 'set') queues.plans.add(key);
      else planKind.gone(change.object);
      for (const plan of planKind.planChanged(change)) queues.plans.add(keyOf(plan));
      for (const used of workflowKind.planChanged(change)) queues.workflows.add(keyOf(used));
      for (const execution of waiting.get(key) ?? []) queues.executions.add(execution);
    });
    const nudge = createNudge(deps);
    caches.executions.onChange((change) => {
      nudge(change);
      const { object } = change;
      const key = keyOf(object);
      const { namespace = '' } = object.metadata;
      const planKey = `${namespace}/${object.spec?.planRef}`;
      const ended = isTerminalExecution(object.status?.phase);
      const pending = change.kind === 'set' && !ended && object.status?.temporal === undefined;
      if (pending) {
        const keys = waiting.get(planKey) ?? new Set();
        waiting.set(planKey, keys.add(key));
      } else if (waiting.get(planKey)?.delete(key) === true && waiting.get(planKey)?.size === 0) {
        waiting.delete(planKey);
      }
      if (ended) controller.forget(object.metadata.uid ?? '');
      if (change.kind === 'gone') executionKind.gone(object);
      // Ended executions cost nothing here, however many are kept.
      else if (!ended || object.metadata.deletionTimestamp !== undefined || isInherited(object))
        queues.executions.add(key);
      if (change.kind === 'gone' || ended) {
        const plan = caches.plans.get(namespace, object.spec?.planRef);
        const { name, uid = '' } = object.metadata;
        if (plan !== undefined && holds(plan.status?.currentExecution, { name, uid }))
          queues.plans.addAfter(planKey, 1000);
      }
    });
  }

  const informers: Informer[] = [
    ...(Object.values(caches) as Informer[]),
    policies,
    // Which namespaces have no admission matters only where admission is served.
    ...(hasAdmission ? [unadmitted] : []),
  ];
  const running = informers.map((informer) => informer.run(abort.signal));
  const synced = Promise.all(informers.map((informer) => informer.whenSynced())).then(connect);

  const vouching = createBridgeVouching({
    ...deps,
    caller: () => activityInfo().workflowExecution,
    show: (execution, { reason, message }) => executionKind.held(execution, reason, message),
    acceptUnsealedUntil: config['accept-unsealed-until'],
  });
  const mirror = createMirror({
    ...deps,
    vouching,
    onUpdate: (run, kind) => {
      controller.heard(run.uid);
      metrics.updates.inc({ kind });
    },
  });
  const worker = await Worker.create({
    connection: options.connection,
    namespace: options.temporal.namespace,
    taskQueue: taskQueues(cluster).bridge,
    activities: {
      ...mirror,
      ...createNestedPlans({ ...deps, vouching, authority: createAuthority(kube, config.authorization) }),
    },
    dataConverter: options.temporal.dataConverter,
    maxConcurrentActivityTaskExecutions: config['mirror-concurrency'],
    shutdownGraceTime: '10s',
    shutdownForceTime: '20s',
  });
  // Updates need complete caches: an object that a cache lacks would be read from the API server each time.
  const done = synced.then(() => (abort.signal.aborted ? undefined : runWorker(worker)));
  done.catch(() => undefined);

  const orphans = createOrphanSweep({
    runs,
    idPrefix: `dr/${cluster}/`,
    isKnown: ({ namespace, name, uid }) => caches.executions.get(namespace, name)?.metadata.uid === uid,
    exists: async ({ namespace, name, uid }) => {
      const object = await kube.get({ apiVersion: API_VERSION, kind: 'DRPlanExecution', namespace, name });
      return object?.metadata.uid === uid;
    },
    intervalMs: config['orphan-interval'],
    confirmMs: config['orphan-confirm'],
    log,
  });
  const retention = createRetentionSweep(deps, {
    defaults: {
      ...(config['history-limit'] !== undefined && { historyLimit: config['history-limit'] }),
      ...(config['ttl-after-finished'] !== undefined && { ttlMs: config['ttl-after-finished'] }),
    },
    intervalMs: config['retention-interval'],
    paceMs: RETENTION_PACE_MS,
    mayAct: () => gate.closed() === undefined,
  });
  const snapshots = createSnapshotSweep(deps, {
    unusedMs: config['snapshot-unused'],
    intervalMs: config['snapshot-unused'] / SNAPSHOT_LOOKS,
    paceMs: RETENTION_PACE_MS,
    mayAct: () => gate.closed() === undefined,
  });
  const finalizers = createFinalizerSweep(deps, {
    intervalMs: FINALIZER_INTERVAL_MS,
    paceMs: FINALIZER_PACE_MS,
    mayAct: () => gate.closed() === undefined,
  });
  const sweeping = synced.then(() =>
    Promise.all([orphans, retention, snapshots, finalizers].map((sweep) => sweep.run(abort.signal))),
  );

  const lookAtAll = (): void => {
    for (const workflow of caches.workflows.list()) queues.workflows.add(keyOf(workflow));
    for (const plan of caches.plans.list()) queues.plans.add(keyOf(plan));
    for (const execution of caches.executions.list()) {
      const { status, metadata } = execution;
      const isOver = isTerminalExecution(status?.phase) && metadata.deletionTimestamp === undefined;
      if (!isOver || isInherited(execution)) queues.executions.add(keyOf(execution));
    }
  };
  const resync = setInterval(lookAtAll, config.resync);
  const gating = synced.then(() => {
    gate.onOpen(lookAtAll);
    return gate.run(abort.signal);
  });

  // Reviews need complete caches too. While another controller runs, they would refuse what is meant for it.
  const admitting = synced.then(async () => {
    await gate.whenOpen();
    if (abort.signal.aborted) return;
    webhook = await setUpWebhook(config, {
      kube,
      log,
      rules: () => createRules(deps, { workflows: workflowKind, plans: planKind }),
      metrics,
    });
  });
  admitting.catch((error: unknown) => {
    log.error({ err: error }, 'cannot start the admission webhook');
  });

  return {
    notReady() {
      const missing = informers
        .filter((informer) => !informer.synced)
        .map(
          (informer) =>
            `${informer.kind}: not listed yet${lastErrors.has(informer.kind) ? ` (${lastErrors.get(informer.kind)})` : ''}`,
        );
      const closed = gate.closed();
      if (closed !== undefined) missing.unshift(closed);
      if (missing.length === 0 && worker.getState() !== 'RUNNING')
        missing.push(`Temporal worker: ${worker.getState()}`);
      const unserved = deps.admissionMissing();
      if (unserved !== undefined && closed === undefined) missing.push(unserved);
      return missing;
    },
    whenSynced: () => synced,
    done,
    async stop() {
      clearInterval(resync);
      // First no new work from Temporal, then none from the API server; updates under way still need both.
      if (worker.getState() === 'RUNNING') {
        worker.shutdown();
        await done.catch(() => undefined);
      }
      await Promise.all(Object.values(queues).map((queue) => queue.stop()));
      await events.flush();
      abort.abort();
      await admitting.catch(() => undefined);
      await webhook?.stop();
      await Promise.all([...running, sweeping, gating]);
    },
  };
}

/** Closed while the controller that Drover takes over from runs (plan semantics, §5). */
function gateFor(config: BridgeConfig, kube: KubeClient, log: Log): Gate {
  const names = config['previous-controller'];
  if (names.length === 0) return openGate;
  const namespace = config['previous-controller-namespace'];
  const options = { names, ...(namespace !== undefined && { namespace }) };
  return createGate({
    async look() {
      try {
        const signs = await findPreviousController(kube, options);
        return signs.length === 0
          ? undefined
          : `the previous controller still runs: ${describeSigns(signs)}; scale it to zero, then executions begin here by themselves`;
      } catch (error) {
        if (!(error instanceof KubeError && error.code === 403)) throw error;
        throw new Error(
          `${error.message}; grant what deploy/rbac/bridge.yaml lists, or, where no other controller of these kinds was ever installed, set --previous-controller= (DROVER_PREVIOUS_CONTROLLER)`,
          { cause: error },
        );
      }
    },
    openMs: config['previous-controller-check'],
    closedMs: Math.min(CLOSED_LOOK_MS, config['previous-controller-check']),
    log,
  });
}

/** Cancelled and deleted executions come first, as somebody waits for their end; then those that run, then new ones. */
function rankOf({ metadata, status }: CachedExecution): QueueRank {
  if (metadata.deletionTimestamp !== undefined || metadata.annotations?.[ANNOTATIONS.cancel] === 'true')
    return 0;
  const isNew = status?.temporal === undefined && metadata.annotations?.[ANNOTATIONS.nestedIn] === undefined;
  return isNew ? 2 : 1;
}

const isInherited = ({ metadata }: CachedExecution): boolean =>
  metadata.finalizers?.includes(FINALIZERS.legacyExecution) ?? false;

const keyOf = (object: Cacheable): string => `${object.metadata.namespace ?? ''}/${object.metadata.name}`;
