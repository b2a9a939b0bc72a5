import { z } from 'zod';
import { conditionsSchema, objectReferenceSchema, time } from '../../core/schema.js';
import { parameterSchema } from './common.js';
import type { KubernetesObject } from '../../core/schema.js';

export const workflowReferenceSchema = z
  .object({
    workflowRef: z
      .object({
        name: z.string().min(1).max(253).describe('Name of the DRWorkflow.'),
        namespace: z
          .string()
          .max(253)
          .optional()
          .describe("Namespace of the DRWorkflow (default: the plan's)."),
      })
      .describe('The DRWorkflow to run.'),
    params: z
      .array(parameterSchema)
      .max(1000)
      .optional()
      .describe('Parameters for this use; win over globalParams.'),
  })
  .describe('One use of a workflow. The same workflow may stand several times in a stage.');
/** A use of a workflow in a stage (in the original: WorkflowReference). */
export type WorkflowReference = z.infer<typeof workflowReferenceSchema>;

export const stageSchema = z
  .object({
    name: z.string().min(1).max(253).describe('Name of the stage, unique in the plan.'),
    description: z.string().max(4096).optional().describe('What the stage does.'),
    dependsOn: z
      .array(z.string().min(1))
      .max(200)
      .optional()
      .describe('Stages that must end first. Without any dependsOn in the plan, stages run in list order.'),
    parallel: z
      .boolean()
      .optional()
      .describe('Whether the workflows run all at once (default false: in order).'),
    maxConcurrency: z
      .int()
      .min(1)
      .optional()
      .describe('With parallel: how many workflows run at once (default all).'),
    when: z.string().max(4096).optional().describe('CEL condition; the stage is Skipped when it is false.'),
    workflows: z.array(workflowReferenceSchema).min(1).max(2000).describe('Workflows of the stage.'),
    failurePolicy: z
      .enum(['Stop', 'Continue', 'FailFast'])
      .optional()
      .describe(
        "Stop: start nothing more, let running workflows finish. FailFast: also cancel them. Continue: run all, and the plan goes on. Default: the plan's.",
      ),
  })
  .describe('A step of the plan: one or several workflows.');
/** A stage (in the original: Stage). */
export type Stage = z.infer<typeof stageSchema>;

export const planSpecSchema = z
  .object({
    description: z.string().max(4096).optional().describe('What the plan is for.'),
    stages: z.array(stageSchema).min(1).max(200).describe('Stages of the plan.'),
    globalParams: z.array(parameterSchema).max(1000).optional().describe('Parameters for all workflows.'),
    failurePolicy: z
      .enum(['Stop', 'Continue'])
      .optional()
      // Not inside lists: tools that compare with Git take a default in an item of a list for a change.
      .meta({ default: 'Stop' })
      .describe('Stop (default): no further stage starts after a failed one. Continue: later stages run.'),
    onFailure: z
      .enum(['Stop', 'Pause', 'Rollback'])
      .optional()
      .describe('What happens when the plan would stop: Stop (default), Pause for a person, or Rollback.'),
    maxConcurrentStages: z.int().min(1).optional().describe('How many ready stages run at once (default 1).'),
    serviceAccountName: z
      .string()
      .max(253)
      .optional()
      .describe("ServiceAccount, in the plan's namespace, that the actions act as."),
    historyLimit: z
      .int()
      .min(0)
      .optional()
      .describe(
        'How many ended executions of the plan are kept; older ones are removed, but never one that is still needed (default: the setting of the bridge, which keeps all).',
      ),
    ttlSecondsAfterFinished: z
      .int()
      .min(0)
      .optional()
      .describe(
        'Seconds after which an ended execution of the plan is removed, unless it is still needed; an execution may say otherwise (default: the setting of the bridge, which keeps all).',
      ),
  })
  .describe('A disaster-recovery plan.');
/** Spec of a DRPlan. */
export type DRPlanSpec = z.infer<typeof planSpecSchema>;

export const executionRecordSchema = z
  .object({
    name: z.string().describe('Name of the execution.'),
    namespace: z.string().optional().describe('Namespace of the execution.'),
    uid: z.string().optional().describe('Uid of the execution: one row per uid.'),
    operationType: z.string().describe('Execute or Revert.'),
    mode: z.string().optional().describe('Execute: its mode, where it has one.'),
    phase: z.string().describe('Pending, Running, Succeeded, Failed or Cancelled.'),
    startTime: time('When it started.'),
    completionTime: time('When it ended.'),
    temporal: z
      .object({
        clusterId: z.string().optional().describe('Id of the Temporal cluster.'),
        namespaceId: z.string().optional().describe('Id of the Temporal namespace.'),
      })
      .optional()
      .describe('In which Temporal it was started; outlives the execution.'),
    revertOf: z.string().optional().describe('Revert: uid of the execution that it undoes.'),
  })
  .describe('One execution of the plan.');
/** A row of a plan's history (in the original: ExecutionRecord; `uid`, `mode`, `revertOf` added). */
export type ExecutionRecord = z.infer<typeof executionRecordSchema>;

/** Rows kept in a plan's history (S5.23). */
export const MAX_HISTORY = 10;

export const planStatusSchema = z
  .object({
    phase: z.string().optional().describe('Ready, Executed or Invalid.'),
    conditions: conditionsSchema.optional(),
    lastExecutionTime: time('End of the last successful operation.'),
    lastExecutionRef: z
      .string()
      .optional()
      .describe('Name of the execution of the last successful operation.'),
    executedBy: objectReferenceSchema
      .optional()
      .describe('The newest Execute that succeeded: its Revert makes the plan Ready again.'),
    currentExecution: objectReferenceSchema.optional().describe('The running execution: holds the plan.'),
    lastProcessedTrigger: z.string().optional().describe('Deprecated, never written.'),
    executionHistory: z
      .array(executionRecordSchema)
      .max(MAX_HISTORY)
      .optional()
      .describe('The last executions, newest first. Rows survive the executions.'),
    observedGeneration: z.int().optional().describe('Generation of the spec that was checked.'),
  })
  .describe('State of the plan.');
/** Status of a DRPlan. */
export type DRPlanStatus = z.infer<typeof planStatusSchema>;

/** A DRPlan object. */
export type DRPlan = KubernetesObject<DRPlanSpec, DRPlanStatus>;
