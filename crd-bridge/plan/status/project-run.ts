import { isTerminalExecution } from '../../../api/core/phase.js';
import type { DRPlanExecutionStatus } from '../../../api/plan/types.js';
import type { RunIdentity } from '../../../workflows/plan/contract.js';
import type { WriteResult } from '../../core/status-writer.js';
import type { CachedExecution } from '../types.js';
import { NotRecordedError } from './mirror-deps.js';
import type { MirrorDeps } from './mirror-deps.js';
import { smallestStatus } from './size-guard.js';
import { newlyUnconfirmed, STOP_UNCONFIRMED } from './stop-unconfirmed.js';
import { tellFailures } from './tell-failures.js';

/** Writes a projection of the execution's status and records events for failed actions. */
export async function projectRun(
  { caches, events, writer }: Pick<MirrorDeps, 'caches' | 'events' | 'writer'>,
  run: RunIdentity,
  apply: (status: DRPlanExecutionStatus) => DRPlanExecutionStatus | undefined,
): Promise<WriteResult<CachedExecution>> {
  let before: DRPlanExecutionStatus | undefined;
  const result = await writer.status(
    caches.executions,
    { namespace: run.namespace, name: run.name, uid: run.uid },
    ({ status, metadata }) => {
      before = status;
      if (isTerminalExecution(status?.phase)) return undefined;
      if (status?.temporal === undefined) {
        // Once the execution is being deleted, nobody records its start any more: the run must not wait for that.
        if (metadata.deletionTimestamp !== undefined) return undefined;
        throw new NotRecordedError(`the start of run ${run.namespace}/${run.name} is not recorded yet`);
      }
      return apply(status);
    },
    { smaller: smallestStatus },
  );
  if (result.kind === 'written') {
    tellFailures(events, result.object, { before, after: result.object.status });
    const unconfirmed = newlyUnconfirmed(before, result.object.status ?? {});
    if (unconfirmed !== undefined) {
      events.record(result.object, {
        type: 'Warning',
        reason: STOP_UNCONFIRMED,
        action: 'Execute',
        message: unconfirmed.message,
        key: unconfirmed.message,
      });
    }
  }
  return result;
}
