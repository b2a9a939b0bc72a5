import { unpackPhases } from '../../api/plan/snapshot/packed-phases.js';
import { stageParameters } from '../../api/plan/snapshot/snapshot.js';
import { evaluateWhen } from '../../api/plan/when/when.js';
import type { WhenScope } from '../../api/plan/when/when.js';
import type { AttemptDeps } from './prepare.js';
import { SnapshotError } from './snapshots.js';
import type { SnapshotStore } from './snapshots.js';
import { NotVouched, NotYetVouched, tryVouchedAgain } from './vouching.js';
import type { EvaluateOutcome, EvaluateTask } from '../../workflows/plan/contract-tasks.js';

/**
 * Evaluates a stage's `when` over parameters, modes and the phases of the other stages (S4.7).
 *
 * @throws ApplicationFailure while nobody vouches for the run; KubeError when the snapshot cannot be read now
 */
export async function evaluateStage(
  task: EvaluateTask,
  { vouching, snapshots }: Pick<AttemptDeps, 'vouching' | 'snapshots'>,
): Promise<EvaluateOutcome> {
  const { run, stage } = task;
  try {
    await vouching.run(run, stage ?? 0);
    const { params, phases } = await valuesOf(task, snapshots);
    return evaluateWhen(task.expression, {
      params,
      outputs: {},
      phases,
      ...(run.mode !== undefined && { mode: run.mode }),
      runMode: run.runMode,
      operation: run.operation,
    });
  } catch (error) {
    if (error instanceof NotVouched || error instanceof SnapshotError) return { error: error.message };
    if (error instanceof NotYetVouched) throw tryVouchedAgain(error);
    throw error;
  }
}

/** What the condition is over; what does not travel is in the snapshot. */
async function valuesOf(
  { run, params, phases, packedPhases }: EvaluateTask,
  snapshots: SnapshotStore,
): Promise<Pick<WhenScope, 'params' | 'phases'>> {
  if (params !== undefined && packedPhases === undefined) return { params, phases };
  const snapshot = await snapshots.read(run.snapshot);
  const names = snapshot.plan.spec.stages.map(({ name }) => name);
  return {
    params: params ?? stageParameters(snapshot).values,
    phases: packedPhases === undefined ? phases : unpackPhases(packedPhases, names),
  };
}
