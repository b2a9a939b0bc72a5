/** Who takes tasks from the task queues of a cluster, as Temporal has seen it within the last minutes. */
import type { Client } from '@temporalio/client';
import { taskQueues } from '../../workflows/core/contract.js';
import { callsOf } from './calls.js';

/** Processes of one build that take tasks. */
export interface Pollers {
  program: 'bridge' | 'worker';
  /** Name of the build; absent where the process has named none. */
  build?: string;
  /** Whether runs stay with that build. */
  isPinning: boolean;
  /** How many processes there are. */
  processes: number;
  /** When the one of them that was seen last asked for a task. */
  lastSeen: Date | undefined;
}

/** TASK_QUEUE_TYPE_WORKFLOW and TASK_QUEUE_TYPE_ACTIVITY */
const QUEUE_TYPES = { worker: 1, bridge: 2 } as const;
/** WORKER_VERSIONING_MODE_VERSIONED */
const VERSIONED = 2;

/**
 * The processes that take tasks for a cluster, by program and build. Temporal remembers one that is gone for five minutes.
 *
 * @throws the client library's errors when Temporal does not answer
 */
export async function findPollers(client: Client, cluster: string): Promise<Pollers[]> {
  const call = callsOf(client);
  const queues = taskQueues(cluster);
  const found = await Promise.all(
    (['bridge', 'worker'] as const).map(async (program) => {
      const { pollers } = await call(() =>
        client.workflowService.describeTaskQueue({
          namespace: client.options.namespace,
          taskQueue: { name: queues[program] },
          taskQueueType: QUEUE_TYPES[program],
        }),
      );
      const builds = new Map<string, Pollers & { identities: Set<string> }>();
      for (const { identity, deploymentOptions, lastAccessTime } of pollers) {
        const build = deploymentOptions?.buildId ?? '';
        const seen =
          lastAccessTime?.seconds === undefined ? undefined : Number(lastAccessTime.seconds) * 1000;
        const known = builds.get(build) ?? {
          program,
          ...(build !== '' && { build }),
          isPinning: Number(deploymentOptions?.workerVersioningMode) === VERSIONED,
          processes: 0,
          lastSeen: undefined,
          identities: new Set<string>(),
        };
        known.identities.add(identity ?? '');
        if (seen !== undefined && seen > (known.lastSeen?.getTime() ?? 0)) known.lastSeen = new Date(seen);
        builds.set(build, known);
      }
      return [...builds.values()].map(({ identities, ...one }) => ({ ...one, processes: identities.size }));
    }),
  );
  return found.flat();
}
