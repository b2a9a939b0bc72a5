/** The end of a run that could not write it: closed from outside, or lost with its Temporal. */
import { cancelAsked } from '../../../api/core/cancel.js';
import { isTerminalItem } from '../../../api/core/phase.js';
import type { RunDescription } from '../../../client/runs/runs.js';
import type { RunProgress } from '../../../workflows/plan/contract.js';
import type { FinishUpdate } from '../../../workflows/plan/contract-updates.js';
import { cancellerOf } from '../kinds/execution-view.js';
import { fieldsOf } from '../log-fields.js';
import { identityOf, nameOfTemporal } from '../start/identity.js';
import type { CachedExecution, DrDeps } from '../types.js';
import { conclude } from './conclude.js';
import type { ConcludeDeps } from './conclude.js';
import { setProgressing } from './progressing.js';
import { endStages } from './end-stages.js';
import type { StagesEnd } from './end-stages.js';

const STAGES_POLL_MS = 2_000;

/** What the end is found out with. */
export type EndedDeps = ConcludeDeps &
  Pick<DrDeps, 'cluster' | 'isAdmitted' | 'runs' | 'sealer' | 'settings'>;

type StagesOver = Extract<StagesEnd, { kind: 'over' }>;

/**
 * Writes the end of a run that has closed, once its stages have closed too and what they had begun is settled.
 *
 * @returns after how many milliseconds to look again, while something of it still acts
 */
export async function concludeClosed(
  deps: EndedDeps,
  execution: CachedExecution,
  run: RunDescription,
): Promise<number | undefined> {
  const stages = await stagesOf(deps, execution, run);
  if (stages.kind === 'acting') {
    const by = terminatedBy(deps, execution) === undefined ? ' from outside' : '';
    await setProgressing(deps, execution, {
      status: 'False',
      reason: 'Settling',
      message: `the run was ${STATE_WORDS[run.state]}${by}; waiting for ${stages.message}`,
    });
    return STAGES_POLL_MS;
  }
  await conclude(deps, execution, await lastWords(deps, execution, run, stages));
  return undefined;
}

/** Writes the end of a run that Temporal no longer knows, or whose Temporal will not come back, as a person says. */
export async function concludeLost(
  deps: EndedDeps,
  execution: CachedExecution,
  workflowId: string,
): Promise<void> {
  const isGivenUp = cancelAsked(execution.metadata.annotations) === 'temporalLost';
  const why = isGivenUp
    ? `run "${workflowId}" was in ${nameOfTemporal(execution.status?.temporal)}, which will not come back, as ${cancellerOf(deps, execution) ?? 'somebody'} said`
    : `Temporal knows no workflow "${workflowId}" any more, though it was started`;
  await conclude(deps, execution, {
    ...lastUpdate(deps, execution),
    phase: 'Failed',
    reason: 'RunLost',
    message: `${why}; check what its actions have done, then revert this execution or create a new one`,
  });
}

/** The stages of a run that has closed. A run that has completed by itself has waited for them. */
async function stagesOf(
  deps: EndedDeps,
  execution: CachedExecution,
  run: RunDescription,
): Promise<StagesEnd> {
  if (run.state === 'Completed') return { kind: 'over', stages: [], undone: [], unsettled: [] };
  const stages = execution.status?.stageStatuses ?? [];
  const shown = { operation: identityOf(execution).operation, stages, fields: fieldsOf(execution) };
  const { bounds, taskWaitMs } = deps.settings;
  return endStages({ ...deps, bounds, taskWaitMs }, run, shown, Date.now());
}

/** Who asked on the execution for its run to be terminated; undefined where nobody did. */
function terminatedBy(deps: EndedDeps, execution: CachedExecution): { requestedBy?: string } | undefined {
  if (cancelAsked(execution.metadata.annotations) !== 'terminate') return undefined;
  const requestedBy = cancellerOf(deps, execution);
  return requestedBy === undefined ? {} : { requestedBy };
}

/** The final update, made in place of the run. */
function lastUpdate(
  { cluster }: EndedDeps,
  execution: CachedExecution,
  run?: RunDescription,
): Omit<FinishUpdate, 'phase' | 'reason' | 'message'> {
  const { namespace, name, uid, operation } = identityOf(execution);
  const { status, spec } = execution;
  const snapshot = {
    name: '',
    digest: '',
    parts: 1,
    ...run?.memo?.snapshot,
    ...status?.snapshotRef,
    namespace,
  };
  return {
    run: {
      cluster,
      namespace,
      name,
      uid,
      plan: { name: spec.planRef, namespace, uid: '' },
      operation,
      runMode: spec.runMode ?? 'Planned',
      snapshot,
    },
    sequence: Number.MAX_SAFE_INTEGER,
    startTime: status?.startTime ?? run?.startTime.toISOString() ?? new Date().toISOString(),
    completionTime: (run?.closeTime ?? new Date()).toISOString(),
    stages: [],
  };
}

/** The final update of a run that has closed by itself or was closed. */
async function lastWords(
  deps: EndedDeps,
  execution: CachedExecution,
  run: RunDescription,
  own: StagesOver,
): Promise<FinishUpdate> {
  const { runs } = deps;
  // A closed run still answers, as long as a worker can replay its history.
  const progress: RunProgress | undefined = await runs.progress(run.workflowId, { runId: run.runId });
  const asked = terminatedBy(deps, execution);
  const time = (run.closeTime ?? new Date()).toISOString();
  const cancelRequest = progress?.cancelRequest ?? (asked && { ...asked, via: 'Annotation', time });
  const base = {
    ...lastUpdate(deps, execution, run),
    stages: [
      ...own.stages,
      ...(progress?.stages ?? []).flatMap((stage, index) =>
        isTerminalItem(stage.phase) ? [{ index, status: stage }] : [],
      ),
    ],
    ...(own.undone.length > 0 && { undone: own.undone }),
    ...(cancelRequest !== undefined && { cancelRequest }),
  };
  if (run.state === 'Completed') {
    const { phase, reason, message } = await runs.result(run.workflowId, run.runId);
    return { ...base, phase, reason, message };
  }
  const by = asked === undefined ? 'from outside' : `as ${asked.requestedBy ?? 'somebody'} asked`;
  const unsettled = own.unsettled.map((what) => `; ${what}`).join('');
  const message = `Temporal workflow "${run.workflowId}" was ${STATE_WORDS[run.state]} ${by}${unsettled}; check what the interrupted actions have done, then revert this execution or create a new one`;
  return run.state === 'Cancelled'
    ? { ...base, phase: 'Cancelled', reason: 'Cancelled', message: 'the run was cancelled' }
    : { ...base, phase: 'Failed', reason: 'RunTerminated', message };
}

const STATE_WORDS: Record<RunDescription['state'], string> = {
  Running: 'ended',
  Completed: 'completed',
  Failed: 'failed',
  Cancelled: 'cancelled',
  Terminated: 'terminated',
  TimedOut: 'timed out',
};
