import type { StageStatus } from '../../api/plan/types.js';
import type { StageUpdate, WorkflowChange } from './contract-updates.js';

/**
 * The changes of a stage since its last update. A step carries only these: with whole statuses, a history would grow
 * with the square of the number of actions.
 */
export interface Changes {
  /** Something of a workflow changed; with an action, that action too. */
  mark: (workflow: number, action?: number) => void;
  /** What to send now. Taking it loses nothing: a step is retried until it is in status. */
  take: () => StageUpdate;
}

/** Follows the changes of one stage, whose status is changed in place. */
export function followChanges(index: number, status: StageStatus): Changes {
  const changed = new Map<number, Set<number>>();
  return {
    mark: (workflow, action) => {
      const actions = changed.get(workflow) ?? new Set<number>();
      if (action !== undefined) actions.add(action);
      changed.set(workflow, actions);
    },
    take: () => {
      const changes = [...changed].flatMap(([w, actions]): WorkflowChange[] => {
        const workflow = status.workflowExecutions?.[w];
        if (workflow === undefined) return [];
        const { actionStatuses, ...shell } = workflow;
        return [
          {
            index: w,
            status: shell,
            actions: [...actions].flatMap((a) => {
              const action = actionStatuses?.[a];
              return action === undefined ? [] : [{ index: a, status: action }];
            }),
          },
        ];
      });
      changed.clear();
      return { index, status: shellOf(status), changes };
    },
  };
}

/** A stage's status without its workflows. */
export function shellOf(status: StageStatus): StageStatus {
  const { workflowExecutions: _, ...shell } = status;
  return shell;
}
