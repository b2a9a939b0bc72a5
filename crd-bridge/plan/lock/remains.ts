/** A run whose execution is gone is followed by nobody: the plan that it holds sees to what is left of it. */
import type { RunDescription, Runs } from '../../../client/runs/runs.js';
import { fieldsOfRun } from '../log-fields.js';
import { endStages } from '../status/end-stages.js';
import type { DrDeps } from '../types.js';

/** What seeing to the remains of a run needs. */
export type RemainsDeps = Pick<DrDeps, 'runs' | 'cluster' | 'sealer' | 'settings' | 'log'>;

/**
 * What of a run that was ended from outside may still act; undefined when it is over.
 *
 * @param isActing whether to end and settle it too; otherwise it is only looked at
 */
export async function remainsOf(
  deps: RemainsDeps,
  run: RunDescription,
  isActing: boolean,
): Promise<string | undefined> {
  // A run that has completed by itself has waited for its stages.
  if (run.state === 'Completed') return undefined;
  const input = await deps.runs.input(run.workflowId, run.runId);
  if (input === undefined) return undefined;
  // How far each of them had come is not known any more: all are looked at.
  const names = input.undoStatuses?.map(({ name }) => name) ?? input.stages.map(({ name }) => name);
  const stages = names.map((name) => ({ name, phase: 'Running' }));
  const runs = isActing ? deps.runs : lookingOnly(deps.runs);
  const { cluster, log, sealer } = deps;
  const { bounds, taskWaitMs } = deps.settings;
  const found = await endStages(
    { runs, cluster, log, sealer, bounds, taskWaitMs },
    run,
    { operation: input.run.operation, stages, fields: fieldsOfRun(input.run) },
    Date.now(),
  );
  return found.kind === 'acting' ? found.message : undefined;
}

const lookingOnly = (runs: Runs): Runs => ({
  ...runs,
  terminate: () => Promise.resolve('notRunning'),
  settlements: { ...runs.settlements, start: () => Promise.resolve() },
});
