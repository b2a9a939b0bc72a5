import { z } from 'zod';
import { HOOK_TYPES } from '../../order/hooks.js';
import { cel, duration, PRESERVE } from '../common.js';
import type { CelRule } from '../common.js';
import { approvalActionSchema } from '../../actions/approval.js';
import { globalizationActionSchema } from '../../actions/globalization.js';
import { helmChartActionSchema } from '../../actions/helm-chart.js';
import { httpActionSchema } from '../../actions/http.js';
import { jobActionSchema } from '../../actions/job.js';
import { resourceActionSchema } from '../../actions/kubernetes-resource.js';
import { localizationActionSchema } from '../../actions/localization.js';
import { notifyActionSchema } from '../../actions/notify.js';
import { planActionSchema } from '../../actions/plan.js';
import { retryPolicySchema } from './retry-policy.js';
import { subscriptionActionSchema } from '../../actions/subscription.js';
import { targetSchema } from './target.js';
import { waitActionSchema } from '../../actions/wait.js';

/** The action types that a run can execute. */
export const ACTION_TYPES = [
  'HTTP',
  'Job',
  'Localization',
  'Globalization',
  'HelmChart',
  'Subscription',
  'KubernetesResource',
  'Wait',
  'Notify',
  'Approval',
  'Plan',
] as const;
/** Type of an action (in the original: Action). */
export type ActionType = (typeof ACTION_TYPES)[number];

export const hookCleanupSchema = z
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

const actionFields = {
  name: z.string().min(1).max(253).describe('Name of the action, unique in its workflow.'),
  type: z
    .string()
    .min(1)
    .meta({ enum: [...ACTION_TYPES] })
    .describe(`One of ${ACTION_TYPES.join(', ')}.`),
  http: httpActionSchema.optional().describe('The request (type HTTP).'),
  job: jobActionSchema.optional().describe('The Job (type Job).'),
  localization: localizationActionSchema.optional().describe('The Localization (type Localization).'),
  globalization: globalizationActionSchema.optional().describe('The Globalization (type Globalization).'),
  helmChart: helmChartActionSchema.optional().describe('The HelmChart (type HelmChart).'),
  subscription: subscriptionActionSchema.optional().describe('The Subscription (type Subscription).'),
  resource: resourceActionSchema.optional().describe('The objects (type KubernetesResource).'),
  wait: waitActionSchema.optional().describe('What is waited for (type Wait).'),
  notify: notifyActionSchema.optional().describe('The message (type Notify).'),
  approval: approvalActionSchema.optional().describe('Who has to agree (type Approval).'),
  plan: planActionSchema.optional().describe('The plan to run (type Plan).'),
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

/** A custom rollback as it may be written: `name` and `type` may be left out (S5.47). */
export const rollbackSchema = z.object({
  ...actionFields,
  name: actionFields.name.optional(),
  type: actionFields.type.optional(),
});
/** A custom rollback action. */
export type RollbackAction = z.infer<typeof rollbackSchema>;

/** Field of an action that holds the block of a type (in the original: Action). */
export const BLOCK_BY_TYPE = {
  HTTP: 'http',
  Job: 'job',
  Localization: 'localization',
  Globalization: 'globalization',
  HelmChart: 'helmChart',
  Subscription: 'subscription',
  KubernetesResource: 'resource',
  Wait: 'wait',
  Notify: 'notify',
  Approval: 'approval',
  Plan: 'plan',
} as const satisfies Record<ActionType, string>;

const blockRules = Object.entries(BLOCK_BY_TYPE).map(([type, field]): CelRule => ({
  rule: `self.type != '${type}' || has(self.${field})`,
  message: `an action of type ${type} needs the field ${field}`,
}));

/** Seed: Validation Rules, DRWorkflow, 6. */
const patchRules = (['localization', 'globalization', 'helmChart', 'subscription', 'resource'] as const).map(
  (field): CelRule => ({
    rule: `!has(self.${field}) || !has(self.${field}.operation) || self.${field}.operation != 'Patch' || has(self.rollback)`,
    message: `${field}.operation Patch needs a rollback in the action: say how the patch is undone`,
  }),
);

export const actionSchema = z
  .object({
    ...actionFields,
    rollback: z
      .looseObject({})
      .optional()
      .meta(PRESERVE)
      .describe('An action that undoes this one. Without a type it has the type of the action it undoes.'),
  })
  .meta(cel(...blockRules, ...patchRules))
  .describe('One step of a workflow.');
/** An action (in the original: Action). `rollback` is stored unchecked and read with {@link rollbackSchema}. */
export type Action = z.infer<typeof actionSchema>;
