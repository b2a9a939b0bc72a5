import { Worker } from '@temporalio/worker';
import type { WorkerOptions } from '@temporalio/worker';
import { WAIT_ACTIVITIES } from '../api/plan/actions/activities.js';
import type { WorkerActivities } from '../workflows/plan/contract-tasks.js';
import { taskQueues } from '../workflows/core/contract.js';

/** What the workers of a process are made with. */
export interface WorkersOptions {
  cluster: string;
  activities: WorkerActivities;
  /** What all of them share: connection, namespace, converter, times of a shutdown. */
  common: Omit<WorkerOptions, 'taskQueue' | 'activities' | 'workflowBundle' | 'workflowsPath'>;
  /** Options that only the worker that runs workflows gets. */
  workflows: Pick<
    WorkerOptions,
    | 'workflowBundle'
    | 'sinks'
    | 'maxCachedWorkflows'
    | 'maxConcurrentWorkflowTaskExecutions'
    | 'stickyQueueScheduleToStartTimeout'
  >;
  /** Most actions, and most waits, that are carried out at once. */
  slots: { actions: number; waits: number };
}

/** Urgent activities are short; a machine cannot do this many at once. */
const URGENT_SLOTS = 100;

/**
 * The workers of a process, one for each task queue: waits never hold up actions, and actions never hold up what is
 * urgent.
 */
export async function createWorkers(options: WorkersOptions): Promise<Worker[]> {
  const { common, activities, slots } = options;
  const queues = taskQueues(options.cluster);
  return Promise.all([
    Worker.create({
      ...common,
      ...options.workflows,
      taskQueue: queues.worker,
      // This queue also gets the waits of runs that an earlier release has begun.
      activities: { ...activities },
      maxConcurrentActivityTaskExecutions: slots.actions,
    }),
    Worker.create({
      ...common,
      taskQueue: queues.waits,
      activities: Object.fromEntries(WAIT_ACTIVITIES.map((name) => [name, activities[name]])),
      maxConcurrentActivityTaskExecutions: slots.waits,
      // A wait's cancel waits for nobody: the SDK's own, rarer heartbeats do.
      maxHeartbeatThrottleInterval: '30s',
      defaultHeartbeatThrottleInterval: '30s',
    }),
    Worker.create({
      ...common,
      taskQueue: queues.urgent,
      activities: { ...activities },
      maxConcurrentActivityTaskExecutions: URGENT_SLOTS,
    }),
  ]);
}
