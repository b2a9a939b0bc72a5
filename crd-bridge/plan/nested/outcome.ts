/** What a nested execution means for the action that it was made for. */
import { hasEffects } from '../../../api/plan/undo/effects.js';
import { pendingApprovals } from '../../../api/plan/actions/approval-answers.js';
import type { DRPlanExecution } from '../../../api/plan/types.js';
import type { NestedOutcome, NestedRef, NestedState } from '../../../workflows/plan/contract-bridge.js';
import { findCondition } from '../../core/conditions.js';

type Failed = Extract<NestedOutcome, { phase: 'Failed' }>;

/** An execution as outputs show it. */
export function nestedRef({ metadata, spec, status }: DRPlanExecution): NestedRef {
  return {
    apiVersion: 'dr.bkbcs.tencent.com/v1alpha1',
    kind: 'DRPlanExecution',
    name: metadata.name,
    ...(metadata.namespace !== undefined && { namespace: metadata.namespace }),
    ...(metadata.uid !== undefined && { uid: metadata.uid }),
    plan: spec.planRef,
    phase: status?.phase ?? 'Pending',
  };
}

/** An execution that has not ended. */
export function waiting(execution: DRPlanExecution): NestedState {
  const { status, metadata } = execution;
  const progress = status?.summary?.progress;
  const progressing = findCondition(status?.conditions, 'Progressing');
  const words = [
    `${nameOf(execution)} is ${status?.phase ?? 'Pending'}${progress === undefined ? '' : ` (${progress} actions)`}`,
    progressing?.status === 'False' ? `${progressing.reason}: ${progressing.message}` : '',
    pendingApprovals(status?.stageStatuses ?? []).length > 0
      ? `it waits for an approval: drover approve ${metadata.name}`
      : '',
  ];
  return {
    kind: 'waiting',
    ref: nestedRef(execution),
    message: words.filter((part) => part !== '').join('; '),
  };
}

/** How an Execute that has ended counts. */
export function executed(execution: DRPlanExecution): NestedOutcome {
  const { status, metadata } = execution;
  const outputs = { planExecutionRef: nestedRef(execution) };
  if (status?.phase === 'Succeeded') {
    return { phase: 'Succeeded', message: `${nameOf(execution)} succeeded`, outputs };
  }
  const cancelled = status?.phase !== 'Failed';
  const why = [status?.reason, status?.message]
    .filter((part) => part !== undefined && part !== '')
    .join(': ');
  const by = status?.cancelRequest?.requestedBy;
  // An execution that never ran gives its own reason: PlanBusy, PlanInvalid and the like.
  const neverRan = status?.temporal === undefined;
  return {
    phase: 'Failed',
    reason: cancelled ? 'PlanCancelled' : neverRan ? (status?.reason ?? 'PlanFailed') : 'PlanFailed',
    message: `${nameOf(execution)} ${cancelled ? `was cancelled${by === undefined ? '' : ` by ${by}`}` : 'failed'}: ${why}; ${lookAt(metadata)}`,
    outputs,
    effect: hasEffects(status?.stageStatuses, status?.undone) ? 'Done' : 'None',
  };
}

/** Says how to look at an execution. */
export const lookAt = ({ name, namespace }: { name: string; namespace?: string }): string =>
  `see: drover describe ${name} -n ${namespace ?? 'default'}`;

/** An outcome without success. */
export const failed = (
  { reason, message }: { reason: string; message: string },
  effect: Failed['effect'] = 'None',
  ref?: NestedRef,
): NestedState => ({
  kind: 'ended',
  outcome: {
    phase: 'Failed',
    reason,
    message,
    effect,
    ...(ref !== undefined && { outputs: { planExecutionRef: ref } }),
  },
});

/** An execution, for a person. */
export const nameOf = ({ metadata, spec }: DRPlanExecution): string =>
  `execution "${metadata.name}" of plan "${spec.planRef}"`;
