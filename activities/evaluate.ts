import { evaluateWhen } from '../api/when.js';
import { NotVouched, NotYetVouched, tryVouchedAgain } from './vouching.js';
import type { Vouching } from './vouching.js';
import type { EvaluateOutcome, EvaluateTask } from '../workflows/contract.js';

/**
 * Evaluates a stage's `when` over parameters, modes and the phases of the other stages (plan semantics, §4).
 *
 * @throws ApplicationFailure while nobody vouches for the run
 */
export async function evaluateStage(task: EvaluateTask, vouching: Vouching): Promise<EvaluateOutcome> {
  const { run, stage } = task;
  try {
    await vouching.run(run, stage ?? 0);
  } catch (error) {
    if (error instanceof NotVouched) return { error: error.message };
    if (error instanceof NotYetVouched) throw tryVouchedAgain(error);
    throw error;
  }
  return evaluateWhen(task.expression, {
    params: task.params,
    outputs: {},
    phases: task.phases,
    ...(run.mode !== undefined && { mode: run.mode }),
    runMode: run.runMode,
    operation: run.operation,
  });
}
