import { z } from 'zod';
import { objectReferenceSchema, PRESERVE } from '../../core/schema.js';
import { operationField } from '../schema/common.js';
import { feedSchema } from '../schema/actions/feed.js';
import { isObject } from '../../core/json.js';
import type { Problem } from '../../core/problem.js';
import type { StepFields } from '../schema/actions/step-fields.js';
import { checkAffinity, checkOneForm } from '../validate/clusternet.js';
import { error, show, warning } from '../../core/fields.js';
import { checkName } from '../validate/names.js';
import { isTemplated } from '../validate/sample.js';
import type { ActionDescriptor } from './descriptor.js';

const OPERATIONS = ['Create', 'Apply', 'Patch', 'Delete', 'Replace'] as const;
const STRATEGIES = ['Replication', 'Dividing'];

const subscriberSchema = z
  .object({
    clusterAffinity: z
      .looseObject({})
      .optional()
      .meta(PRESERVE)
      .describe('Label selector over ManagedClusters.'),
    weight: z.int().min(0).optional().describe('Weight (Dividing only).'),
  })
  .describe('A set of clusters that receive the feeds.');

const subscriptionActionSchema = z
  .object({
    operation: operationField(OPERATIONS),
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

/** Subscription: which clusters run what Clusternet distributes. */
export const subscription = {
  field: 'subscription',
  schema: subscriptionActionSchema,
  title: 'The Subscription (type Subscription).',
  preflight: 'writes',
  operations: OPERATIONS,
  recreates: true,
  creates: true,
  waitsReady: true,
  perCluster: true,
  deletion: 'derived',
  reference: 'subscriptionRef',
  outputs: {
    subscriptionRef: objectReferenceSchema.optional().describe('The Subscription that was written.'),
    subscriptionRefs: z
      .array(objectReferenceSchema)
      .max(256)
      .optional()
      .describe('PerCluster: the Subscriptions that were written, one for each cluster.'),
  },
  names: { name: 'subdomain', namespace: 'label' },
  check: checkSubscription,
  advise: adviseWaiting,
} as const satisfies ActionDescriptor<SubscriptionAction>;

/** Checks a Subscription action. */
function checkSubscription(block: SubscriptionAction, _: StepFields, path: string): Problem[] {
  const operation = block.operation || 'Create';
  const spec = block.spec;
  const body = spec ?? block;
  const where = spec === undefined ? path : `${path}.spec`;
  const problems = [
    ...checkOneForm(block, ['feeds', 'subscribers', 'schedulingStrategy'], path),
    ...checkName(block.name, `${path}.name`, 'subdomain'),
    ...checkName(block.namespace, `${path}.namespace`, 'label'),
  ];
  if (operation === 'Delete') return problems;
  const strategy = body.schedulingStrategy;
  if (typeof strategy === 'string' && !isTemplated(strategy) && !STRATEGIES.includes(strategy)) {
    const message = `is ${show(strategy)}; allowed are ${STRATEGIES.join(', ')}`;
    problems.push(error(`${where}.schedulingStrategy`, 'InvalidField', message));
  }
  if (operation === 'Create' || operation === 'Replace') {
    for (const field of ['feeds', 'subscribers'] as const) {
      const list = body[field];
      if (Array.isArray(list) && list.length > 0) continue;
      problems.push(
        error(
          `${where}.${field}`,
          'InvalidField',
          `is ${show(list)}; operation ${operation} needs at least one`,
        ),
      );
    }
  }
  return [...problems, ...checkSubscribers(body.subscribers, `${where}.subscribers`)];
}

function checkSubscribers(subscribers: unknown, path: string): Problem[] {
  if (!Array.isArray(subscribers)) return [];
  return (subscribers as unknown[]).flatMap((subscriber, index): Problem[] => {
    const affinity = isObject(subscriber) ? subscriber.clusterAffinity : undefined;
    const where = `${path}[${index}].clusterAffinity`;
    if (!isObject(affinity)) {
      return [
        error(
          where,
          'NoClusterAffinity',
          `is ${show(affinity)}; without it no cluster matches, which removes the feeds from every cluster: select clusters, or write {} for all`,
        ),
      ];
    }
    return checkAffinity(affinity, where);
  });
}

function adviseWaiting(
  { operation }: SubscriptionAction,
  { waitReady }: StepFields,
  path: string,
): Problem[] {
  if (waitReady === true || operation === 'Delete') return [];
  const message =
    'is not true: the action succeeds once the Subscription is written, not once clusters have applied it';
  return [warning(`${path.replace(/\.subscription$/, '')}.waitReady`, 'NotWaiting', message)];
}
