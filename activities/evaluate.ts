import { evaluateWhen } from '../api/when.js';
import type { EvaluateOutcome, EvaluateTask } from '../workflows/contract.js';

/** Evaluates a stage's `when` over parameters, modes and the phases of the other stages (plan semantics, §4). */
export function evaluateStage(task: EvaluateTask): EvaluateOutcome {
  const { run } = task;
  return evaluateWhen(task.expression, {
    params: task.params,
    outputs: {},
    phases: task.phases,
    ...(run.mode !== undefined && { mode: run.mode }),
    runMode: run.runMode,
    operation: run.operation,
  });
}
