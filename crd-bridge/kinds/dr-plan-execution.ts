import { ANNOTATIONS, API_VERSION, FINALIZERS } from '../../api/group.js';
import { runWorkflowId } from '../../api/naming.js';
import { isTerminalExecution, isTerminalItem } from '../../api/phase.js';
import type { DRPlan, DRPlanExecution, DRPlanExecutionStatus } from '../../api/types.js';
import type { RunDescription } from '../../client/runs.js';
import type { FinishUpdate, RunProgress } from '../../workflows/contract.js';
import { findCondition, setCondition } from '../core/conditions.js';
import type { ReleaseCause, RunKind } from '../core/kind.js';
import type { ExecutionAdmission } from '../execution/admission.js';
import { findPlan } from '../execution/find-plan.js';
import { nameOfTemporal } from '../execution/identity.js';
import { endOf } from '../execution/lock-holder.js';
import { checkAbandoned, checkRestored } from '../execution/gates.js';
import { identityOf, refOf } from '../execution/identity.js';
import { recordRow, rowOf } from '../execution/history.js';
import { endOnPlan, holds } from '../execution/plan-state.js';
import { applyFinish, newFailures, refusedStatus } from '../execution/projection.js';
import { hasEffects } from '../execution/revert-target.js';
import type { CachedExecution, DrDeps } from '../execution/types.js';
import { smallestStatus } from '../execution/size-guard.js';

/** A worker that takes a task later than this is called missing (plan semantics, §5 Bounds). */
const NO_WORKER_MS = 30_000;

/** What the cache keeps of an execution: all while it lives, a stub once it has ended. */
export function trimExecution(execution: CachedExecution): CachedExecution {
  const { managedFields: _, ...metadata } = execution.metadata;
  const trimmed: CachedExecution = { ...execution, metadata };
  const { status } = execution;
  if (status === undefined || !isTerminalExecution(status.phase)) return trimmed;
  const { stageStatuses, ...rest } = status;
  return { ...trimmed, status: rest, stub: { hasEffects: hasEffects(stageStatuses, status.undone) } };
}

/** The row of DRPlanExecution in the bridge's table. */
export function createExecutionKind(
  deps: DrDeps,
  admission: ExecutionAdmission,
  onGone: (execution: CachedExecution) => void,
): RunKind<CachedExecution> {
  const { caches, writer, runs } = deps;
  const now = (): string => new Date().toISOString();
  const workflowId = (execution: DRPlanExecution): string =>
    runWorkflowId({ cluster: deps.cluster, ...identityOf(execution) });

  /** Sets condition Progressing while the run goes on, and nothing else. */
  async function setProgressing(
    execution: CachedExecution,
    status: 'True' | 'False',
    reason: string,
    message: string,
  ): Promise<void> {
    await writer.status(caches.executions, refOf(execution), ({ status: known, metadata }) => {
      if (isTerminalExecution(known?.phase)) return undefined;
      const generation = metadata.generation;
      const update = {
        type: 'Progressing',
        status,
        reason,
        message,
        ...(generation !== undefined && { observedGeneration: generation }),
      };
      return { ...known, conditions: setCondition(known?.conditions, update, now()) };
    });
  }

  /** Ends an execution whose run cannot do it any more: the plan first, as everywhere. */
  async function conclude(
    execution: CachedExecution,
    end: { phase: FinishUpdate['phase']; reason: string; message: string; completionTime: string },
    apply: (status: DRPlanExecutionStatus) => DRPlanExecutionStatus | undefined,
  ): Promise<void> {
    const identity = identityOf(execution);
    const plan = await findPlan(deps, identity.namespace, execution.spec.planRef);
    if (plan !== undefined) {
      await deps.mutex.run(`DRPlan ${identity.namespace}/${plan.metadata.name}`, () =>
        writer.status(caches.plans, refOf(plan), ({ status }) => endOnPlan(status, identity, end), {
          confirm: true,
        }),
      );
    }
    let before: DRPlanExecutionStatus | undefined;
    const result = await writer.status(
      caches.executions,
      refOf(execution),
      ({ status }) => {
        before = status;
        return status === undefined || isTerminalExecution(status.phase) ? undefined : apply(status);
      },
      // Whether the run has said its last word after all is in the live object, not in the cache.
      { live: true, smaller: smallestStatus },
    );
    if (result.kind !== 'written') return;
    deps.log.warn({ execution: refOf(execution), ...end }, 'run ended without its last word');
    for (const { key, action } of newFailures(before, result.object.status ?? {})) {
      deps.events.record(execution, {
        type: 'Warning',
        reason: 'ActionFailed',
        action: 'Execute',
        message: `action "${action.name}" failed: ${action.reason ?? ''}: ${action.message ?? ''}`,
        key,
      });
    }
    deps.events.record(execution, {
      type: end.phase === 'Failed' ? 'Warning' : 'Normal',
      reason: `${identity.operation === 'Revert' ? 'Revert' : 'Execution'}${end.phase}`,
      action: 'Finish',
      message: `${end.reason}: ${end.message}`,
    });
  }

  /** What can still be said about a run that has closed by itself or was closed. */
  async function lastWords(execution: CachedExecution, run: RunDescription): Promise<FinishUpdate> {
    const identity = identityOf(execution);
    const { status, spec } = execution;
    // A closed run still answers, as long as a worker can replay its history.
    const progress: RunProgress | undefined = await runs.progress(run.workflowId);
    const completionTime = (run.closeTime ?? new Date()).toISOString();
    const base: Omit<FinishUpdate, 'phase' | 'reason' | 'message'> = {
      run: {
        cluster: deps.cluster,
        namespace: identity.namespace,
        name: identity.name,
        uid: identity.uid,
        plan: { name: spec.planRef, namespace: identity.namespace, uid: '' },
        operation: identity.operation,
        runMode: spec.runMode ?? 'Planned',
        snapshot: {
          name: status?.snapshotRef?.name ?? run.memo?.snapshot.name ?? '',
          namespace: identity.namespace,
          digest: status?.snapshotRef?.digest ?? run.memo?.snapshot.digest ?? '',
          parts: run.memo?.snapshot.parts ?? 1,
        },
      },
      sequence: Number.MAX_SAFE_INTEGER,
      startTime: status?.startTime ?? run.startTime.toISOString(),
      completionTime,
      stages: (progress?.stages ?? []).flatMap((stage, index) =>
        isTerminalItem(stage.phase) ? [{ index, status: stage }] : [],
      ),
      ...(progress?.cancelRequest !== undefined && { cancelRequest: progress.cancelRequest }),
    };
    if (run.state === 'Completed') {
      const { phase, reason, message } = await runs.result(run.workflowId, run.runId);
      return { ...base, phase, reason, message };
    }
    const message = `Temporal workflow "${run.workflowId}" was ${STATE_WORDS[run.state]} from outside; check what the interrupted actions have done, then revert this execution or create a new one`;
    return run.state === 'Cancelled'
      ? { ...base, phase: 'Cancelled', reason: 'Cancelled', message: 'the run was cancelled' }
      : { ...base, phase: 'Failed', reason: 'RunTerminated', message };
  }

  return {
    workflowId,
    view(execution) {
      const { metadata, status } = execution;
      const annotations = metadata.annotations ?? {};
      // The id carries the uid: it tells a run of this very object even where somebody has removed the stamp.
      const ours = status?.temporal?.workflowId === workflowId(execution);
      return {
        ended: isTerminalExecution(status?.phase),
        ...(ours && status?.temporal !== undefined && { run: status.temporal }),
        ...(annotations[ANNOTATIONS.cancel] === 'true' && {
          cancel: {
            via: 'Annotation' as const,
            ...(annotations[ANNOTATIONS.cancelRequestedBy] !== undefined && {
              requestedBy: annotations[ANNOTATIONS.cancelRequestedBy],
            }),
          },
        }),
        cancelKnown: status?.cancelRequest !== undefined,
        deleting: metadata.deletionTimestamp !== undefined,
        held: metadata.finalizers?.includes(FINALIZERS.execution) ?? false,
        forceRelease: annotations[ANNOTATIONS.forceDelete] === 'true',
      };
    },
    admit: (execution) => admission.admit(execution),
    async isStarting(execution) {
      const { uid, namespace } = identityOf(execution);
      const plan = await deps.kube.get<DRPlan>({
        apiVersion: API_VERSION,
        kind: 'DRPlan',
        namespace,
        name: execution.spec.planRef,
      });
      return plan?.status?.currentExecution?.uid === uid;
    },
    async cancelBeforeStart(execution) {
      // How far another controller came with it is not known: then it is not true that nothing was done.
      const foreign = checkAbandoned(execution) ?? checkRestored(execution);
      if (foreign !== undefined) {
        await admission.refuse(execution, 'Failed', foreign);
        return;
      }
      await admission.refuse(execution, 'Cancelled', {
        reason: 'Cancelled',
        message: 'cancelled before it was started: nothing was done',
      });
    },
    async alive(execution, run) {
      const { status } = execution;
      const progressing = findCondition(status?.conditions, 'Progressing');
      if (status?.temporal !== undefined && status.temporal.runId !== run.runId) {
        // Somebody reset the run: it goes on from an earlier point, and counts its updates from there.
        await writer.status(caches.executions, refOf(execution), ({ status: known }) => {
          if (known?.temporal === undefined || isTerminalExecution(known.phase)) return undefined;
          return { ...known, temporal: { ...known.temporal, runId: run.runId }, sequence: 0 };
        });
        deps.log.warn(
          { execution: refOf(execution), runId: run.runId },
          'run was reset; following the new one',
        );
      }
      const waiting = run.waitingForWorkerSince;
      if (waiting !== undefined && Date.now() - waiting.getTime() >= NO_WORKER_MS) {
        if (progressing?.reason === 'NoWorker') return;
        await setProgressing(
          execution,
          'False',
          'NoWorker',
          `no worker has taken a task of run "${run.workflowId}" since ${waiting.toISOString()}; check that the worker runs and is connected to the same Temporal`,
        );
      } else if (progressing?.reason === 'NoWorker' || progressing?.reason === 'TemporalMismatch') {
        await setProgressing(execution, 'True', 'Running', 'the run goes on');
      }
    },
    async closed(execution, run) {
      const update = await lastWords(execution, run);
      await conclude(execution, update, (status) => applyFinish(status, update));
    },
    async lost(execution) {
      const refusal = {
        reason: 'RunLost',
        message: `Temporal knows no workflow "${execution.status?.temporal?.workflowId ?? workflowId(execution)}" any more, though it was started; check what its actions have done, then revert this execution or create a new one`,
      };
      const completionTime = now();
      await conclude(execution, { phase: 'Failed', ...refusal, completionTime }, (status) =>
        refusedStatus(
          status,
          { ...refusal, phase: 'Failed', generation: execution.metadata.generation },
          completionTime,
        ),
      );
    },
    async mismatch(execution) {
      const recorded = execution.status?.temporal;
      await setProgressing(
        execution,
        'False',
        'TemporalMismatch',
        `the run "${recorded?.workflowId ?? ''}" is in ${nameOfTemporal(recorded)}, and the bridge is connected to ${nameOfTemporal(deps.temporal)}; connect it to the recorded one`,
      );
    },
    async blocked(execution, reason, message) {
      await setProgressing(
        execution,
        'False',
        reason,
        `${message}; to delete the record nevertheless, set annotation ${ANNOTATIONS.forceDelete}: "true"`,
      );
    },
    async beforeRelease(execution, cause) {
      await closeHistory(execution, cause);
    },
    async release(execution) {
      await writer.metadata(caches.executions, refOf(execution), ({ metadata }) => {
        const finalizers = metadata.finalizers ?? [];
        const kept = finalizers.filter(
          (name) => name !== FINALIZERS.execution && name !== FINALIZERS.legacyExecution,
        );
        return kept.length === finalizers.length ? undefined : { finalizers: kept };
      });
    },
    gone: onGone,
  };

  /** The history row survives the record. The lock stays where the run may still be going on: the sweep frees it. */
  async function closeHistory(execution: CachedExecution, cause: ReleaseCause): Promise<void> {
    const identity = identityOf(execution);
    const plan = await findPlan(deps, identity.namespace, execution.spec.planRef);
    if (plan === undefined) return;
    const keepLock = cause === 'late' || cause === 'forced';
    const isHolder = holds(plan.status?.currentExecution, identity);
    const row = plan.status?.executionHistory?.find((candidate) => candidate.uid === identity.uid);
    const end = endOf(execution) ?? { phase: 'Cancelled', completionTime: now() };
    // A row that has ended is final, also in a cache that is late.
    if (!isHolder && row !== undefined && isTerminalExecution(row.phase)) return;
    await deps.mutex.run(`DRPlan ${identity.namespace}/${plan.metadata.name}`, () =>
      writer.status(
        caches.plans,
        refOf(plan),
        ({ status }) => {
          if (status === undefined) return undefined;
          if (!keepLock) return endOnPlan(status, identity, end);
          const known = rowOf(status.executionHistory, identity.uid);
          if (known === undefined && !holds(status.currentExecution, identity)) return undefined;
          if (isTerminalExecution(known?.phase)) return undefined;
          return {
            ...status,
            executionHistory: recordRow(status.executionHistory, {
              name: identity.name,
              namespace: identity.namespace,
              uid: identity.uid,
              operationType: identity.operation,
              ...end,
            }),
          };
        },
        { confirm: true },
      ),
    );
  }
}

const STATE_WORDS: Record<RunDescription['state'], string> = {
  Running: 'ended',
  Completed: 'completed',
  Failed: 'failed',
  Cancelled: 'cancelled',
  Terminated: 'terminated',
  TimedOut: 'timed out',
};
