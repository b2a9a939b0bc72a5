import { z } from 'zod';
import type { ActionDescriptor } from '../actions/descriptor.js';
import { descriptorOf, typesWhere } from '../actions/table.js';
import type { ACTIONS, ActionType } from '../actions/table.js';
import { MODES } from '../order/hooks.js';
import { cel, conditionsSchema, objectReferenceSchema, time } from '../../core/schema.js';
import { parameterSchema } from './common.js';
import type { KubernetesObject } from '../../core/schema.js';

export const executionSpecSchema = z
  .object({
    planRef: z.string().min(1).max(253).describe('Name of the DRPlan, in the same namespace.'),
    operationType: z
      .enum(['Execute', 'Revert'])
      .describe('Execute runs the plan; Revert undoes an earlier execution.'),
    revertExecutionRef: z.string().max(253).optional().describe('Revert: name of the execution to undo.'),
    params: z
      .array(parameterSchema)
      .max(1000)
      .optional()
      .describe('Parameters of this run; win over all others.'),
    mode: z
      .enum(MODES)
      .optional()
      .describe(
        'What the run is for: Install, Upgrade, Delete (takes apart what the plan writes) or Rollback. Read by conditions and placeholders as mode, and decides which hooks run. Absent: comparisons on mode are true. A Revert has Rollback.',
      ),
    runMode: z
      .enum(['Planned', 'Emergency', 'Drill'])
      .optional()
      .describe('What kind of run this is (default Planned); read in conditions as runMode.'),
    rerun: z
      .enum(['Allowed'])
      .optional()
      .describe('Allowed: an executed plan may be executed again without a revert in between.'),
    startDeadlineSeconds: z
      .int()
      .min(1)
      .optional()
      .describe(
        'Seconds after creation in which the run must start (default 900); later it never starts. Admission refuses a new execution with more than 604800 (7 days).',
      ),
    requestedAt: z
      .string()
      .max(64)
      .optional()
      .describe(
        'When this run was asked for, RFC 3339: it starts only within startDeadlineSeconds of it, and not when it lies more than five minutes ahead. Must be given where a GitOps tool keeps the execution, so that a hub which is rebuilt from Git starts no failover of before.',
      ),
    ttlSecondsAfterFinished: z
      .int()
      .min(0)
      .optional()
      .describe(
        "Seconds after its end at which this execution is removed, unless it is still needed (default: the plan's).",
      ),
    force: z
      .boolean()
      .optional()
      .describe('Revert: undo this execution although it is not the newest unreverted one.'),
  })
  .meta(
    cel(
      { rule: 'self == oldSelf', message: 'spec of an execution cannot be changed; create a new execution' },
      {
        rule: "self.operationType != 'Revert' || (has(self.revertExecutionRef) && size(self.revertExecutionRef) > 0)",
        message:
          'spec.revertExecutionRef is required when operationType is Revert; name the execution to undo',
      },
    ),
  )
  .describe('One run of a plan, or the revert of one.');
/** Spec of a DRPlanExecution. */
export type DRPlanExecutionSpec = z.infer<typeof executionSpecSchema>;

const priorRefSchema = z
  .object({
    name: z
      .string()
      .describe('Name of the Secret. Empty in a status that had to be made smaller: it is derived.'),
    key: z.string().describe('Key in the Secret.'),
    digest: z.string().describe('SHA-256 of the content.'),
  })
  .describe('Where the state before the action is kept.');

/** What only actions of one type put out: objects first, what steps put out last, as definitions have always had it. */
const ownOutputs = (is: (descriptor: ActionDescriptor) => boolean): OwnOutputs =>
  Object.assign({}, ...typesWhere(is).map((type) => descriptorOf(type).outputs)) as OwnOutputs;
type OutputsOf<D> = D extends { outputs: infer Outputs } ? Outputs : never;
type EachOutputs = OutputsOf<(typeof ACTIONS)[ActionType]>;
type NameIn<Outputs> = Outputs extends unknown ? keyof Outputs : never;
type OwnOutputs = {
  [Name in NameIn<EachOutputs>]: Extract<EachOutputs, Record<Name, unknown>>[Name];
};
const isStep = ({ traits }: ActionDescriptor): boolean => traits?.isStep === true;

export const actionOutputsSchema = z
  .object({
    ...ownOutputs(({ creates }) => creates === true),
    ...ownOutputs((descriptor) => descriptor.creates !== true && !isStep(descriptor)),
    created: z
      .array(objectReferenceSchema)
      .max(256)
      .optional()
      .describe('Objects that did not exist before; a revert deletes only these.'),
    stopUnconfirmed: z
      .array(z.string())
      .max(256)
      .optional()
      .describe(
        'Member clusters, as namespace/name, and pods, as `pod namespace/name on node`, in which what was removed may still run.',
      ),
    ...ownOutputs(isStep),
    priorRef: priorRefSchema.optional(),
  })
  .describe('What an action put out.');
/**
 * Outputs of an action (in the original: ActionOutputs; `resourceRefs`, `created`, `stopUnconfirmed`, `priorRef`
 * added).
 */
export type ActionOutputs = z.infer<typeof actionOutputsSchema>;

const itemTimes = {
  startTime: time('When it started.'),
  completionTime: time('When it ended.'),
};

const attemptState = {
  phase: z.string().describe('Pending, Running, Succeeded, Failed or Skipped.'),
  ...itemTimes,
  retryCount: z.int().optional().describe('Retries so far.'),
  reason: z.string().optional().describe('Stable CamelCase reason of a failure or a skip.'),
  message: z.string().optional().describe('What happened, for a person.'),
  round: z.int().optional().describe('Round of the idempotency key that the outcome belongs to.'),
};

export const clusterActionStatusSchema = z
  .object({
    cluster: z.string().describe('Namespace and name of the ManagedCluster.'),
    clusterID: z.string().describe("The ManagedCluster's spec.clusterId."),
    ...attemptState,
    effect: z.enum(['Done', 'None', 'Unknown']).optional().describe('Whether there was an effect.'),
    subscription: z.string().optional().describe('Name of the Subscription that was written.'),
    priorRef: priorRefSchema.optional(),
  })
  .describe('State of an action in one cluster.');
/** State of an action in one cluster (the original's ClusterActionStatus; all but the first six fields added). */
export type ClusterActionStatus = z.infer<typeof clusterActionStatusSchema>;

export const actionStatusSchema = z
  .object({
    name: z.string().describe('Name of the action.'),
    type: z.string().optional().describe('Type of the action.'),
    hookType: z.string().optional().describe('Which hook the action is.'),
    ...attemptState,
    effect: z
      .enum(['Done', 'None', 'Unknown'])
      .optional()
      .describe('Whether the action had its effect. None is never undone, Unknown is.'),
    order: z.int().optional().describe('Rank of the action in the order of completion within its stage.'),
    outputs: actionOutputsSchema.optional(),
    clusterStatuses: z
      .array(clusterActionStatusSchema)
      .max(256)
      .optional()
      .describe('PerCluster: state of the action in each cluster.'),
  })
  .describe('State of an action.');
/** State of an action (in the original: ActionStatus). */
export type ActionStatus = z.infer<typeof actionStatusSchema>;

export const workflowExecutionStatusSchema = z
  .object({
    workflowRef: z
      .object({
        name: z.string().describe('Name of the DRWorkflow.'),
        namespace: z.string().optional().describe('Namespace of the DRWorkflow.'),
      })
      .describe('The workflow that runs.'),
    phase: z.string().describe('Pending, Running, Succeeded, Failed or Skipped.'),
    ...itemTimes,
    duration: z.string().optional().describe('Time from start to end.'),
    progress: z.string().optional().describe('Progress, such as "2/5 actions completed".'),
    currentAction: z.string().optional().describe('The running action.'),
    reason: z.string().optional().describe('Stable CamelCase reason of a failure or a skip.'),
    message: z.string().optional().describe('What happened, for a person.'),
    actionStatuses: z.array(actionStatusSchema).max(2000).optional().describe('State of each action.'),
  })
  .describe('State of one use of a workflow.');
/** State of a workflow (in the original: WorkflowExecutionStatus). */
export type WorkflowExecutionStatus = z.infer<typeof workflowExecutionStatusSchema>;

export const stageStatusSchema = z
  .object({
    name: z.string().describe('Name of the stage.'),
    phase: z.string().describe('Pending, Running, Succeeded, Failed or Skipped.'),
    parallel: z.boolean().optional().describe('Whether the workflows run at once.'),
    dependsOn: z.array(z.string()).max(200).optional().describe('Stages that had to end first.'),
    ...itemTimes,
    duration: z.string().optional().describe('Time from start to end.'),
    reason: z.string().optional().describe('Stable CamelCase reason of a failure or a skip.'),
    message: z.string().optional().describe('What happened, for a person.'),
    order: z
      .int()
      .optional()
      .describe(
        'Rank of the stage in the order of completion; a revert goes from the highest to the lowest.',
      ),
    sequence: z.int().optional().describe('Number of the last update; an older one is dropped.'),
    workflowExecutions: z
      .array(workflowExecutionStatusSchema)
      .max(2000)
      .optional()
      .describe('State of each workflow.'),
  })
  .describe('State of a stage.');
/** State of a stage (in the original: StageStatus). */
export type StageStatus = z.infer<typeof stageStatusSchema>;

const counter = (text: string) => z.int().min(0).describe(text);

export const executionSummarySchema = z
  .object({
    totalStages: counter('Stages in all.'),
    completedStages: counter('Stages that succeeded.'),
    runningStages: counter('Stages that run.'),
    pendingStages: counter('Stages that wait.'),
    failedStages: counter('Stages that failed.'),
    skippedStages: counter('Stages that were skipped.'),
    totalWorkflows: counter('Workflows in all.'),
    completedWorkflows: counter('Workflows that succeeded.'),
    runningWorkflows: counter('Workflows that run.'),
    pendingWorkflows: counter('Workflows that wait.'),
    failedWorkflows: counter('Workflows that failed.'),
    skippedWorkflows: counter('Workflows that were skipped.'),
    progress: z.string().optional().describe('Ended actions of all actions, such as "3/7".'),
  })
  .describe('Counters. Total is the sum of the others.');
/** Counters of an execution (in the original: ExecutionSummary; `skipped…`, `progress` added). */
export type ExecutionSummary = z.infer<typeof executionSummarySchema>;

export const executionStatusSchema = z
  .object({
    phase: z.string().optional().describe('Pending, Running, Succeeded, Failed or Cancelled.'),
    startTime: time('When the run started.'),
    completionTime: time('When the run ended.'),
    duration: z.string().optional().describe('Time from start to end.'),
    stageStatuses: z.array(stageStatusSchema).max(200).optional().describe('State of each stage.'),
    summary: executionSummarySchema.optional(),
    reason: z.string().optional().describe('Stable CamelCase reason of the end.'),
    message: z.string().optional().describe('What happened, for a person.'),
    conditions: conditionsSchema.optional(),
    observedGeneration: z.int().optional().describe('Generation of the spec that was read.'),
    sequence: z.int().optional().describe('Number of the last update of the whole; an older one is dropped.'),
    temporal: z
      .object({
        workflowId: z.string().describe('Id of the Temporal workflow.'),
        runId: z.string().optional().describe('Run id of the Temporal workflow.'),
        sealKey: z.string().optional().describe('Id of the key that the run is sealed under.'),
        clusterId: z.string().optional().describe('Id of the Temporal cluster that the run is in.'),
        namespaceId: z.string().optional().describe('Id of the Temporal namespace that the run is in.'),
        namespace: z.string().optional().describe('Name of the Temporal namespace.'),
      })
      .optional()
      .describe('Where the run is found in Temporal.'),
    snapshotRef: z
      .object({
        name: z.string().describe('Name of the ControllerRevision.'),
        digest: z.string().describe('SHA-256 of the snapshot.'),
      })
      .optional()
      .describe('What was run: plan, workflows and parameters as they were at the start.'),
    omitted: z
      .string()
      .optional()
      .describe('What was left out of stageStatuses so that the object fits, and where it is.'),
    revertedBy: objectReferenceSchema.optional().describe('The execution that reverted this one.'),
    undone: z
      .array(z.string())
      .max(2000)
      .optional()
      .describe('Actions that reverts have undone so far, as stage/workflow/action positions.'),
    unreverted: z
      .array(z.string())
      .max(256)
      .optional()
      .describe('Revert: what was not undone, as stage/workflow/action.'),
    cancelRequest: z
      .object({
        requestedBy: z
          .string()
          .optional()
          .describe('Who asked, as said by the one who asked (not verified).'),
        reason: z.string().optional().describe('Why.'),
        via: z.string().optional().describe('Annotation, Signal, CancelRequest or Delete.'),
        time: time('When.'),
      })
      .optional()
      .describe('The request that cancelled the run.'),
  })
  .describe('State of the run. A projection: it may be late, never wrong.');
/** Status of a DRPlanExecution. */
export type DRPlanExecutionStatus = z.infer<typeof executionStatusSchema>;

/** A DRPlanExecution object. */
export type DRPlanExecution = KubernetesObject<DRPlanExecutionSpec, DRPlanExecutionStatus>;
