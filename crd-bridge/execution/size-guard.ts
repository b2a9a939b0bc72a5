import type {
  ActionStatus,
  DRPlanExecutionStatus,
  StageStatus,
  WorkflowExecutionStatus,
} from '../../api/types.js';

/** Above this a status is made smaller (plan semantics, §6). etcd takes 1.5 MiB, metadata included. */
export const STATUS_LIMIT_BYTES = 800 * 1024;
const SHORT_MESSAGE = 120;

/** How much is left out. Phases, reasons, times and references always stay. */
export type Reduction = 'bodies' | 'longMessages' | 'messages';
const STEPS: readonly Reduction[] = ['bodies', 'longMessages', 'messages'];

/** The status, as much smaller as it takes to fit: response bodies go first, then messages, never phases. */
export function fitStatus(status: DRPlanExecutionStatus, limit = STATUS_LIMIT_BYTES): DRPlanExecutionStatus {
  let fitted = status;
  for (const step of STEPS) {
    if (Buffer.byteLength(JSON.stringify(fitted)) <= limit) return fitted;
    fitted = reduce(fitted, step);
  }
  return fitted;
}

/** The smallest status that still tells every phase: for one that the API server refused. */
export function smallestStatus(status: DRPlanExecutionStatus): DRPlanExecutionStatus {
  return STEPS.reduce(reduce, status);
}

function reduce(status: DRPlanExecutionStatus, step: Reduction): DRPlanExecutionStatus {
  if (status.stageStatuses === undefined) return status;
  return {
    ...status,
    stageStatuses: status.stageStatuses.map((stage): StageStatus => ({
      ...message(stage, step),
      ...(stage.workflowExecutions !== undefined && {
        workflowExecutions: stage.workflowExecutions.map((workflow): WorkflowExecutionStatus => ({
          ...message(workflow, step),
          ...(workflow.actionStatuses !== undefined && {
            actionStatuses: workflow.actionStatuses.map((action) => reduceAction(action, step)),
          }),
        })),
      }),
    })),
  };
}

function reduceAction(action: ActionStatus, step: Reduction): ActionStatus {
  const body = action.outputs?.httpResponse?.body;
  if (step !== 'bodies' || body === undefined) return message(action, step);
  const { body: _, ...httpResponse } = action.outputs?.httpResponse ?? { statusCode: 0 };
  return { ...action, outputs: { ...action.outputs, httpResponse } };
}

function message<T extends { message?: string | undefined }>(item: T, step: Reduction): T {
  if (step === 'bodies' || item.message === undefined) return item;
  if (step === 'longMessages') {
    return item.message.length <= SHORT_MESSAGE
      ? item
      : { ...item, message: `${item.message.slice(0, SHORT_MESSAGE - 1)}…` };
  }
  const { message: _, ...rest } = item;
  return rest as T;
}
