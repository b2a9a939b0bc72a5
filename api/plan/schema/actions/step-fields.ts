import { z } from 'zod';
import { HOOK_TYPES } from '../../order/hooks.js';
import { duration } from '../../../core/schema.js';
import { retryPolicySchema } from './retry-policy.js';
import { targetSchema } from './target.js';

const hookCleanupSchema = z
  .object({
    beforeCreate: z
      .boolean()
      .optional()
      .describe('Delete what is in the way of what the action creates, whoever made it (default false).'),
    onSuccess: z
      .boolean()
      .optional()
      .describe('Delete what the action has created once it has succeeded (default false).'),
    onFailure: z
      .boolean()
      .optional()
      .describe('Delete what the action has created once it has failed (default false).'),
  })
  .describe(
    "When the objects of a Job, KubernetesResource or Clusternet action are deleted, as by Helm's hook-delete-policy.",
  );

/** What actions of every type have, besides name, type and block. */
export const stepFields = {
  timeout: duration(
    'Longest time of one attempt (default 5m); 0s means none, which is 30 days at most. A Notify has 15s by default, a Plan no limit.',
  ).optional(),
  totalTimeout: duration('Longest time of all attempts together (default none).').optional(),
  retryPolicy: retryPolicySchema.optional().describe('How the action is retried.'),
  dependsOn: z
    .array(z.string().min(1))
    .max(2000)
    .optional()
    .describe('Actions of this workflow that must end first. With any dependsOn the actions form a graph.'),
  when: z.string().max(4096).optional().describe('CEL condition; the action is Skipped when it is false.'),
  interruptible: z
    .boolean()
    .optional()
    .describe(
      'Whether a cancel stops the running action (default true); false lets it finish within its timeout.',
    ),
  waitReady: z
    .boolean()
    .optional()
    .describe(
      'Subscription: wait until every cluster has applied this very spec. HelmChart: wait until Clusternet has found the chart. Default false.',
    ),
  target: targetSchema.optional(),
  clusterExecutionMode: z
    .string()
    .optional()
    .describe(
      'Subscription with waitReady: Global (default) writes one Subscription for all clusters, PerCluster one for each of them, so that every cluster goes on by itself.',
    ),
  maxConcurrentClusters: z
    .int()
    .min(1)
    .max(100)
    .optional()
    .describe('PerCluster: how many clusters are worked on at once (default and at most 100).'),
  hookType: z
    .string()
    .max(256)
    .optional()
    .describe(
      `Makes the action a hook, which runs in its mode only, before or after the actions that are none: ${HOOK_TYPES.join(', ')}. Rollback hooks run around a Revert.`,
    ),
  hookCleanup: hookCleanupSchema.optional(),
};

/** Those fields of an action. */
export type StepFields = z.infer<z.ZodObject<typeof stepFields>>;
