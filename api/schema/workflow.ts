import { z } from 'zod';
import { cel, conditionsSchema, duration, parameterSchema, PRESERVE } from './common.js';
import type { CelRule } from './common.js';
import type { KubernetesObject } from './common.js';

/** The action types that a run can execute. */
export const ACTION_TYPES = [
  'HTTP',
  'Job',
  'Localization',
  'Subscription',
  'KubernetesResource',
  'Wait',
  'Notify',
  'Approval',
] as const;
/** Type of an action (seed: Action). */
export type ActionType = (typeof ACTION_TYPES)[number];
/** Action types of the original's later releases: accepted by the schema, refused with UnsupportedField. */
export const UNSUPPORTED_ACTION_TYPES = ['Globalization', 'HelmChart'] as const;

export const retryPolicySchema = z
  .object({
    limit: z
      .int()
      .min(0)
      .max(100)
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
/** Retry policy of an action (seed: RetryPolicy). */
export type RetryPolicy = z.infer<typeof retryPolicySchema>;

const secretKeySchema = z
  .object({
    name: z.string().min(1).max(253).describe("Name of the Secret, in the plan's namespace."),
    key: z.string().min(1).max(253).describe('Key in the Secret.'),
  })
  .describe('Where the value comes from.');

const headerFromSchema = z
  .object({
    name: z.string().min(1).max(256).describe('Name of the header.'),
    prefix: z.string().max(256).optional().describe('Text put before the value, for example "Bearer ".'),
    secretKeyRef: secretKeySchema,
  })
  .describe('A request header whose value is kept in a Secret.');

export const httpActionSchema = z
  .object({
    url: z
      .string()
      .min(1)
      .max(8192)
      .describe('URL of the request. Placeholders in path and query are percent-encoded.'),
    method: z.string().max(256).optional().describe('Method of the request (default GET).'),
    headers: z.record(z.string(), z.string()).optional().describe('Headers of the request.'),
    headersFrom: z
      .array(headerFromSchema)
      .max(64)
      .optional()
      .describe('Headers whose values are kept in Secrets.'),
    body: z
      .string()
      .optional()
      .describe('Body of the request. JSON and YAML bodies are filled in by structure, not as text.'),
    successCodes: z
      .array(z.int().min(100).max(599))
      .max(100)
      .optional()
      .describe('Status codes that mean success. Absent or empty: 200 to 299.'),
    insecureSkipVerify: z
      .boolean()
      .optional()
      .describe("Whether the server's certificate goes unchecked (default false)."),
  })
  .describe('An HTTP request.');
/** HTTP action (seed: HTTPAction). */
export type HTTPAction = z.infer<typeof httpActionSchema>;

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
/** Job action (seed: JobAction). */
export type JobAction = z.infer<typeof jobActionSchema>;

export const feedSchema = z
  .object({
    apiVersion: z.string().min(1).describe('API version of the source.'),
    kind: z.string().min(1).describe('Kind of the source.'),
    name: z.string().min(1).describe('Name of the source.'),
    namespace: z.string().optional().describe('Namespace of the source.'),
  })
  .describe('A source object that Clusternet distributes.');
/** A Clusternet feed (seed: Feed). */
export type Feed = z.infer<typeof feedSchema>;

export const localizationActionSchema = z
  .object({
    operation: z
      .string()
      .max(256)
      .optional()
      .describe('Create (default), Apply, Patch or Delete. May be a placeholder.'),
    name: z.string().min(1).max(1024).describe('Name of the Localization.'),
    namespace: z
      .string()
      .min(1)
      .max(1024)
      .describe('Namespace of the Localization: that of the ManagedCluster.'),
    priority: z.int().min(0).max(1000).optional().describe('Priority, higher wins (default 500 on Create).'),
    overridePolicy: z
      .enum(['ApplyNow', 'ApplyLater'])
      .optional()
      .describe('When overrides take effect. Absent on Create: ApplyNow.'),
    feed: feedSchema.optional().describe('Source that is changed. Needed for Create.'),
    overrides: z
      .array(
        z
          .object({
            name: z.string().min(1).describe('Name of the override.'),
            type: z.string().min(1).describe('JSONPatch, MergePatch or Helm. May be a placeholder.'),
            value: z.string().describe('Content of the override in YAML or JSON.'),
            overrideChart: z
              .boolean()
              .optional()
              .describe('Whether the HelmChart object is changed (type Helm only).'),
          })
          .describe('One change.'),
      )
      .max(256)
      .optional()
      .describe('Changes, applied in order.'),
    spec: z
      .looseObject({})
      .optional()
      .meta(PRESERVE)
      .describe("The Localization's spec as Clusternet knows it; an alternative to the fields beside it."),
  })
  .describe('A Clusternet Localization: overrides for one cluster.');
/** Localization action (seed: LocalizationAction, flat; the original's nested `spec`). */
export type LocalizationAction = z.infer<typeof localizationActionSchema>;

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
/** Subscription action (seed: SubscriptionAction, flat; the original's nested `spec`). */
export type SubscriptionAction = z.infer<typeof subscriptionActionSchema>;

export const resourceActionSchema = z
  .object({
    operation: z
      .string()
      .max(256)
      .optional()
      .describe('Create (default), Apply, Patch, Replace or Delete. May be a placeholder.'),
    manifest: z.string().min(1).describe('One or several Kubernetes objects in YAML.'),
    force: z
      .boolean()
      .optional()
      .describe(
        'Apply only. Absent or true: take over fields that others own and name them; false: a conflict is an error.',
      ),
  })
  .describe('Kubernetes objects of any kind.');
/** KubernetesResource action (seed: KubernetesResourceAction). */
export type KubernetesResourceAction = z.infer<typeof resourceActionSchema>;

export const waitActionSchema = z
  .object({
    duration: z
      .string()
      .min(1)
      .max(256)
      .optional()
      .describe('Time to wait, such as 30s or 5m. May be a placeholder of a parameter. Excludes `for`.'),
    for: z
      .object({
        apiVersion: z.string().min(1).max(253).describe('API version of the object.'),
        kind: z.string().min(1).max(253).describe('Kind of the object.'),
        namespace: z
          .string()
          .max(253)
          .optional()
          .describe("Namespace of the object (default: the execution's)."),
        name: z.string().min(1).max(253).describe('Name of the object.'),
      })
      .optional()
      .describe('The object to watch. It need not exist yet. Placeholders are filled in.'),
    condition: z
      .string()
      .min(1)
      .max(4096)
      .optional()
      .describe(
        'CEL condition over `object`, which is null while there is none, such as object.status.readyReplicas >= 2.',
      ),
    jsonPath: z
      .string()
      .min(1)
      .max(1024)
      .optional()
      .describe('Instead of condition: a path as kubectl knows it, such as {.status.phase}.'),
    value: z
      .string()
      .max(1024)
      .optional()
      .describe('Value that jsonPath must find; absent: any value. Placeholders are filled in.'),
  })
  .describe('A wait: for a time, or until an object is as it should be. Changes nothing.');
/** Wait action (added). */
export type WaitAction = z.infer<typeof waitActionSchema>;

/** Where a Notify can send to. */
export const NOTIFY_TYPES = ['Webhook', 'CloudEvents', 'Slack', 'Lark', 'Email'] as const;

const emailSchema = z
  .object({
    host: z.string().min(1).max(253).describe('Host of the SMTP server.'),
    port: z
      .int()
      .min(1)
      .max(65535)
      .optional()
      .describe('Port of the SMTP server (default 465 with TLS, 587 with StartTLS, 25 with None).'),
    security: z
      .enum(['TLS', 'StartTLS', 'None'])
      .optional()
      .describe('How the connection is encrypted (default StartTLS, which is insisted on).'),
    from: z.string().min(1).max(320).describe('Address of the sender.'),
    to: z.array(z.string().min(1).max(320)).min(1).max(50).describe('Addresses of the receivers.'),
    credentialsSecretRef: z
      .object({
        name: z.string().min(1).max(253).describe("Name of the Secret, in the plan's namespace."),
      })
      .optional()
      .describe('Secret with the keys username and password. Absent: no login.'),
  })
  .describe('An e-mail over SMTP.');

export const notifyActionSchema = z
  .object({
    type: z
      .enum(NOTIFY_TYPES)
      .describe('Webhook, CloudEvents, Slack (and what is compatible with it), Lark or Email.'),
    url: z
      .string()
      .min(1)
      .max(8192)
      .optional()
      .describe('Where to send (all but Email). Placeholders in path and query are percent-encoded.'),
    urlFrom: z
      .object({ secretKeyRef: secretKeySchema })
      .optional()
      .describe('Instead of url: a Secret that holds it. Slack and Lark addresses are credentials.'),
    headersFrom: z
      .array(headerFromSchema)
      .max(64)
      .optional()
      .describe('Webhook and CloudEvents: headers whose values are kept in Secrets.'),
    signingSecretRef: secretKeySchema.optional().describe('Lark: the secret that signs the message.'),
    email: emailSchema.optional().describe('Server and addresses (type Email).'),
    subject: z
      .string()
      .max(1024)
      .optional()
      .describe('Subject of an e-mail and of an event (default: plan and execution).'),
    template: z
      .string()
      .max(16384)
      .optional()
      .describe('Text of the message. Placeholders are filled in (default: what runs, and where).'),
    insecureSkipVerify: z
      .boolean()
      .optional()
      .describe("Whether the server's certificate goes unchecked (default false)."),
    required: z
      .boolean()
      .optional()
      .describe(
        'Whether the action fails when the message cannot be delivered (default false: it is Skipped, NotDelivered, and the run goes on).',
      ),
  })
  .describe('A message to people or systems.');
/** Notify action (added). */
export type NotifyAction = z.infer<typeof notifyActionSchema>;

export const approvalActionSchema = z
  .object({
    message: z
      .string()
      .min(1)
      .max(4096)
      .describe('What is to be approved, for those who do. Placeholders are filled in.'),
    approvers: z
      .object({
        users: z.array(z.string().min(1).max(256)).max(100).optional().describe('Names of users.'),
        groups: z.array(z.string().min(1).max(256)).max(100).optional().describe('Names of groups.'),
      })
      .describe('Who may answer, as the API server names them. At least one user or group.'),
    quorum: z.int().min(1).max(100).optional().describe('How many persons must approve (default 1).'),
    excludeRequester: z
      .boolean()
      .optional()
      .describe('Whether who asked for the execution may not approve it (default true).'),
    timeout: duration('Longest wait for answers (default none).').optional(),
    defaultOutcome: z
      .enum(['Reject', 'Approve'])
      .optional()
      .describe('What counts when the time is up (default Reject).'),
  })
  .describe('A wait for persons who approve or reject. Changes nothing.');
/** Approval action (added). */
export type ApprovalAction = z.infer<typeof approvalActionSchema>;

export const targetSchema = z
  .object({
    kubeconfigSecretRef: z
      .object({
        name: z
          .string()
          .min(1)
          .max(253)
          .describe("Name of the Secret, in the plan's namespace. May be a placeholder."),
        key: z.string().min(1).max(253).optional().describe('Key in the Secret (default "kubeconfig").'),
      })
      .describe(
        'Kubeconfig of the cluster, with inline data only: certificate-authority-data, and a token or a client certificate.',
      ),
  })
  .describe(
    'Another cluster to act on (Job, KubernetesResource, Wait for an object). Read as the identity of the action; that cluster is acted on as the user of its kubeconfig. A rollback without a target has the one of its action.',
  );
/** The other cluster of an action (added). */
export type ActionTarget = z.infer<typeof targetSchema>;

const actionFields = {
  name: z.string().min(1).max(253).describe('Name of the action, unique in its workflow.'),
  type: z
    .string()
    .min(1)
    .describe(`One of ${ACTION_TYPES.join(', ')}.`),
  http: httpActionSchema.optional().describe('The request (type HTTP).'),
  job: jobActionSchema.optional().describe('The Job (type Job).'),
  localization: localizationActionSchema.optional().describe('The Localization (type Localization).'),
  subscription: subscriptionActionSchema.optional().describe('The Subscription (type Subscription).'),
  resource: resourceActionSchema.optional().describe('The objects (type KubernetesResource).'),
  wait: waitActionSchema.optional().describe('What is waited for (type Wait).'),
  notify: notifyActionSchema.optional().describe('The message (type Notify).'),
  approval: approvalActionSchema.optional().describe('Who has to agree (type Approval).'),
  globalization: z
    .looseObject({})
    .optional()
    .meta(PRESERVE)
    .describe('Not supported yet: makes the workflow Invalid.'),
  helmChart: z
    .looseObject({})
    .optional()
    .meta(PRESERVE)
    .describe('Not supported yet: makes the workflow Invalid.'),
  timeout: duration('Longest time of one attempt (default 5m). A Notify has 15s by default.').optional(),
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
    .describe('Subscription: wait until every cluster has applied this very spec (default false).'),
  target: targetSchema.optional(),
  clusterExecutionMode: z.string().optional().describe('Not supported yet: makes the workflow Invalid.'),
  hookType: z.string().optional().describe('Not supported yet: makes the workflow Invalid.'),
  hookCleanup: z
    .looseObject({})
    .optional()
    .meta(PRESERVE)
    .describe('Not supported yet: makes the workflow Invalid.'),
};

/** A custom rollback as it may be written: `name` and `type` may be left out (plan semantics, §5 Revert). */
export const rollbackSchema = z.object({
  ...actionFields,
  name: actionFields.name.optional(),
  type: actionFields.type.optional(),
});
/** A custom rollback action. */
export type RollbackAction = z.infer<typeof rollbackSchema>;

/** Field of an action that holds the block of a type (seed: Action). */
export const BLOCK_BY_TYPE = {
  HTTP: 'http',
  Job: 'job',
  Localization: 'localization',
  Subscription: 'subscription',
  KubernetesResource: 'resource',
  Wait: 'wait',
  Notify: 'notify',
  Approval: 'approval',
} as const satisfies Record<ActionType, string>;

const blockRules = Object.entries(BLOCK_BY_TYPE).map(([type, field]): CelRule => ({
  rule: `self.type != '${type}' || has(self.${field})`,
  message: `an action of type ${type} needs the field ${field}`,
}));

/** Seed: Validation Rules, DRWorkflow, 6. */
const patchRules = (['localization', 'subscription', 'resource'] as const).map((field): CelRule => ({
  rule: `!has(self.${field}) || !has(self.${field}.operation) || self.${field}.operation != 'Patch' || has(self.rollback)`,
  message: `${field}.operation Patch needs a rollback in the action: say how the patch is undone`,
}));

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
/** An action (seed: Action). `rollback` is stored unchecked and read with {@link rollbackSchema}. */
export type Action = z.infer<typeof actionSchema>;

export const executorSchema = z
  .object({
    type: z.string().optional().describe('Native (default). Argo warns and runs natively.'),
    argoOptions: z.looseObject({}).optional().meta(PRESERVE).describe('Reserved, without effect.'),
  })
  .describe('Reserved: the engine that runs the workflow.');

export const workflowSpecSchema = z
  .object({
    executor: executorSchema.optional(),
    parameters: z.array(parameterSchema).max(1000).optional().describe('Parameters that the actions use.'),
    actions: z.array(actionSchema).min(1).max(2000).describe('Actions, in order.'),
    failurePolicy: z
      .enum(['FailFast', 'Continue'])
      .optional()
      .describe(
        'FailFast (default): the first failed action ends the workflow. Continue: the others still run.',
      ),
  })
  .describe('A reusable list of actions.');
/** Spec of a DRWorkflow. */
export type DRWorkflowSpec = z.infer<typeof workflowSpecSchema>;

export const workflowStatusSchema = z
  .object({
    phase: z.string().optional().describe('Ready or Invalid.'),
    conditions: conditionsSchema.optional(),
    observedGeneration: z.int().optional().describe('Generation of the spec that was checked.'),
  })
  .describe('What was found when the workflow was checked.');
/** Status of a DRWorkflow. */
export type DRWorkflowStatus = z.infer<typeof workflowStatusSchema>;

/** A DRWorkflow object. */
export type DRWorkflow = KubernetesObject<DRWorkflowSpec, DRWorkflowStatus>;
