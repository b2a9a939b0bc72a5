/** The workers of a process, as the program makes them, on the task queues of a cluster that a test has made up. */
import type { NativeConnection, Worker, WorkflowBundleOption } from '@temporalio/worker';
import type { WorkerActivities } from '../../workflows/plan/contract-tasks.js';
import { createWorkers } from '../../worker/workers.js';

/** Workers that were started, and how to stop them. */
export interface StartedWorkers {
  stop(): Promise<void>;
  /** Stops them when the work has ended, however. */
  runUntil<T>(work: () => Promise<T>): Promise<T>;
}

/** Starts workers for all task queues of a cluster. */
export async function startWorkers(options: {
  connection: NativeConnection;
  namespace: string;
  cluster: string;
  workflowBundle: WorkflowBundleOption;
  activities: WorkerActivities;
  heartbeatThrottleMs?: number;
  shutdownGraceTime?: number;
  slots?: { actions: number; waits: number };
}): Promise<StartedWorkers> {
  const { connection, namespace, heartbeatThrottleMs = 1000, shutdownGraceTime } = options;
  const workers: Worker[] = await createWorkers({
    cluster: options.cluster,
    activities: options.activities,
    common: {
      connection,
      namespace,
      maxHeartbeatThrottleInterval: heartbeatThrottleMs,
      defaultHeartbeatThrottleInterval: heartbeatThrottleMs,
      ...(shutdownGraceTime !== undefined && { shutdownGraceTime }),
    },
    workflows: { workflowBundle: options.workflowBundle },
    slots: options.slots ?? { actions: 100, waits: 100 },
  });
  const running = Promise.all(workers.map((worker) => worker.run()));
  const stop = async (): Promise<void> => {
    for (const worker of workers) if (worker.getState() === 'RUNNING') worker.shutdown();
    await running;
  };
  return {
    stop,
    async runUntil(work) {
      try {
        return await work();
      } finally {
        await stop();
      }
    },
  };
}
