import { Worker } from '@temporalio/worker';
import type { WorkerOptions } from '@temporalio/worker';
import type { WorkerActivities } from '../workflows/plan/contract.js';
import { taskQueues } from '../workflows/plan/contract.js';

/** What the workers of a process are made with. */
export interface WorkersOptions {
  cluster: string;
  activities: WorkerActivities;
  /** What all of them share: connection, namespace, converter, times of a shutdown. */
  common: Omit<WorkerOptions, 'taskQueue' | 'activities' | 'workflowBundle' | 'workflowsPath'>;
  /** What only the one has that runs workflows. */
  workflows: Pick<
    WorkerOptions,
    | 'workflowBundle'
    | 'maxCachedWorkflows'
    | 'maxConcurrentWorkflowTaskExecutions'
    | 'stickyQueueScheduleToStartTimeout'
  >;
  /** Actions, and waits, that are carried out at once. */
  slots: { actions: number; waits: number };
}

/** What is urgent is short; so many at once are more than a machine can do. */
const URGENT_SLOTS = 100;

/**
 * The workers of a process, one for each task queue: waits never keep an action from running, nor actions what is urgent.
 */
export async function createWorkers(options: WorkersOptions): Promise<Worker[]> {
  const { common, activities, slots } = options;
  const queues = taskQueues(options.cluster);
  return Promise.all([
    Worker.create({
      ...common,
      ...options.workflows,
      taskQueue: queues.worker,
      // Waits of runs that an earlier release has begun are here.
      activities: { ...activities },
      maxConcurrentActivityTaskExecutions: slots.actions,
    }),
    Worker.create({
      ...common,
      taskQueue: queues.waits,
      activities: { wait: activities.wait },
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
