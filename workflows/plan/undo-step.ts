import { isDefaultRetry } from '../../api/plan/actions/default-retry.js';
import type { ActionAddress, UndoStep } from '../../api/plan/snapshot/run.js';
import type { ActionStatus } from '../../api/plan/types.js';
import { executeAction, taskPart } from './action.js';
import { runClusterBatch } from './cluster-batch.js';
import { undoInClusters } from './cluster-undo.js';
import type { StageRollbackInput } from './contract.js';
import type { ActionOutcome, ActionTask, TaskSeals } from './contract-tasks.js';
import type { SeriesSetup } from './series.js';
import { createVouchers } from './vouchers.js';
import type { Vouchers } from './vouchers.js';

/** Where a step shows how far it is, and what wakes it. */
export interface ShownStep extends Pick<SeriesSetup, 'nudges' | 'say'> {
  status: ActionStatus;
  changed: () => void;
  vouchers: Vouchers;
}

/** Undoes one action by its custom rollback or the automatic inverse, or runs a hook around the undoing. */
export function undoStep(
  input: StageRollbackInput,
  step: UndoStep,
  shown: ShownStep,
): Promise<ActionOutcome> {
  if (step.hook === true) return runHook(input, step, shown);
  const { status, changed, vouchers, ...hooks } = shown;
  // A custom rollback brings its own times and retries.
  const { rollback } = step.input;
  const rule =
    rollback === undefined
      ? step.input
      : {
          ...step.input,
          totalTimeoutMs: undefined,
          step: undefined,
          optional: undefined,
          perCluster: undefined,
          ...rollback,
        };
  const { bounds } = input;
  const { forward } = step;
  const sealsOf = (at: ActionAddress): TaskSeals => sealsOfStep(step, vouchers, at);
  const task: ActionTask = {
    run: input.run,
    at: step.at,
    direction: 'undo',
    round: 0,
    name: step.input.name,
    type: rule.type,
    timeoutMs: rule.timeoutMs,
    ...(rule.totalTimeoutMs !== undefined && { totalTimeoutMs: rule.totalTimeoutMs }),
    ...(isDefaultRetry(rule.retry) ? {} : { retry: rule.retry }),
    ...(step.input.body !== undefined && { body: step.input.body }),
    seals: sealsOf(step.at),
    outputs: step.outputs,
    phases: {},
    forward,
    ...(forward.outputs?.priorRef !== undefined && { prior: forward.outputs.priorRef }),
  };
  const totalMs = bounds.undoStepMs;
  return rule.perCluster !== undefined && forward.clusterStatuses !== undefined
    ? undoInClusters({ input: rule, status, task, forward, bounds, totalMs, changed, sealsOf })
    : executeAction({ input: rule, task, bounds, totalMs, ...hooks });
}

/** In a revert, the bridge vouches for each step; in a run that rolls back, the workers that did what is undone. */
function sealsOfStep(step: UndoStep, vouchers: Vouchers, at: ActionAddress): TaskSeals {
  const { bodySeal } = step.input;
  const seal = at.cluster === undefined ? step.seal : step.partSeals?.[at.cluster];
  return {
    ...(bodySeal !== undefined && { body: bodySeal }),
    ...(seal !== undefined && { step: seal }),
    ...vouchers.undoSeals(at),
  };
}

/** A hook around the undoing: carried out as it is written, in the name of the run that undoes. */
async function runHook(
  input: StageRollbackInput,
  step: UndoStep,
  { status, changed, vouchers: _, ...hooks }: ShownStep,
): Promise<ActionOutcome> {
  const { input: action, at, outputs, phases, packedPhases } = step;
  const { bounds } = input;
  const part = taskPart(action);
  const task: ActionTask = {
    // Activities see from the calling workflow that the mode is Rollback.
    run: input.run.seal === undefined ? { ...input.run, mode: 'Rollback' } : input.run,
    at,
    direction: 'forward',
    round: 0,
    ...part,
    ...(step.seal !== undefined && { seals: { ...part.seals, step: step.seal } }),
    outputs,
    phases: phases ?? Object.fromEntries(Object.entries(outputs).map(([name, view]) => [name, view.phase])),
    ...(packedPhases !== undefined && { packedPhases }),
  };
  if (action.perCluster === undefined) {
    return executeAction({ input: action, task, bounds, totalMs: bounds.undoStepMs, ...hooks });
  }
  let outcome: ActionOutcome | undefined;
  await runClusterBatch({
    actions: [{ input: action, status, task, changed, ended: (how) => (outcome = how) }],
    bounds,
    vouchers: createVouchers(),
    clustersLeft: () => Number.POSITIVE_INFINITY,
    failFast: true,
    interruption: () => ({ reason: 'Cancelled', message: 'the run was cancelled before it began' }),
  });
  if (outcome === undefined) throw new Error(`hook "${action.name}" did not end`);
  return outcome;
}
