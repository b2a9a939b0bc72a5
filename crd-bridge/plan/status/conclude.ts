import { API_VERSION } from '../../../api/core/group.js';
import { isTerminalExecution } from '../../../api/core/phase.js';
import type { DRPlanExecutionStatus } from '../../../api/plan/types.js';
import { reportOf } from '../../../api/plan/undo/undo.js';
import type { FinishUpdate } from '../../../workflows/plan/contract-updates.js';
import { endOnPlan } from '../lock/plan-state.js';
import { findPlan } from '../start/find-plan.js';
import { refOf } from '../../core/object-ref.js';
import { identityOf } from '../start/identity.js';
import type { CachedExecution, DrDeps } from '../types.js';
import { letGo } from './finalizer.js';
import { applyFinish } from './projection.js';
import { applyRevertToTarget } from './revert-end.js';
import { smallestStatus } from './size-guard.js';
import { unconfirmedPlaces } from './stop-unconfirmed.js';
import { tellFailures } from './tell-failures.js';
import { fieldsOf } from '../log-fields.js';

/** What the end of a run is written with. */
export type ConcludeDeps = Pick<DrDeps, 'caches' | 'events' | 'kube' | 'log' | 'mutex' | 'writer'>;

/** Ends an execution whose run can no longer do it: the plan first, as everywhere. */
export async function conclude(
  deps: ConcludeDeps,
  execution: CachedExecution,
  end: FinishUpdate,
): Promise<void> {
  const { caches, writer } = deps;
  const identity = identityOf(execution);
  const plan = await findPlan(deps, identity.namespace, execution.spec.planRef);
  if (plan !== undefined) {
    await deps.mutex.run(`DRPlan ${identity.namespace}/${plan.metadata.name}`, () =>
      writer.status(caches.plans, refOf(plan), ({ status }) => endOnPlan(status, identity, end), {
        confirm: true,
      }),
    );
  }
  const update =
    identity.operation === 'Revert' ? { ...end, ...(await tellTarget(deps, execution, end)) } : end;
  let before: DRPlanExecutionStatus | undefined;
  const result = await writer.status(
    caches.executions,
    refOf(execution),
    ({ status }) => {
      before = status;
      return status === undefined || isTerminalExecution(status.phase)
        ? undefined
        : applyFinish(status, update);
    },
    // Whether the run has written its end after all shows in the live object, not in the cache.
    { live: true, smaller: smallestStatus },
  );
  if (result.kind === 'gone') return;
  await letGo(deps, result.object);
  if (result.kind !== 'written') return;
  const { phase, reason, message } = end;
  deps.log.warn({ ...fieldsOf(execution), phase, reason, message }, 'run ended without its last word');
  tellFailures(deps.events, execution, { before, after: result.object.status });
  deps.events.record(execution, {
    type: end.phase === 'Failed' ? 'Warning' : 'Normal',
    reason: `${identity.operation === 'Revert' ? 'Revert' : 'Execution'}${end.phase}`,
    action: 'Finish',
    message: `${end.reason}: ${end.message}`,
  });
}

/** Writes the result of a revert into the status of its target, so that the next revert skips what is undone. */
async function tellTarget(
  deps: ConcludeDeps,
  revert: CachedExecution,
  end: FinishUpdate,
): Promise<Pick<FinishUpdate, 'undone' | 'unreverted'>> {
  const { caches, writer } = deps;
  const { namespace, name } = refOf(revert);
  const { apiVersion, kind } = caches.executions;
  const get = (of: string) =>
    deps.kube.get<CachedExecution>({
      apiVersion,
      kind,
      name: of,
      ...(namespace !== undefined && { namespace }),
    });
  const [live, target] = await Promise.all([get(name), get(revert.spec.revertExecutionRef ?? '')]);
  if (live?.status === undefined || live.metadata.uid !== revert.metadata.uid) return {};
  const ended = applyFinish(live.status, end);
  // The revert has written its end after all, and to its target first.
  if (ended === undefined) return {};
  const report = reportOf(ended.stageStatuses ?? []);
  const isOlder =
    Date.parse(target?.metadata.creationTimestamp ?? '') <= Date.parse(live.metadata.creationTimestamp ?? '');
  if (target === undefined || !isOlder || !isTerminalExecution(target.status?.phase)) return report;
  await writer.status(
    caches.executions,
    refOf(target),
    ({ status }) =>
      status &&
      applyRevertToTarget(
        status,
        { ...end, ...report },
        { apiVersion: API_VERSION, kind, unconfirmed: unconfirmedPlaces(ended.stageStatuses ?? []) },
      ),
  );
  return report;
}
