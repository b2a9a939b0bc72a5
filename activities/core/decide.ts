import { parseDuration } from '../../api/core/duration.js';
import { RenderError, renderString } from '../../api/plan/template/render.js';
import type { RenderScope } from '../../api/plan/template/render.js';
import type { Action } from '../../api/plan/types.js';
import type { ActionTask, Decision } from '../../workflows/plan/contract-tasks.js';
import { judge, readAction } from './prepare.js';
import type { AttemptDeps } from './prepare.js';
import { SnapshotError } from './snapshots.js';
import { NotVouched, NotYetVouched, tryVouchedAgain } from './vouching.js';

/**
 * What has to be known before workflow code carries a step out itself: whether `when` lets it run, and its texts with
 * every placeholder filled in.
 *
 * @throws KubeError when the snapshot cannot be read now; ApplicationFailure while nobody vouches for the task
 */
export async function decideStep(
  given: ActionTask,
  deps: Pick<AttemptDeps, 'snapshots' | 'vouching'>,
): Promise<Decision> {
  try {
    const { task, action, scope } = await readAction(await deps.vouching.task(given), deps);
    const unmet = action.when === undefined ? undefined : judge(action.when, task, scope);
    if (unmet !== undefined) return { kind: unmet.kind, reason: unmet.reason, message: unmet.message };
    return action.type === 'Approval' ? decideApproval(action, scope) : decideWait(action, scope);
  } catch (error) {
    if (error instanceof RenderError) {
      return { kind: 'failed', reason: error.reason, message: error.message };
    }
    if (error instanceof SnapshotError) {
      return { kind: 'failed', reason: 'SnapshotLost', message: error.message };
    }
    if (error instanceof NotVouched) return { kind: 'failed', reason: 'NotSealed', message: error.message };
    if (error instanceof NotYetVouched) throw tryVouchedAgain(error);
    throw error;
  }
}

function decideApproval({ name, approval }: Action, scope: RenderScope): Decision {
  if (approval === undefined) {
    return { kind: 'failed', reason: 'InvalidAction', message: `action "${name}" has no block "approval"` };
  }
  const timeoutMs = parseDuration(approval.timeout ?? '');
  return {
    kind: 'approval',
    message: renderString(approval.message, scope),
    approvers: approval.approvers,
    quorum: approval.quorum ?? 1,
    excludeRequester: approval.excludeRequester ?? true,
    ...(timeoutMs !== undefined && { timeoutMs }),
    defaultOutcome: approval.defaultOutcome ?? 'Reject',
  };
}

function decideWait({ name, wait }: Action, scope: RenderScope): Decision {
  const text = renderString(wait?.duration ?? '', scope);
  const ms = parseDuration(text);
  if (ms !== undefined) return { kind: 'timer', ms };
  return {
    kind: 'failed',
    reason: 'InvalidAction',
    message: `action "${name}": wait.duration is ${JSON.stringify(text.slice(0, 100))}; must be a duration such as 30s, 5m or 1h30m`,
  };
}
