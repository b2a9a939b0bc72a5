import { z } from 'zod';
import { conditionsSchema } from '../../core/schema.js';
import type { KubernetesObject } from '../../core/schema.js';
import { ENFORCEMENT_LEVELS, httpUrl, keyReference, objectName, TASK_STAGES } from './common.js';

export const runTaskSpecSchema = z
  .object({
    description: z.string().max(1000).optional().describe('What the task looks for.'),
    endpointUrl: httpUrl('Where it is called.'),
    enabled: z.boolean().optional().describe('Whether it is called (default true).'),
    hmacKeySecretRef: keyReference(
      'Key that requests are signed with. Absent: they are not signed.',
    ).optional(),
    serviceAccountName: objectName('Account that reads the key.').optional(),
    timeoutSeconds: z
      .int()
      .min(60)
      .max(600)
      .optional()
      .describe('Seconds without a sign of life after which it counts as timed out (default 600).'),
    maxRunSeconds: z
      .int()
      .min(60)
      .max(3600)
      .optional()
      .describe('Seconds that it may take in all (default 3600).'),
    isGlobal: z
      .boolean()
      .optional()
      .describe(
        'Whether it is called for all workspaces of its namespace; in the global namespace, for all (default false).',
      ),
    globalStages: z
      .array(z.enum(TASK_STAGES))
      .min(1)
      .max(4)
      .optional()
      .describe('When it is called as a global task (default post_plan).'),
    globalEnforcementLevel: z
      .enum(ENFORCEMENT_LEVELS)
      .optional()
      .describe('What its result decides as a global task (default advisory).'),
    overridable: z
      .boolean()
      .optional()
      .describe('Whether a person may let a run go on although it did not pass (default false).'),
  })
  .describe('A service that looks at runs and may stop them.');
/** Spec of a RunTask. */
export type RunTaskSpec = z.infer<typeof runTaskSpecSchema>;

/** Status of the kinds that have conditions and no workflow. */
export const readyStatusSchema = z
  .object({
    observedGeneration: z.int().optional().describe('Generation of the spec that the status speaks of.'),
    conditions: conditionsSchema.optional(),
  })
  .describe('What is known of the object.');

/** A RunTask. */
export type RunTask = KubernetesObject<RunTaskSpec, z.infer<typeof readyStatusSchema>>;
