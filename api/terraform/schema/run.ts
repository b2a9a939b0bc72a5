import { z } from 'zod';
import { cel, conditionsSchema, time } from '../../core/schema.js';
import type { KubernetesObject } from '../../core/schema.js';
import { configurationSchema, objectName, TASK_STAGES, variableSchema } from './common.js';
import { inDoubtSchema } from './workspace.js';

/** Phases of a run (T4.1). */
export const RUN_PHASES = [
  'pending',
  'running',
  'apply_pending',
  'success',
  'planned_and_finished',
  'applied',
  'failed',
  'cancelled',
  'apply_unknown',
] as const;
/** One of {@link RUN_PHASES}. */
export type RunPhase = (typeof RUN_PHASES)[number];

/** Stages of a run, in their order (T4.1). */
export const RUN_STAGES = [
  'pending',
  'fetching',
  'pre_plan_run_tasks',
  'init',
  'planning',
  'saving_plan',
  'post_plan_run_tasks',
  'apply_pending',
  'pre_apply_run_tasks',
  'restoring_plan',
  'applying',
  'saving_state',
  'post_apply_run_tasks',
  'completed',
] as const;
/** One of {@link RUN_STAGES}. */
export type RunStage = (typeof RUN_STAGES)[number];

/** Results of a task (T10.6). */
export const TASK_STATUSES = [
  'pending',
  'running',
  'passed',
  'failed',
  'error',
  'timeout',
  'skipped',
  'overridden',
  'unreachable',
  'cancelled',
] as const;

const addresses = (text: string) =>
  z
    .array(
      z
        .string()
        .regex(/^[^\s-]\S*( \S+)*$/, 'must be the address of a resource or module')
        .max(4096),
    )
    .max(100)
    .optional()
    .describe(text);

export const runSpecSchema = z
  .object({
    workspaceRef: z
      .object({ name: objectName('Name of the Workspace, in the same namespace.') })
      .describe('The workspace.'),
    type: z
      .enum(['plan_only', 'plan_and_apply', 'drift_check', 'plan'])
      .optional()
      .describe(
        'plan_and_apply (default); plan_only changes nothing; drift_check compares what exists with the state; plan is read as plan_only.',
      ),
    targets: addresses('Only these resources, and what they depend on.'),
    replace: addresses('Resources that are made anew.'),
    isDestroy: z.boolean().optional().describe('Whether all resources are taken down (default false).'),
    variables: z
      .array(variableSchema)
      .max(500)
      .optional()
      .describe('Variables of this run; win over those of the workspace of the same key and type.'),
    configuration: configurationSchema
      .optional()
      .describe('Another configuration than that of the workspace; only of a run that applies nothing.'),
    reconcile: z
      .boolean()
      .optional()
      .describe('Whether the run finds out what an apply with an unknown end has left (default false).'),
    autoApply: z
      .boolean()
      .optional()
      .describe('false: this run waits for an approval although the workspace applies by itself.'),
    description: z.string().max(1000).optional().describe('What the run is for.'),
    startDeadlineSeconds: z
      .int()
      .min(1)
      .max(604_800)
      .optional()
      .describe(
        "Seconds after creation in which the run's workflow must start (default 900); later it never starts. Time in the queue does not count.",
      ),
    requestedAt: z
      .string()
      .max(64)
      .optional()
      .describe(
        'When this run was asked for, RFC 3339: it starts only within startDeadlineSeconds of it. Must be given where a GitOps tool keeps the run.',
      ),
  })
  .meta(
    cel(
      { rule: 'self == oldSelf', message: 'spec of a run cannot be changed; create a new run' },
      {
        rule: "!has(self.configuration) || (has(self.type) && self.type in ['plan_only', 'plan'])",
        message: 'configuration is only for type plan_only: what is applied is what the workspace says',
      },
      {
        rule: "!has(self.isDestroy) || !self.isDestroy || !has(self.type) || self.type != 'drift_check'",
        message: 'isDestroy is not for type drift_check',
      },
      {
        rule: "!has(self.reconcile) || !self.reconcile || ((!has(self.type) || self.type == 'plan_and_apply') && !has(self.targets))",
        message: 'reconcile is for type plan_and_apply without targets: it has to see all resources',
      },
      {
        rule: '!has(self.autoApply) || !self.autoApply',
        message:
          'autoApply can only be false here: the workspace says whether plans are applied by themselves',
      },
    ),
  )
  .describe('One run of a workspace.');
/** Spec of a TerraformRun. */
export type TerraformRunSpec = z.infer<typeof runSpecSchema>;

const taskResultSchema = z.object({
  name: z.string().max(253).describe('The task.'),
  stage: z.enum(TASK_STAGES).describe('When it was called.'),
  enforcementLevel: z.enum(['advisory', 'mandatory']).describe('What its result decides.'),
  status: z.enum(TASK_STATUSES).describe('Its result.'),
  message: z.string().max(1000).optional().describe('What it said.'),
  url: z.string().max(2048).optional().describe('Where it says more.'),
  startedAt: time('When it was called.'),
  completedAt: time('When its result came.'),
  overrideBy: z.string().max(512).optional().describe('Who let the run go on in spite of it.'),
  overrideAt: time('When.'),
});

const resourceSchema = z.object({
  resourceAddress: z.string().max(4096).describe('Address of the resource.'),
  action: z.enum(['create', 'update', 'delete', 'replace']).describe('What is to happen to it.'),
  applyStatus: z.enum(['pending', 'applying', 'completed', 'failed', 'unknown']).describe('How far that is.'),
});

const triggerSchema = z.object({
  name: z.string().max(253).describe('The RunTrigger.'),
  target: z.string().max(317).describe('Workspace that it starts a run of.'),
  status: z.enum(['pending', 'triggered', 'skipped', 'failed']).describe('What came of it.'),
  targetRun: z.string().max(253).optional().describe('The run.'),
  temporarilyDisabled: z.boolean().optional().describe('Whether somebody switched it off for this run.'),
  disabledBy: z.string().max(512).optional().describe('Who.'),
  disabledAt: time('When.'),
  errorMessage: z.string().max(1000).optional().describe('Why it failed or was skipped.'),
});

const deliverySchema = z.object({
  name: z.string().max(253).describe('The NotificationTarget.'),
  event: z.string().max(64).describe('What it was told of.'),
  status: z.enum(['pending', 'sending', 'success', 'failed']).describe('How far that is.'),
  responseStatusCode: z.int().optional().describe('What it answered.'),
  errorMessage: z.string().max(1000).optional().describe('Why it failed.'),
  retryCount: z.int().min(0).optional().describe('Attempts after the first.'),
  completedAt: time('When it ended.'),
});

const answerSchema = z.object({
  user: z.string().max(512).describe('Who.'),
  at: time('When.'),
  answer: z.enum(['approve', 'reject']).describe('What was said.'),
  comment: z.string().max(1000).optional().describe('Why.'),
});

export const runStatusSchema = z
  .object({
    phase: z.enum(RUN_PHASES).optional().describe('Phase of the run.'),
    stage: z.enum(RUN_STAGES).optional().describe('Stage that it has reached.'),
    reason: z.string().max(128).optional().describe('Stable reason of the end.'),
    message: z.string().max(4096).optional().describe('What happened, for a person.'),
    partial: z
      .boolean()
      .optional()
      .describe('Whether a failed apply has changed something: its state was saved.'),
    changesAdd: z.int().min(0).optional().describe('Resources to create.'),
    changesChange: z.int().min(0).optional().describe('Resources to change.'),
    changesDestroy: z.int().min(0).optional().describe('Resources to destroy.'),
    planDigest: z
      .string()
      .max(64)
      .optional()
      .describe('Digest of the plan and all that it was made from: an approval names it.'),
    answers: z.array(answerSchema).max(50).optional().describe('Approvals and rejections that counted.'),
    approveBy: time('When the run is cancelled if nobody has answered.'),
    resources: z.array(resourceSchema).max(200).optional().describe('What the plan changes; 200 at most.'),
    resourcesLeftOut: z.int().min(0).optional().describe('Changes beyond these.'),
    taskResults: z.array(taskResultSchema).max(50).optional().describe('Results of tasks; 50 at most.'),
    triggers: z.array(triggerSchema).max(100).optional().describe('Runs that follow; 100 at most.'),
    notifications: z.array(deliverySchema).max(10).optional().describe('The last ten deliveries.'),
    outputs: z
      .record(z.string(), z.string())
      .optional()
      .describe('Outputs that are not sensitive, as JSON; 1 KiB in all.'),
    inDoubt: z
      .array(inDoubtSchema)
      .max(200)
      .optional()
      .describe('What may or may not exist, after apply_unknown.'),
    host: z.string().max(253).optional().describe('Where the engine runs or ran.'),
    engineVersion: z.string().max(64).optional().describe('Version of the engine that planned.'),
    requester: z.string().max(512).optional().describe('Who asked for the run.'),
    startTime: time('When the run began.'),
    completionTime: time('When it ended.'),
    observedGeneration: z.int().optional().describe('Generation of the spec that the status speaks of.'),
    conditions: conditionsSchema.optional(),
    temporal: z
      .object({
        workflowId: z.string().max(1000).describe('Id of the workflow.'),
        runId: z.string().max(64).describe('The run it began with.'),
        namespaceId: z.string().max(64).optional().describe('Namespace of Temporal, by id.'),
      })
      .optional()
      .describe('The workflow of the run.'),
  })
  .describe('What is known of a run.');
/** Status of a TerraformRun. */
export type TerraformRunStatus = z.infer<typeof runStatusSchema>;

/** A TerraformRun. */
export type TerraformRun = KubernetesObject<TerraformRunSpec, TerraformRunStatus>;
