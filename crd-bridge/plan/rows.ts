/** The rows of DR plans in the bridge's table. */
import { activityInfo } from '@temporalio/activity';
import { cancelAsked } from '../../api/core/cancel.js';
import { ANNOTATIONS, API_VERSION } from '../../api/core/group.js';
import { isTerminalExecution } from '../../api/core/phase.js';
import type { DRPolicy } from '../../api/plan/schema/policy.js';
import type { DRPlan, DRWorkflow } from '../../api/plan/types.js';
import type { Informer } from '../../kube/informer.js';
import type { QueueRank } from '../core/queue.js';
import { keyOf } from '../core/object-ref.js';
import { wakeOn } from '../core/row.js';
import type { KindReview, Row, Sweep, Wake } from '../core/row.js';
import { runRow } from '../core/run-row.js';
import type { Services } from '../core/services.js';
import { statusRow } from '../core/status-row.js';
import { createExecutionKind } from './kinds/dr-plan-execution.js';
import { createPlanKind } from './kinds/dr-plan.js';
import type { PlanKind } from './kinds/dr-plan.js';
import { createWorkflowKind } from './kinds/dr-workflow.js';
import { holds } from './lock/plan-state.js';
import { countingWriter } from './metrics/counting-writer.js';
import { createPlanMetrics } from './metrics/plan-metrics.js';
import type { PlanMetrics } from './metrics/plan-metrics.js';
import { createNestedPlans } from './nested/nested-plans.js';
import { createNudge } from './nested/nudge.js';
import { createRetentionSweep } from './retention/retention-sweep.js';
import { createSnapshotSweep } from './retention/snapshot-sweep.js';
import { createAuthority } from './review/authority.js';
import { createRules } from './review/rules.js';
import { drSettings } from './settings.js';
import { createStarts } from './start/starts.js';
import { createSnapshotStore } from './start/snapshot-store.js';
import { createBridgeVouching } from './start/vouching.js';
import type { BridgeVouching } from './start/vouching.js';
import { createFinalizerSweep } from './status/finalizer.js';
import { createMirror } from './status/mirror.js';
import { createMirrorRow } from './status/mirror-row.js';
import { createPace } from './status/pace.js';
import { trimExecution } from './status/stub.js';
import { unfinishedActivity } from './status/unfinished.js';
import type { CachedExecution, DrDeps } from './types.js';

/** At most ten ended executions are removed per second. */
const RETENTION_PACE_MS = 100;
/** Number of looks for unused snapshots in the time for which one is kept. */
const SNAPSHOT_LOOKS = 6;
/** At most twenty finalizers that a crash or an earlier release has left are removed per second. */
const FINALIZER_PACE_MS = 50;
const FINALIZER_INTERVAL_MS = 30_000;
/** A plan whose holder is over is looked at this much later: most runs have freed it by then. */
const LOCK_LOOK_MS = 1000;

/** Makes the rows of workflows, plans, executions and policies. */
export function planRows(services: Services): Row[] {
  const policies = services.cache<DRPolicy>({ apiVersion: API_VERSION, kind: 'DRPolicy' });
  const metrics = createPlanMetrics(services.metrics.registry);
  const deps = dependencies(services, policies, metrics);
  const { caches } = deps;
  metrics.watch(caches);
  const workflows = createWorkflowKind(deps);
  const plans = createPlanKind(deps, workflows);
  const executions = createExecutionKind(deps, createStarts(deps));
  const vouching = createBridgeVouching({
    ...deps,
    caller: () => activityInfo().workflowExecution,
    show: (execution, { reason, message }) => executions.held(execution, reason, message),
    acceptUnsealedUntil: services.config['accept-unsealed-until'],
  });
  // One set of rules, whichever of the kinds is asked about first.
  let rules: KindReview | undefined;
  const review = (): KindReview => (rules ??= createRules(deps, { workflows, plans }));

  return [
    statusRow(services, {
      cache: caches.workflows,
      reconcile: async (workflow) => {
        await workflows.reconcile(workflow);
        return undefined;
      },
      wakes: [wakeOn(caches.plans, (change) => workflows.planChanged(change).map(keyOf))],
      review,
    }),
    statusRow(services, {
      cache: caches.plans,
      reconcile: (plan) => plans.reconcile(plan),
      gone: (plan) => {
        plans.gone(plan);
      },
      wakes: planWakes(deps, plans, policies),
      review,
    }),
    runRow(services, {
      cache: caches.executions,
      kind: executions,
      mirror: createMirrorRow({ mirror: createMirror(deps), vouching }),
      quietMs: () => deps.pace().beginMs,
      rank: rankOf,
      wakes: [waitingForPlan(deps), nudging(deps)],
      activities: activitiesOf(deps, vouching),
      sweeps: sweepsOf(services, deps, metrics),
      review,
    }),
    { cache: policies, review },
  ];
}

function dependencies(services: Services, policies: Informer<DRPolicy>, planMetrics: PlanMetrics): DrDeps {
  const { kube, config, metrics, cache } = services;
  const caches: DrDeps['caches'] = {
    workflows: cache<DRWorkflow>({ apiVersion: API_VERSION, kind: 'DRWorkflow' }),
    plans: cache<DRPlan>({ apiVersion: API_VERSION, kind: 'DRPlan' }),
    executions: cache<CachedExecution>({
      apiVersion: API_VERSION,
      kind: 'DRPlanExecution',
      trim: trimExecution,
    }),
  };
  return {
    ...services,
    writer: countingWriter(services.writer, planMetrics),
    caches,
    snapshots: createSnapshotStore(kube, metrics.onWrite),
    pace: createPace(caches.executions, {
      beginMs: config['mirror-begin'],
      stepsPerSecond: config['mirror-rate'],
    }),
    settings: drSettings(config),
    policies: () => policies.list(),
  };
}

/** A plan depends on its workflows, on the plans that it runs, on policies, and on whoever holds it. */
function planWakes({ caches }: DrDeps, plans: PlanKind, policies: Informer<DRPolicy>): Wake[] {
  return [
    wakeOn(caches.workflows, (change) => {
      const { namespace = '', name, generation } = change.object.metadata;
      const isSame = change.kind === 'set' && change.previous?.metadata.generation === generation;
      return isSame ? [] : plans.workflowChanged({ namespace, name }).map(keyOf);
    }),
    wakeOn(policies, () => plans.policyChanged().map(keyOf)),
    wakeOn(caches.plans, (change) => plans.planChanged(change).map(keyOf)),
    wakeOn(
      caches.executions,
      ({ kind, object }) => {
        if (kind === 'set' && !isTerminalExecution(object.status?.phase)) return [];
        const { name, uid = '', namespace } = object.metadata;
        const plan = caches.plans.get(namespace, object.spec?.planRef);
        const isHeld = plan !== undefined && holds(plan.status?.currentExecution, { name, uid });
        return isHeld ? [keyOf(plan)] : [];
      },
      { afterMs: LOCK_LOOK_MS },
    ),
  ];
}

/** A change of a plan brings up the executions that have not started and wait for it. */
function waitingForPlan({ caches }: DrDeps): Wake {
  const waiting = new Map<string, Set<string>>();
  return {
    connect(queue) {
      caches.executions.onChange(({ kind, object }) => {
        const key = keyOf(object);
        const planKey = `${object.metadata.namespace ?? ''}/${object.spec?.planRef}`;
        const isPending =
          kind === 'set' &&
          !isTerminalExecution(object.status?.phase) &&
          object.status?.temporal === undefined;
        const keys = waiting.get(planKey);
        if (isPending) waiting.set(planKey, (keys ?? new Set()).add(key));
        else if (keys?.delete(key) === true && keys.size === 0) waiting.delete(planKey);
      });
      caches.plans.onChange(({ object }) => {
        for (const key of waiting.get(keyOf(object)) ?? []) queue.add(key);
      });
    },
  };
}

/** An execution that is part of another one's run tells that run of its changes. */
function nudging(deps: DrDeps): Wake {
  return {
    connect() {
      deps.caches.executions.onChange(createNudge(deps));
    },
  };
}

function activitiesOf(deps: DrDeps, vouching: BridgeVouching): object {
  const authority = createAuthority(deps.kube, deps.settings.authorization);
  return {
    ...unfinishedActivity({ runs: deps.runs, vouching }),
    ...createNestedPlans({ ...deps, vouching, authority }),
  };
}

function sweepsOf({ config, gate }: Services, deps: DrDeps, metrics: PlanMetrics): Sweep[] {
  const mayAct = (): boolean => gate.closed() === undefined;
  return [
    createRetentionSweep(deps, {
      defaults: {
        ...(config['history-limit'] !== undefined && { historyLimit: config['history-limit'] }),
        ...(config['ttl-after-finished'] !== undefined && { ttlMs: config['ttl-after-finished'] }),
      },
      intervalMs: config['retention-interval'],
      paceMs: RETENTION_PACE_MS,
      mayAct,
      metrics: metrics.retention,
    }),
    createSnapshotSweep(deps, {
      unusedMs: config['snapshot-unused'],
      intervalMs: config['snapshot-unused'] / SNAPSHOT_LOOKS,
      paceMs: RETENTION_PACE_MS,
      mayAct,
    }),
    createFinalizerSweep(deps, { intervalMs: FINALIZER_INTERVAL_MS, paceMs: FINALIZER_PACE_MS, mayAct }),
  ];
}

/** Cancelled and deleted executions come first, as somebody waits for their end; then those that run, then new ones. */
function rankOf({ metadata, status }: CachedExecution): QueueRank {
  if (metadata.deletionTimestamp !== undefined || cancelAsked(metadata.annotations) !== undefined) return 0;
  const isNew = status?.temporal === undefined && metadata.annotations?.[ANNOTATIONS.nestedIn] === undefined;
  return isNew ? 2 : 1;
}
