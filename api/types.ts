/**
 * The types of the three kinds, and nothing that runs: importing from here never loads the schemas, so
 * workflow code may.
 */
export type {
  Condition,
  KubernetesObject,
  ObjectMeta,
  ObjectReference,
  Parameter,
  Scalar,
} from './schema/common.js';
export type {
  Action,
  ActionTarget,
  ActionType,
  ApprovalAction,
  DRWorkflow,
  DRWorkflowSpec,
  DRWorkflowStatus,
  Feed,
  HTTPAction,
  JobAction,
  KubernetesResourceAction,
  LocalizationAction,
  NotifyAction,
  RetryPolicy,
  RollbackAction,
  SubscriptionAction,
  WaitAction,
} from './schema/workflow.js';
export type {
  DRPlan,
  DRPlanSpec,
  DRPlanStatus,
  ExecutionRecord,
  Stage,
  WorkflowReference,
} from './schema/plan.js';
export type {
  ActionOutputs,
  ActionStatus,
  DRPlanExecution,
  DRPlanExecutionSpec,
  DRPlanExecutionStatus,
  ExecutionSummary,
  StageStatus,
  WorkflowExecutionStatus,
} from './schema/execution.js';
