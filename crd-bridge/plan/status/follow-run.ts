import { isTerminalExecution } from '../../../api/core/phase.js';
import type { RunDescription } from '../../../client/runs/runs.js';
import { findCondition } from '../../core/conditions.js';
import { refOf } from '../../core/object-ref.js';
import type { CachedExecution, DrDeps } from '../types.js';
import { setProgressing } from './progressing.js';
import { followReset } from './reset.js';
import { ENDS_WITH_LOOK, lookAtRun } from './standstill.js';
import { fieldsOf } from '../log-fields.js';

/** Time between two progress queries to a run that was reset, until a worker answers. */
const RESET_LOOK_MS = 5_000;
/** A running worker answers within this time. */
const ANSWER_MS = 3_000;

/**
 * Takes over what the description of a run that goes on shows: that it was reset, that it stands still, that it moves
 * again.
 *
 * @returns after how many milliseconds to look again, where that is sooner than usual
 */
export async function followRun(
  deps: Pick<DrDeps, 'caches' | 'log' | 'runs' | 'settings' | 'writer'>,
  execution: CachedExecution,
  run: RunDescription,
): Promise<number | undefined> {
  const { caches, runs, writer } = deps;
  const isAnswered = async (): Promise<boolean> =>
    (await runs.progress(run.workflowId, { timeoutMs: ANSWER_MS })) !== undefined;
  const { status } = execution;
  const progressing = findCondition(status?.conditions, 'Progressing');
  if (status?.temporal !== undefined && status.temporal.runId !== run.runId) {
    const progress = await runs.progress(run.workflowId);
    // Without a worker nobody knows how far back it was set.
    if (progress === undefined) return RESET_LOOK_MS;
    await writer.status(caches.executions, refOf(execution), ({ status: known }) =>
      known?.temporal === undefined || isTerminalExecution(known.phase)
        ? undefined
        : followReset(known, run.runId, progress),
    );
    deps.log.warn({ ...fieldsOf(execution), runId: run.runId }, 'run was reset; following the new one');
  }
  const { taskWaitMs } = deps.settings;
  const look = await lookAtRun(run, isAnswered, { now: Date.now(), taskWaitMs });
  switch (look.kind) {
    case 'stands': {
      const { reason, message } = look.standstill;
      if (progressing?.reason !== reason || progressing.message !== message)
        await setProgressing(deps, execution, { status: 'False', reason, message });
      return undefined;
    }
    case 'moves':
      if (ENDS_WITH_LOOK.has(progressing?.reason ?? ''))
        await setProgressing(deps, execution, {
          status: 'True',
          reason: 'Running',
          message: 'the run goes on',
        });
      return look.againMs;
  }
}
