/**
 * The types of the three kinds, and nothing that runs: importing from here never loads the schemas, so
 * workflow code may.
 */
export type { Condition, KubernetesObject, ObjectMeta, ObjectReference } from '../core/schema.js';
export type { Parameter, Scalar } from './schema/common.js';
export type { Action, RollbackAction } from './schema/actions/action.js';
export type { ActionType } from './actions/table.js';
export type { ApprovalAction } from './actions/approval.js';
export type { PlanAction } from './actions/plan.js';
export type { Feed } from './schema/actions/feed.js';
export type { GlobalizationAction } from './actions/globalization.js';
export type { HelmChartAction } from './actions/helm-chart.js';
export type { HTTPAction } from './actions/http.js';
export type { JobAction } from './actions/job.js';
export type { KubernetesResourceAction } from './actions/kubernetes-resource.js';
export type { LocalizationAction } from './actions/localization.js';
export type { NotifyAction } from './actions/notify.js';
export type { RetryPolicy } from './schema/actions/retry-policy.js';
export type { SubscriptionAction } from './actions/subscription.js';
export type { ActionTarget } from './schema/actions/target.js';
export type { WaitAction } from './actions/wait.js';
export type { DRWorkflow, DRWorkflowSpec, DRWorkflowStatus } from './schema/workflow.js';
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
  ClusterActionStatus,
  DRPlanExecution,
  DRPlanExecutionSpec,
  DRPlanExecutionStatus,
  ExecutionSummary,
  StageStatus,
  WorkflowExecutionStatus,
} from './schema/execution.js';
