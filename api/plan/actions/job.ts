import { z } from 'zod';
import { PRESERVE } from '../schema/common.js';

export const jobActionSchema = z
  .object({
    namespace: z.string().max(253).optional().describe('Namespace of the Job (default "default").'),
    template: z
      .looseObject({})
      .meta(PRESERVE)
      .describe('Job template: metadata and spec of a batch/v1 Job. Placeholders are filled in everywhere.'),
    ttlSecondsAfterFinished: z
      .int()
      .min(0)
      .optional()
      .describe('Seconds to keep the finished Job; overrides the template.'),
  })
  .describe('A Job that runs to its end.');
/** Job action (in the original: JobAction). */
export type JobAction = z.infer<typeof jobActionSchema>;
