import type { Retry } from '../snapshot/run.js';

/** What holds where an action says nothing of retries. */
export const DEFAULT_RETRY: Readonly<Retry> = {
  limit: 3,
  intervalMs: 5000,
  backoffMultiplier: 2,
  maxIntervalMs: 300_000,
};

/** Whether a policy says nothing that the default does not say: then it need not be sent. */
export const isDefaultRetry = (retry: Retry): boolean =>
  retry.rerunJob === undefined &&
  retry.limit === DEFAULT_RETRY.limit &&
  retry.intervalMs === DEFAULT_RETRY.intervalMs &&
  retry.backoffMultiplier === DEFAULT_RETRY.backoffMultiplier &&
  retry.maxIntervalMs === DEFAULT_RETRY.maxIntervalMs;
