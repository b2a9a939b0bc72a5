import { API_VERSION } from '../../../api/core/group.js';
import type { DRPlan } from '../../../api/plan/types.js';
import type { EventNote } from '../../core/events.js';
import { pause, spread } from '../../core/pause.js';
import type { CachedExecution, DrDeps } from '../types.js';
import { deleteJudged } from './delete-judged.js';
import { fieldsOf } from '../log-fields.js';
import type { RetentionMetrics } from '../metrics/plan-metrics.js';
import { createRetentionIndex } from './retention-index.js';
import { planKeyOf, removable } from './retention.js';
import type { RetentionDefaults, RetentionView } from './retention.js';

/** What the sweep is made of. */
export interface RetentionOptions {
  defaults: RetentionDefaults;
  /** Time between two passes, in milliseconds. */
  intervalMs: number;
  /** Least time between two deletions: thousands that are due at once must not crowd out what runs. */
  paceMs: number;
  /** Whether anything may be done; while not, passes do nothing. */
  mayAct: () => boolean;
  metrics: RetentionMetrics;
  now?: () => number;
}

/** Removes executions that have ended and are due. */
export interface RetentionSweep {
  /** One pass. */
  sweep(signal: AbortSignal): Promise<void>;
  /** Passes until the signal aborts. Never rejects. */
  run(signal: AbortSignal): Promise<void>;
}

const EXECUTION = { apiVersion: API_VERSION, kind: 'DRPlanExecution' } as const;
/** Most names in an Event. */
const NAMED = 20;

/**
 * Removes what {@link removable} allows. Age counts from the end that is in status, so that a restart of the bridge
 * changes nothing. Each deletion is of the very object and version that was judged, and of a plan that the API server
 * reports free at that moment; replicas that do the same meet Conflict or NotFound and leave it.
 */
export function createRetentionSweep(
  deps: Pick<DrDeps, 'kube' | 'caches' | 'events' | 'log' | 'mutex'>,
  options: RetentionOptions,
): RetentionSweep {
  const { kube, caches, log } = deps;
  const now = options.now ?? Date.now;

  const index = createRetentionIndex(caches.executions);
  const view: RetentionView = {
    ...index,
    plan: (plan) => {
      const [namespace, name = ''] = plan.split('/');
      return caches.plans.get(namespace, name);
    },
  };

  /** @returns false when the plan is not free, or its executions have changed */
  async function remove(execution: CachedExecution): Promise<boolean> {
    const { namespace = '', uid, resourceVersion } = execution.metadata;
    const name = execution.spec.planRef;
    return deps.mutex.run(`DRPlan ${namespace}/${name}`, async () => {
      const plan = await kube.get<DRPlan>({ apiVersion: API_VERSION, kind: 'DRPlan', namespace, name });
      if (plan !== undefined) caches.plans.learn(plan);
      // Changes since the pass began count.
      const due = removable(view, planKeyOf(execution), options.defaults, now());
      const isDue = due.some(
        ({ metadata }) => metadata.uid === uid && metadata.resourceVersion === resourceVersion,
      );
      return isDue && deleteJudged(kube, EXECUTION, { ...execution.metadata, namespace });
    });
  }

  async function sweepPlan(
    planKey: string,
    due: readonly CachedExecution[],
    signal: AbortSignal,
  ): Promise<void> {
    const removed: string[] = [];
    for (const execution of due) {
      if (signal.aborted || !options.mayAct()) break;
      if (!(await remove(execution))) continue;
      const { phase, completionTime } = execution.status ?? {};
      removed.push(execution.metadata.name);
      options.metrics.removed();
      log.info({ ...fieldsOf(execution), phase, completionTime }, 'removed an execution that has ended');
      await pause(options.paceMs, signal);
    }
    const plan = view.plan(planKey);
    if (removed.length > 0 && plan !== undefined) deps.events.record(plan, removalOf(removed));
  }

  async function sweep(signal: AbortSignal): Promise<void> {
    if (!options.mayAct()) return;
    let count = 0;
    for (const planKey of index.plans()) {
      const due = removable(view, planKey, options.defaults, now());
      count += due.length;
      if (due.length > 0) await sweepPlan(planKey, due, signal);
      if (signal.aborted) return;
    }
    options.metrics.passed(count);
  }

  return {
    sweep,
    async run(signal) {
      while (!signal.aborted) {
        await sweep(signal).catch((error: unknown) => {
          log.warn({ err: error }, 'could not remove executions that have ended; trying again');
        });
        await pause(spread(options.intervalMs), signal);
      }
    },
  };
}

/** The Event on a plan whose executions of these names were removed. */
function removalOf(names: readonly string[]): EventNote {
  const named = names
    .slice(0, NAMED)
    .map((name) => `"${name}"`)
    .join(', ');
  const more = names.length > NAMED ? ` and ${names.length - NAMED} more` : '';
  return {
    type: 'Normal',
    reason: 'ExecutionsRemoved',
    action: 'Remove',
    message: `removed ${names.length} that had ended, by historyLimit or ttlSecondsAfterFinished: ${named}${more}`,
    key: names.join(' '),
  };
}
