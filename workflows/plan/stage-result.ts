import type { StageStatus } from '../../api/plan/types.js';
import type { Changes } from './changes.js';
import type { StageResult } from './contract.js';
import type { RunMirror } from './run-mirror.js';

/** A larger result goes into status first, and to the parent without its bulk: payloads have a limit of 2 MiB. */
const MAX_RESULT_CHARACTERS = 250_000;

/** What a stage leaves to its parent, in a size that fits. `mirror` is absent where status does not show the stage. */
export async function resultOf(
  status: StageStatus,
  changes: Changes,
  mirror: RunMirror | undefined,
): Promise<Pick<StageResult, 'status' | 'told' | 'pace'>> {
  const isSmall = JSON.stringify(status).length <= MAX_RESULT_CHARACTERS;
  if (!isSmall) await mirror?.flush({ stages: [changes.take()] });
  const pace = mirror?.options().pace;
  return {
    status: isSmall ? status : withoutBulk(status),
    ...(!isSmall && mirror !== undefined && { told: true }),
    ...(pace !== undefined && { pace }),
  };
}

/** What a rollback needs of a stage: no bodies, no messages. */
function withoutBulk(status: StageStatus): StageStatus {
  return {
    ...status,
    workflowExecutions: status.workflowExecutions?.map((workflow) => ({
      ...workflow,
      actionStatuses: workflow.actionStatuses?.map(({ message: _, outputs, ...action }) => {
        if (outputs === undefined) return action;
        const { httpResponse: __, ...refs } = outputs;
        return { ...action, outputs: refs };
      }),
    })),
  };
}
