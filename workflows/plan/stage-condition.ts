import { ActivityCancellationType, ActivityFailure, proxyActivities } from '@temporalio/workflow';
import type { CancellationScope } from '@temporalio/workflow';
import { taskQueues } from '../core/contract.js';
import type { Cause } from '../core/outcome.js';
import type { StageRunInput } from './contract.js';
import type { WorkerActivities } from './contract-tasks.js';
import { RUN_CANCELLED } from './stage-outcome.js';

/** Whether a stage runs, by its `when`; or why it does not, and whether that is a failure. */
export async function checkCondition(
  input: StageRunInput,
  scope: CancellationScope,
): Promise<'run' | { cause: Cause; failed: boolean }> {
  const { when } = input.stage;
  if (when === undefined) return 'run';
  const { evaluate } = proxyActivities<WorkerActivities>({
    taskQueue: taskQueues(input.run.cluster).urgent,
    startToCloseTimeout: '30s',
    cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
    retry: { initialInterval: '500ms', maximumInterval: '10s' },
    summary: 'when',
  });
  try {
    const outcome = await scope.run(() =>
      evaluate({
        run: input.run,
        stage: input.stage.index,
        expression: when,
        ...(input.stage.whenParams !== undefined && { params: input.stage.whenParams }),
        phases: input.phases,
        ...(input.packedPhases !== undefined && { packedPhases: input.packedPhases }),
      }),
    );
    if ('error' in outcome) {
      return {
        cause: {
          reason: 'InvalidExpression',
          message: `when "${when}" cannot be evaluated: ${outcome.error}`,
        },
        failed: true,
      };
    }
    return outcome.value
      ? 'run'
      : { cause: { reason: 'WhenFalse', message: `when "${when}" is false` }, failed: false };
  } catch (error) {
    if (error instanceof ActivityFailure || scope.consideredCancelled)
      return { cause: RUN_CANCELLED, failed: false };
    throw error;
  }
}
