/** What the bridge counts of plans and their runs, in the registry of what it counts for all kinds. */
import { Counter, Gauge } from 'prom-client';
import type { Histogram, Registry } from 'prom-client';
import { isActionType } from '../../../api/plan/actions/table.js';
import type { DRPlan, DRPlanExecutionSpec } from '../../../api/plan/types.js';
import type { Informer } from '../../../kube/informer.js';
import { createHistogram } from '../../../runtime/histogram.js';
import { readGauge } from '../../core/read-gauge.js';
import type { CachedExecution } from '../types.js';
import type { EndedBetween } from './ended-between.js';
import { countLive, countPlans, watchLive } from './live-runs.js';

/** What is told of plans and runs. */
export interface PlanMetrics {
  /** A state was written; what has ended with it. */
  ended: (operation: DRPlanExecutionSpec['operationType'], ended: EndedBetween) => void;
  retention: RetentionMetrics;
  /** Counts what the caches have, at each scrape. */
  watch: (caches: { executions: Informer<CachedExecution>; plans: Informer<DRPlan> }) => void;
}

/** What is told of the removal of executions that have ended. */
export interface RetentionMetrics {
  /** A pass over all plans has ended; so many executions were due when it came to them. */
  passed: (due: number) => void;
  removed: () => void;
}

/** From a second to half a day: people wait within runs. */
const RUN_BUCKETS = [1, 3, 10, 30, 100, 300, 1000, 3600, 10_800, 43_200];
const ACTION_BUCKETS = [0.1, 0.3, 1, 3, 10, 30, 100, 300, 1000, 3600];

/** Makes them in a registry. */
export const createPlanMetrics = (registry: Registry): PlanMetrics => ({
  ended: endedMetrics(registry),
  retention: retentionMetrics(registry),
  watch: stateMetrics(registry),
});

function endedMetrics(registry: Registry): PlanMetrics['ended'] {
  const registers = [registry];
  const counter = <L extends string>(name: string, help: string, labelNames: readonly L[]): Counter<L> =>
    new Counter({ name, help, labelNames, registers });
  const times = <L extends string>(
    name: string,
    help: string,
    { labelNames, buckets }: { labelNames: readonly L[]; buckets: number[] },
  ): Histogram<L> => createHistogram(registry, { name, help, labelNames, buckets });

  const runs = counter(
    'drover_bridge_runs_ended_total',
    'Executions that have ended, by operation and outcome (Succeeded, Failed, Cancelled; NotStarted: ended without a run).',
    ['operation', 'outcome'],
  );
  const runTime = times('drover_bridge_run_seconds', 'Time of a run from its start to its end.', {
    labelNames: ['operation', 'outcome'],
    buckets: RUN_BUCKETS,
  });
  const stages = counter(
    'drover_bridge_stages_ended_total',
    'Stages that have ended, by operation and phase (Succeeded, Failed, Skipped).',
    ['operation', 'phase'],
  );
  const stageTime = times('drover_bridge_stage_seconds', 'Time of a stage from its start to its end.', {
    labelNames: ['operation', 'phase'],
    buckets: RUN_BUCKETS,
  });
  const actions = counter(
    'drover_bridge_actions_ended_total',
    'Actions that have ended, by type and phase (Succeeded, Failed, Skipped); once for each round in which a person has one tried again.',
    ['type', 'phase'],
  );
  const actionTime = times(
    'drover_bridge_action_seconds',
    'Time of an action from its start to its end, all attempts and waits included, by type.',
    { labelNames: ['type'], buckets: ACTION_BUCKETS },
  );
  return (operation, ended) => {
    const { run } = ended;
    if (run !== undefined) {
      runs.inc({ operation, outcome: run.phase });
      if (run.seconds !== undefined) runTime.observe({ operation, outcome: run.phase }, run.seconds);
    }
    for (const { phase, seconds } of ended.stages) {
      stages.inc({ operation, phase });
      if (seconds !== undefined) stageTime.observe({ operation, phase }, seconds);
    }
    for (const { type: given, phase, seconds } of ended.actions) {
      const type = isActionType(given) ? given : 'unknown';
      actions.inc({ type, phase });
      if (seconds !== undefined) actionTime.observe({ type }, seconds);
    }
  };
}

function retentionMetrics(registry: Registry): RetentionMetrics {
  const registers = [registry];
  const due = new Gauge({
    name: 'drover_bridge_retention_due',
    help: 'Executions that were due for removal when the last pass came to them. Each replica removes; what one was too late for, another has removed.',
    registers,
  });
  const lastPass = new Gauge({
    name: 'drover_bridge_retention_last_pass_timestamp_seconds',
    help: 'When a pass for executions that are due was last complete; 0 before the first.',
    registers,
  });
  const removed = new Counter({
    name: 'drover_bridge_retention_removed_total',
    help: 'Executions that were removed because historyLimit or ttlSecondsAfterFinished says so.',
    registers,
  });
  return {
    passed: (count) => {
      due.set(count);
      lastPass.setToCurrentTime();
    },
    removed: () => {
      removed.inc();
    },
  };
}

/** All replicas see the same objects, so each tells the whole: take the greatest, not the sum. */
function stateMetrics(registry: Registry): PlanMetrics['watch'] {
  const runs = readGauge(registry, {
    name: 'drover_bridge_runs',
    help: 'Executions that are not over, by phase: Pending, Running, AwaitingApproval, Paused, Cancelling, or Stalled where nothing can go on. Each replica tells the whole.',
    labelNames: ['phase'],
  });
  const stalled = readGauge(registry, {
    name: 'drover_bridge_runs_stalled',
    help: 'Executions that cannot go on, or not start, by reason of condition Progressing. Those that a person was asked about are not among them. Each replica tells the whole.',
    labelNames: ['reason'],
  });
  const running = readGauge(registry, {
    name: 'drover_bridge_actions_running',
    help: 'Actions that run, by type: Wait waits for an object, Approval for a person, Plan for another run. Each replica tells the whole.',
    labelNames: ['type'],
  });
  const plans = readGauge(registry, {
    name: 'drover_bridge_plans',
    help: 'Plans by phase (Ready, Executed, Invalid; Unchecked: nobody has looked yet). Each replica tells the whole.',
    labelNames: ['phase'],
  });
  const held = readGauge(registry, {
    name: 'drover_bridge_plans_held',
    help: 'Plans that an execution holds, so that no other can start: by one that goes on (run), or by one that is over or gone (nobody). Each replica tells the whole.',
    labelNames: ['by'],
  });
  return (caches) => {
    const live = watchLive(caches.executions);
    const counted = memo(() => countLive(live()));
    runs.add(() => [...counted().standings].map(([phase, count]) => [{ phase }, count] as const));
    stalled.add(() => [...counted().stalls].map(([reason, count]) => [{ reason }, count] as const));
    running.add(() => [...counted().running].map(([type, count]) => [{ type }, count] as const));
    const planCounts = memo(() => countPlans(caches.plans.list(), caches.executions));
    plans.add(() => [...planCounts().phases].map(([phase, count]) => [{ phase }, count] as const));
    held.add(() => [...planCounts().held].map(([by, count]) => [{ by }, count] as const));
  };
}

/** Several gauges of one scrape share a reading. */
function memo<T>(read: () => T): () => T {
  let known: { value: T } | undefined;
  return () => {
    if (known === undefined) {
      known = { value: read() };
      // All gauges of a scrape are read before the next turn.
      setImmediate(() => {
        known = undefined;
      });
    }
    return known.value;
  };
}
