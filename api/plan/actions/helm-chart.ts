import { z } from 'zod';
import { oneOfOrPlaceholder, PRESERVE } from '../schema/common.js';
import { OPERATIONS } from '../schema/actions/operations.js';

export const helmChartActionSchema = z
  .object({
    operation: z
      .string()
      .max(256)
      .optional()
      .meta(oneOfOrPlaceholder(OPERATIONS.HelmChart))
      .describe('Create (default), Apply, Patch or Delete. May be a placeholder.'),
    name: z.string().min(1).max(1024).describe('Name of the HelmChart.'),
    namespace: z.string().min(1).max(1024).describe('Namespace of the HelmChart.'),
    spec: z
      .looseObject({})
      .optional()
      .meta(PRESERVE)
      .describe(
        "The HelmChart's spec as Clusternet knows it; Create and Apply need repo, chart and targetNamespace.",
      ),
  })
  .describe('A Clusternet HelmChart: a chart that Subscriptions can deploy.');
/** HelmChart action (the original's later releases). */
export type HelmChartAction = z.infer<typeof helmChartActionSchema>;
