import { API_VERSION } from '../../../api/core/group.js';
import { isTerminalExecution } from '../../../api/core/phase.js';
import type { RunIdentity } from '../../../workflows/plan/contract.js';
import type { FinishUpdate } from '../../../workflows/plan/contract-updates.js';
import { endOnPlan, holds } from '../lock/plan-state.js';
import type { ExecutionIdentity } from '../lock/plan-state.js';
import { fieldsOfRun } from '../log-fields.js';
import type { CachedExecution } from '../types.js';
import { letGo } from './finalizer.js';
import { NotRecordedError } from './mirror-deps.js';
import type { MirrorDeps } from './mirror-deps.js';
import { projectRun } from './project-run.js';
import { applyFinish } from './projection.js';
import { applyRevertToTarget } from './revert-end.js';
import { unconfirmedPlaces } from './stop-unconfirmed.js';

/**
 * The end of a run: plan, then the target of a revert, then the execution itself, so that a terminal phase implies
 * that all else is done. A crash between two steps leaves a run that waits for this activity; Temporal hands the
 * activity out again, and each step finds what was written before.
 */
export async function finishRun(deps: MirrorDeps, update: FinishUpdate): Promise<void> {
  const { caches, mutex, writer } = deps;
  const { run } = update;
  const found = await executionOf(deps, run);
  if (isUnrecorded(found)) {
    throw new NotRecordedError(`the start of run ${run.namespace}/${run.name} is not recorded yet`);
  }
  // Its end was written before, to its target too. It may hold its plan all the same: it was ended while its run started.
  const isOver = isTerminalExecution(found?.status?.phase);
  const ref = { namespace: run.plan.namespace, name: run.plan.name, uid: run.plan.uid };
  const identity = identityOfRun(run);
  await mutex.run(`DRPlan ${ref.namespace}/${ref.name}`, () =>
    // An ended execution is never looked at again, so its end must reach the plan first.
    writer.status(
      caches.plans,
      ref,
      ({ status }) =>
        isOver && !holds(status?.currentExecution, identity)
          ? undefined
          : endOnPlan(status, identity, update),
      { confirm: true },
    ),
  );
  if (!isOver) await tellTarget(deps, update);
  const result = await projectRun(deps, run, (status) => applyFinish(status, update));
  if (result.kind === 'gone') return;
  await release(deps, update, result.object);
  if (result.kind !== 'written') return;
  deps.log.info({ ...fieldsOfRun(run), phase: update.phase, reason: update.reason }, 'run ended');
  deps.events.record(result.object, {
    type: update.phase === 'Failed' ? 'Warning' : 'Normal',
    reason: `${run.operation === 'Revert' ? 'Revert' : 'Execution'}${update.phase}`,
    action: 'Finish',
    message: update.message === '' ? update.reason : update.message,
  });
}

/** The target of a revert shows what was undone of it. */
async function tellTarget({ caches, writer }: MirrorDeps, update: FinishUpdate): Promise<void> {
  const { run } = update;
  if (run.operation !== 'Revert' || run.target === undefined) return;
  const target = { namespace: run.namespace, name: run.target.name, uid: run.target.uid };
  const known = caches.executions.get(run.namespace, run.name)?.status ?? {};
  const unconfirmed = unconfirmedPlaces((applyFinish(known, update) ?? known).stageStatuses ?? []);
  await writer.status(
    caches.executions,
    target,
    ({ status }) =>
      status &&
      applyRevertToTarget(status, update, {
        apiVersion: API_VERSION,
        kind: 'DRPlanExecution',
        unconfirmed,
      }),
  );
}

/**
 * An execution that is over needs no finalizer, nor does the target of a revert that is over. If this is cut short, a
 * sweep does it.
 */
async function release(deps: MirrorDeps, { run }: FinishUpdate, execution: CachedExecution): Promise<void> {
  await letGo(deps, execution);
  const { target, namespace } = run;
  if (run.operation !== 'Revert' || target === undefined) return;
  const found = deps.caches.executions.get(namespace, target.name);
  if (found !== undefined && found.metadata.uid === target.uid) await letGo(deps, found, { after: run.uid });
}

/** The execution of a run; undefined where it is gone. */
async function executionOf(
  { caches, kube }: Pick<MirrorDeps, 'caches' | 'kube'>,
  { namespace, name, uid }: RunIdentity,
): Promise<CachedExecution | undefined> {
  const cached = caches.executions.get(namespace, name);
  if (cached?.metadata.uid === uid) return cached;
  // An execution that a late cache lacks must not be taken for one that is gone.
  const live = await kube.get<CachedExecution>({
    apiVersion: API_VERSION,
    kind: 'DRPlanExecution',
    namespace,
    name,
  });
  return live?.metadata.uid === uid ? live : undefined;
}

/**
 * Whether the execution exists, is open, and does not know its run yet: then nothing may be ended, least of all its
 * plan.
 */
const isUnrecorded = (found: CachedExecution | undefined): boolean =>
  found !== undefined &&
  found.metadata.deletionTimestamp === undefined &&
  found.status?.temporal === undefined &&
  !isTerminalExecution(found.status?.phase);

const identityOfRun = (run: RunIdentity): ExecutionIdentity => ({
  name: run.name,
  namespace: run.namespace,
  uid: run.uid,
  operation: run.operation,
  ...(run.operation === 'Execute' && run.mode !== undefined && { mode: run.mode }),
  ...(run.target !== undefined && { target: run.target }),
});
