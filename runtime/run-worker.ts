import { setTimeout as sleep } from 'node:timers/promises';
import type { Worker } from '@temporalio/worker';

/** Times of {@link runWorker}, in milliseconds. */
export interface RunWorkerTimes {
  /** Time between two checks whether the worker has failed (default 1 s). */
  lookMs?: number;
  /** How long a worker that has failed may take to end (5 s). */
  endMs?: number;
}

/**
 * Runs a worker of the SDK to its end. The SDK's own promise is not enough: a worker that fails, as it does when it is
 * stopped while Temporal is out of reach, waits for its pollers before the promise settles, for ever if they get no
 * answer. It takes no more tasks then, and its process has to end so that another one can start.
 *
 * @throws what `worker.run()` throws, or an Error when the worker has failed and does not end.
 */
export async function runWorker(
  worker: Pick<Worker, 'run' | 'getState'>,
  { lookMs = 1000, endMs = 5000 }: RunWorkerTimes = {},
): Promise<void> {
  const over = new AbortController();
  try {
    await Promise.race([worker.run(), failure(worker, { lookMs, endMs }, over.signal)]);
  } finally {
    over.abort();
  }
}

/**
 * Runs several workers of one process to their ends.
 *
 * @throws as soon as one of them throws: a process that does only part of its work has to end
 */
export async function runWorkers(
  workers: readonly Pick<Worker, 'run' | 'getState'>[],
  times?: RunWorkerTimes,
): Promise<void> {
  await Promise.all(workers.map((worker) => runWorker(worker, times)));
}

async function failure(
  worker: Pick<Worker, 'getState'>,
  { lookMs, endMs }: Required<RunWorkerTimes>,
  over: AbortSignal,
): Promise<void> {
  try {
    while (worker.getState() !== 'FAILED') await sleep(lookMs, undefined, { signal: over });
    await sleep(endMs, undefined, { signal: over });
  } catch (error) {
    if (over.aborted) return;
    throw error;
  }
  throw new Error(
    'the Temporal worker has failed and does not end; see above for why, and whether Temporal can be reached',
  );
}
