import { API_VERSION } from '../../../api/core/group.js';
import { isTerminalExecution } from '../../../api/core/phase.js';
import type { DRPlanExecution, DRPlanExecutionStatus } from '../../../api/plan/types.js';
import { runWorkflowId } from '../../../api/plan/naming.js';
import { rollbackWorkflowId, stageWorkflowId } from '../../../workflows/plan/contract.js';
import type { MirrorPace } from '../../../workflows/core/contract.js';
import type { RunIdentity } from '../../../workflows/plan/contract.js';
import type { FinishUpdate, MirrorUpdate } from '../../../workflows/plan/contract-updates.js';
import { createBatches } from '../../core/batches.js';
import type { WriteResult } from '../../core/status-writer.js';
import { endOnPlan } from '../lock/plan-state.js';
import type { ExecutionIdentity } from '../lock/plan-state.js';
import { letGo } from './finalizer.js';
import { applyFinish, applyMirror } from './projection.js';
import { applyRevertToTarget } from './revert-end.js';
import { smallestStatus } from './size-guard.js';
import { newlyUnconfirmed, STOP_UNCONFIRMED, unconfirmedPlaces } from './stop-unconfirmed.js';
import { tellFailures } from './tell-failures.js';
import type { CachedExecution, DrDeps } from '../types.js';

/** What mirroring is built from. */
export type MirrorDeps = Pick<
  DrDeps,
  'caches' | 'writer' | 'mutex' | 'events' | 'log' | 'kube' | 'runs' | 'pace'
>;

/** How executions of plans get into status. */
export interface PlanMirror {
  /** @returns how often the run may tell from now on */
  mirror(update: MirrorUpdate): Promise<MirrorPace>;
  finish(update: FinishUpdate): Promise<void>;
}

/** A run sends an update before its start is in status; Temporal tries again in a moment. */
export class NotRecordedError extends Error {
  override readonly name = 'NotRecordedError';
}

/**
 * Writes what runs say into status. Both are idempotent, and neither ever fails a run: an execution that is gone, has
 * another uid or has ended counts as success, and Temporal retries everything else.
 */
export function createMirror(deps: MirrorDeps): PlanMirror {
  const { caches, writer, mutex } = deps;
  const batch = createBatches<MirrorUpdate>({ mutex, write: (updates) => write(updates) });

  async function write(updates: readonly MirrorUpdate[]): Promise<void> {
    const [first] = updates;
    if (first === undefined) return;
    const { run } = first;
    await project(run, (status) => {
      let next: DRPlanExecutionStatus | undefined;
      for (const update of updates) {
        next = applyMirror(next ?? status, update, new Date().toISOString()) ?? next;
      }
      return next;
    });
    for (const { paused } of updates) {
      if (paused === undefined) continue;
      deps.events.record(objectOf(run), {
        type: 'Warning',
        reason: 'ExecutionPaused',
        action: 'Pause',
        message: `stage "${paused.stage}" waits for a decision (retry, skip or abort): ${paused.message}`,
        key: `${paused.stage}/${paused.reminder}`,
      });
    }
  }

  /** Writes a projection of the execution's status and records events for failed actions. */
  async function project(
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
      tellFailures(deps.events, result.object, { before, after: result.object.status });
      const unconfirmed = newlyUnconfirmed(before, result.object.status ?? {});
      if (unconfirmed !== undefined) {
        deps.events.record(result.object, {
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

  /**
   * Whether the execution exists, is open, and does not know its run yet: then nothing may be ended, least of all its
   * plan.
   */
  async function isUnrecorded(run: RunIdentity): Promise<boolean> {
    let found = caches.executions.get(run.namespace, run.name);
    if (found?.metadata.uid !== run.uid) {
      // An execution that a late cache lacks must not be taken for one that is gone.
      found = await deps.kube.get<CachedExecution>({
        apiVersion: API_VERSION,
        kind: 'DRPlanExecution',
        namespace: run.namespace,
        name: run.name,
      });
    }
    if (found === undefined || found.metadata.uid !== run.uid) return false;
    if (found.metadata.deletionTimestamp !== undefined) return false;
    return found.status?.temporal === undefined && !isTerminalExecution(found.status?.phase);
  }

  return {
    async mirror(said) {
      await batch(executionKey(said.run), await withBegun(said));
      return deps.pace();
    },
    async finish(update) {
      const known = await withBegun(update);
      await mutex.run(executionKey(update.run), () => finish(known));
    },
  };

  /** A stage that was ended from outside could not report what it had begun and how that ended, but its history shows it. */
  async function withBegun<T extends MirrorUpdate | FinishUpdate>(update: T): Promise<T> {
    if (update.stages.every(({ interrupted }) => interrupted !== true)) return update;
    const { run } = update;
    const runId = runWorkflowId(run);
    const idOf = run.operation === 'Revert' ? rollbackWorkflowId : stageWorkflowId;
    const stages = await Promise.all(
      update.stages.map(async (stage) =>
        stage.interrupted === true
          ? { ...stage, ...(await deps.runs.told(idOf(runId, stage.index))) }
          : stage,
      ),
    );
    return { ...update, stages };
  }

  /**
   * The end of a run: plan, then the target of a revert, then the execution itself, so that a terminal phase implies
   * that all else is done. A crash between two steps leaves a run that waits for this activity; Temporal hands the
   * activity out again, and each step finds what was written before.
   */
  async function finish(update: FinishUpdate): Promise<void> {
    const { run } = update;
    if (await isUnrecorded(run)) {
      throw new NotRecordedError(`the start of run ${run.namespace}/${run.name} is not recorded yet`);
    }
    const ref = { namespace: run.plan.namespace, name: run.plan.name, uid: run.plan.uid };
    await mutex.run(`DRPlan ${ref.namespace}/${ref.name}`, () =>
      // An ended execution is never looked at again, so its end must reach the plan first.
      writer.status(caches.plans, ref, ({ status }) => endOnPlan(status, identityOfRun(run), update), {
        confirm: true,
      }),
    );
    if (run.operation === 'Revert' && run.target !== undefined) {
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
    const result = await project(run, (status) => applyFinish(status, update));
    if (result.kind === 'gone') return;
    await release(update, result.object);
    if (result.kind !== 'written') return;
    deps.log.info(
      { execution: run.name, namespace: run.namespace, phase: update.phase, reason: update.reason },
      'run ended',
    );
    deps.events.record(result.object, {
      type: update.phase === 'Failed' ? 'Warning' : 'Normal',
      reason: `${run.operation === 'Revert' ? 'Revert' : 'Execution'}${update.phase}`,
      action: 'Finish',
      message: update.message === '' ? update.reason : update.message,
    });
  }

  /**
   * An execution that is over needs no finalizer, nor does the target of a revert that is over. If this is cut short, a
   * sweep does it.
   */
  async function release({ run }: FinishUpdate, execution: CachedExecution): Promise<void> {
    await letGo(deps, execution);
    const { target, namespace } = run;
    if (run.operation !== 'Revert' || target === undefined) return;
    const found = caches.executions.get(namespace, target.name);
    if (found !== undefined && found.metadata.uid === target.uid)
      await letGo(deps, found, { after: run.uid });
  }
}

/** Key of an execution in mutex and queue. */
export const executionKey = (run: { namespace: string; name: string }): string =>
  `DRPlanExecution ${run.namespace}/${run.name}`;

const identityOfRun = (run: RunIdentity): ExecutionIdentity => ({
  name: run.name,
  namespace: run.namespace,
  uid: run.uid,
  operation: run.operation,
  ...(run.operation === 'Execute' && run.mode !== undefined && { mode: run.mode }),
  ...(run.target !== undefined && { target: run.target }),
});

const objectOf = (run: RunIdentity): Pick<DRPlanExecution, 'apiVersion' | 'kind' | 'metadata'> => ({
  apiVersion: API_VERSION,
  kind: 'DRPlanExecution',
  metadata: { name: run.name, namespace: run.namespace, uid: run.uid },
});
