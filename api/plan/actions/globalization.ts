import { z } from 'zod';
import { oneOfOrPlaceholder, PRESERVE } from '../schema/common.js';
import { OPERATIONS } from '../schema/actions/operations.js';

export const globalizationActionSchema = z
  .object({
    operation: z
      .string()
      .max(256)
      .optional()
      .meta(oneOfOrPlaceholder(OPERATIONS.Globalization))
      .describe('Create (default), Apply, Patch or Delete. May be a placeholder.'),
    name: z.string().min(1).max(1024).describe('Name of the Globalization, which has no namespace.'),
    spec: z
      .looseObject({})
      .optional()
      .meta(PRESERVE)
      .describe(
        "The Globalization's spec as Clusternet knows it: feed, overrides, clusterAffinity, priority (default 500 on Create) and overridePolicy (absent on Create: ApplyNow).",
      ),
  })
  .describe('A Clusternet Globalization: overrides for many clusters.');
/** Globalization action (the original's later releases). */
export type GlobalizationAction = z.infer<typeof globalizationActionSchema>;
