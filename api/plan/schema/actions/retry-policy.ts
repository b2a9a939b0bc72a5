import { z } from 'zod';
import { duration, PRESERVE } from '../../../core/schema.js';

/** A number of attempts is kept in 32 bits. */
const MAX_RETRIES = 2 ** 31 - 2;

export const retryPolicySchema = z
  .object({
    limit: z
      .int()
      .min(0)
      .max(MAX_RETRIES)
      .optional()
      .describe('Retries after the first attempt (default 3). 0 means one attempt.'),
    interval: duration('Wait before the first retry (default 5s).').optional(),
    backoffMultiplier: z
      .union([z.number(), z.string()])
      .optional()
      .meta(PRESERVE)
      .describe('Factor between waits, a number or a string (default 2.0). A wait is never longer than 5m.'),
  })
  .describe('How an action is retried.');
/** Retry policy of an action (in the original: RetryPolicy). */
export type RetryPolicy = z.infer<typeof retryPolicySchema>;
