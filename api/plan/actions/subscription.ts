import { z } from 'zod';
import { oneOfOrPlaceholder, PRESERVE } from '../schema/common.js';
import { OPERATIONS } from '../schema/actions/operations.js';
import { feedSchema } from '../schema/actions/feed.js';

export const subscriberSchema = z
  .object({
    clusterAffinity: z
      .looseObject({})
      .optional()
      .meta(PRESERVE)
      .describe('Label selector over ManagedClusters.'),
    weight: z.int().min(0).optional().describe('Weight (Dividing only).'),
  })
  .describe('A set of clusters that receive the feeds.');

export const subscriptionActionSchema = z
  .object({
    operation: z
      .string()
      .max(256)
      .optional()
      .meta(oneOfOrPlaceholder(OPERATIONS.Subscription))
      .describe('Create (default), Apply, Patch, Delete or Replace. May be a placeholder.'),
    name: z.string().min(1).max(1024).describe('Name of the Subscription.'),
    namespace: z
      .string()
      .max(1024)
      .optional()
      .describe("Namespace of the Subscription (default: the execution's)."),
    feeds: z.array(feedSchema).max(256).optional().describe('Sources to distribute.'),
    subscribers: z.array(subscriberSchema).max(256).optional().describe('Clusters that receive them.'),
    schedulingStrategy: z.string().max(256).optional().describe('Replication or Dividing.'),
    spec: z
      .looseObject({})
      .optional()
      .meta(PRESERVE)
      .describe("The Subscription's spec as Clusternet knows it; an alternative to the fields beside it."),
  })
  .describe('A Clusternet Subscription: which clusters run which sources.');
/** Subscription action (in the original: SubscriptionAction; flat, or nested under `spec`). */
export type SubscriptionAction = z.infer<typeof subscriptionActionSchema>;
