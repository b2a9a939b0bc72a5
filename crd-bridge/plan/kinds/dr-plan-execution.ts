import type { ApprovalAnswer } from '../../../api/plan/actions/approval.js';
import { ANNOTATIONS, API_VERSION, FINALIZERS, LABELS } from '../../../api/core/group.js';
import { runWorkflowId } from '../../../api/plan/naming.js';
import { isTerminalExecution, isTerminalItem } from '../../../api/core/phase.js';
import type { DRPlan, DRPlanExecution, DRPlanExecutionStatus } from '../../../api/plan/types.js';
import { reportOf } from '../../../api/plan/undo/undo.js';
import type { RunDescription } from '../../../client/runs/runs.js';
import type { FinishUpdate, RunProgress } from '../../../workflows/plan/contract.js';
import { findCondition, setCondition } from '../../core/conditions.js';
import type { ReleaseCause, RunKind, RunView } from '../../core/kind.js';
import { isElsewhere } from '../../core/temporal-identity.js';
import type { ExecutionAdmission } from '../start/admission.js';
import { answersOf } from '../status/answers.js';
import { findPlan } from '../start/find-plan.js';
import { nameOfTemporal, identityOf, refOf } from '../start/identity.js';
import { endOf } from '../lock/lock-holder.js';
import { letGo } from '../status/finalizer.js';
import { checkAbandoned, checkRestored } from '../start/gates.js';
import { recordRow, rowOf } from '../lock/history.js';
import { endOnPlan, holds } from '../lock/plan-state.js';
import { openRevertsOf } from '../start/revert-target.js';
import { applyFinish, newFailures } from '../status/projection.js';
import { applyRevertToTarget } from '../status/revert-end.js';
import { unconfirmedPlaces } from '../status/stop-unconfirmed.js';
import type { CachedExecution, DrDeps } from '../types.js';
import { followReset } from '../status/reset.js';
import { ENDS_WITH_LOOK, lookAtRun } from '../status/standstill.js';
import { smallestStatus } from '../status/size-guard.js';
import { inspectStageRuns } from '../status/stage-runs.js';
import type { StageRuns } from '../status/stage-runs.js';
import { sealedAnswer } from '../../../workflows/plan/sealed.js';

/** Time between two progress queries to a run that was reset, until a worker answers. */
const RESET_LOOK_MS = 5_000;
/** A running worker answers within this time. */
const ANSWER_MS = 3_000;
/** Values of an annotation that switches something on or off. */
const MEANT_VALUES: ReadonlySet<string> = new Set(['true', 'false', '']);
/** How long stages of a run that was ended from outside may take to settle what they have begun. */
const STAGES_WAIT_MS = 120_000;
const STAGES_POLL_MS = 2_000;

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

  /** Answers to approvals. Records a warning about an answer that does not count because nobody vouches for it. */
  function answers(execution: CachedExecution): ApprovalAnswer[] {
    const trust = deps.settings.answers;
    const isAdmitted = deps.isAdmitted(execution.metadata.namespace ?? '');
    const found = answersOf(execution, { ...trust, verified: trust.verified && isAdmitted });
    if (found.unverified && !isTerminalExecution(execution.status?.phase)) {
      deps.events.record(execution, {
        type: 'Warning',
        reason: 'ApprovalNotVerified',
        action: 'Approve',
        message: `an answer to an approval does not count, as nobody knows who gave it: ${
          trust.verified
            ? `namespace "${execution.metadata.namespace ?? ''}" is labelled ${LABELS.admission}=disabled; remove that label and answer again`
            : 'run the bridge with its admission webhook and answer again'
        }, or run the bridge with --unverified-approvals`,
      });
    }
    const { uid = '' } = execution.metadata;
    return found.answers.map((answer) => ({
      ...answer,
      seal: deps.sealer.seal('answer', sealedAnswer(uid, answer)),
    }));
  }

  /** A person who writes `yes` believes that the run is being cancelled. */
  function warnOfCancel({ metadata, status, ...execution }: CachedExecution): void {
    const value = metadata.annotations?.[ANNOTATIONS.cancel];
    if (value === undefined || MEANT_VALUES.has(value) || isTerminalExecution(status?.phase)) return;
    deps.events.record(
      { ...execution, metadata },
      {
        type: 'Warning',
        reason: 'CancelIgnored',
        action: 'Cancel',
        message: `annotation ${ANNOTATIONS.cancel} is ${JSON.stringify(value.slice(0, 40))}, which means nothing: nothing was cancelled; set it to "true" to cancel`,
        key: value.slice(0, 40),
      },
    );
  }

  /** A revert restores from what belongs to its target, and that would be deleted with the target. */
  function neededBy(execution: CachedExecution): Pick<RunView, 'needed'> {
    const { metadata, status } = execution;
    if (metadata.deletionTimestamp === undefined || !isTerminalExecution(status?.phase)) return {};
    const [revert] = openRevertsOf(execution, caches.executions.list());
    if (revert === undefined) return {};
    const { name } = revert.metadata;
    return {
      needed: {
        reason: 'BeingReverted',
        message: `execution "${name}" reverts it and needs what it has kept; it goes when that one has ended`,
      },
    };
  }

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

  /** Ends an execution whose run can no longer do it: the plan first, as everywhere. */
  async function conclude(execution: CachedExecution, end: FinishUpdate): Promise<void> {
    const identity = identityOf(execution);
    const plan = await findPlan(deps, identity.namespace, execution.spec.planRef);
    if (plan !== undefined) {
      await deps.mutex.run(`DRPlan ${identity.namespace}/${plan.metadata.name}`, () =>
        writer.status(caches.plans, refOf(plan), ({ status }) => endOnPlan(status, identity, end), {
          confirm: true,
        }),
      );
    }
    const update = identity.operation === 'Revert' ? { ...end, ...(await tellTarget(execution, end)) } : end;
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
    deps.log.warn({ execution: refOf(execution), phase, reason, message }, 'run ended without its last word');
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

  /** Writes the result of a revert into the status of its target, so that the next revert skips what is undone. */
  async function tellTarget(
    revert: CachedExecution,
    end: FinishUpdate,
  ): Promise<Pick<FinishUpdate, 'undone' | 'unreverted'>> {
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
      Date.parse(target?.metadata.creationTimestamp ?? '') <=
      Date.parse(live.metadata.creationTimestamp ?? '');
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

  const isAnswered = async (workflowId: string): Promise<boolean> =>
    (await runs.progress(workflowId, { timeoutMs: ANSWER_MS })) !== undefined;

  /** The stages of a run that has closed. A run that has completed by itself has waited for them. */
  async function stagesOf(execution: CachedExecution, run: RunDescription): Promise<StageRuns> {
    if (run.state === 'Completed') return { open: [], stages: [], undone: [] };
    const stages = execution.status?.stageStatuses ?? [];
    return inspectStageRuns(runs, run.workflowId, { operation: identityOf(execution).operation, stages });
  }

  /** The final update, made in place of the run. */
  function lastUpdate(
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
        cluster: deps.cluster,
        namespace,
        name,
        uid,
        plan: { name: spec.planRef, namespace, uid: '' },
        operation,
        runMode: spec.runMode ?? 'Planned',
        snapshot,
      },
      sequence: Number.MAX_SAFE_INTEGER,
      startTime: status?.startTime ?? run?.startTime.toISOString() ?? now(),
      completionTime: (run?.closeTime ?? new Date()).toISOString(),
      stages: [],
    };
  }

  /** The final update of a run that has closed by itself or was closed. */
  async function lastWords(
    execution: CachedExecution,
    run: RunDescription,
    own: StageRuns,
  ): Promise<FinishUpdate> {
    // A closed run still answers, as long as a worker can replay its history.
    const progress: RunProgress | undefined = await runs.progress(run.workflowId);
    const base = {
      ...lastUpdate(execution, run),
      stages: [
        ...own.stages,
        ...(progress?.stages ?? []).flatMap((stage, index) =>
          isTerminalItem(stage.phase) ? [{ index, status: stage }] : [],
        ),
      ],
      ...(own.undone.length > 0 && { undone: own.undone }),
      ...(progress?.cancelRequest !== undefined && { cancelRequest: progress.cancelRequest }),
    };
    if (run.state === 'Completed') {
      const { phase, reason, message } = await runs.result(run.workflowId, run.runId);
      return { ...base, phase, reason, message };
    }
    const message = `Temporal workflow "${run.workflowId}" was ${STATE_WORDS[run.state]} from outside${own.open.length > 0 ? `, and stages of it still act: ${own.open.join(', ')}` : ''}; check what the interrupted actions have done, then revert this execution or create a new one`;
    return run.state === 'Cancelled'
      ? { ...base, phase: 'Cancelled', reason: 'Cancelled', message: 'the run was cancelled' }
      : { ...base, phase: 'Failed', reason: 'RunTerminated', message };
  }

  return {
    workflowId,
    view(execution) {
      const { metadata, status } = execution;
      const annotations = metadata.annotations ?? {};
      // Without admission, the annotation may be anybody's claim.
      const canceller =
        deps.settings.answers.verified && deps.isAdmitted(metadata.namespace ?? '')
          ? annotations[ANNOTATIONS.cancelRequestedBy]
          : undefined;
      warnOfCancel(execution);
      // The id contains the uid, so it identifies a run of this very object even where somebody has removed the stamp.
      const ours = status?.temporal?.workflowId === workflowId(execution);
      const plan = caches.plans.get(metadata.namespace, execution.spec.planRef);
      return {
        ended: isTerminalExecution(status?.phase),
        ...(ours && status?.temporal !== undefined && { run: status.temporal }),
        ...(annotations[ANNOTATIONS.cancel] === 'true' && {
          cancel: {
            via: 'Annotation' as const,
            ...(canceller !== undefined && { requestedBy: canceller }),
          },
        }),
        goesOn:
          holds(plan?.status?.currentExecution, identityOf(execution)) ||
          annotations[ANNOTATIONS.nestedIn] !== undefined,
        spoken:
          status?.sequence !== undefined ||
          (status?.stageStatuses?.some(({ sequence }) => sequence !== undefined) ?? false),
        answers: answers(execution),
        cancelKnown: status?.cancelRequest !== undefined,
        deleting: metadata.deletionTimestamp !== undefined,
        held: metadata.finalizers?.includes(FINALIZERS.execution) ?? false,
        inherited: metadata.finalizers?.includes(FINALIZERS.legacyExecution) ?? false,
        ...neededBy(execution),
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
      // It is not known how far another controller came, so nobody can say that nothing was done.
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
        const progress = await runs.progress(run.workflowId);
        // Without a worker nobody knows how far back it was set.
        if (progress === undefined) return RESET_LOOK_MS;
        await writer.status(caches.executions, refOf(execution), ({ status: known }) =>
          known?.temporal === undefined || isTerminalExecution(known.phase)
            ? undefined
            : followReset(known, run.runId, progress),
        );
        deps.log.warn(
          { execution: refOf(execution), runId: run.runId },
          'run was reset; following the new one',
        );
      }
      const look = await lookAtRun(run, () => isAnswered(run.workflowId), Date.now());
      switch (look.kind) {
        case 'stands': {
          const { reason, message } = look.standstill;
          if (progressing?.reason !== reason || progressing.message !== message)
            await setProgressing(execution, 'False', reason, message);
          return undefined;
        }
        case 'moves':
          if (ENDS_WITH_LOOK.has(progressing?.reason ?? ''))
            await setProgressing(execution, 'True', 'Running', 'the run goes on');
          return look.againMs;
      }
    },
    async closed(execution, run) {
      const stages = await stagesOf(execution, run);
      const wait = (run.closeTime?.getTime() ?? 0) + STAGES_WAIT_MS - Date.now();
      if (stages.open.length > 0 && wait > 0) {
        await setProgressing(
          execution,
          'False',
          'Settling',
          `the run was ${STATE_WORDS[run.state]} from outside; waiting for stages that still act: ${stages.open.join(', ')}`,
        );
        return Math.min(wait, STAGES_POLL_MS);
      }
      await conclude(execution, await lastWords(execution, run, stages));
      return undefined;
    },
    async lost(execution) {
      await conclude(execution, {
        ...lastUpdate(execution),
        phase: 'Failed',
        reason: 'RunLost',
        message: `Temporal knows no workflow "${execution.status?.temporal?.workflowId ?? workflowId(execution)}" any more, though it was started; check what its actions have done, then revert this execution or create a new one`,
      });
    },
    async mismatch(execution, connected) {
      const recorded = execution.status?.temporal;
      await setProgressing(
        execution,
        'False',
        'TemporalMismatch',
        `the run "${recorded?.workflowId ?? ''}" is in ${nameOfTemporal(recorded)}, and the bridge is connected to ${nameOfTemporal(connected)}; connect it to the recorded one`,
      );
    },
    async held(execution, reason, message) {
      if (execution.status?.temporal === undefined) await admission.hold(execution, reason, message);
      else await setProgressing(execution, 'False', reason, message);
    },
    async blocked(execution, reason, message) {
      const told = `${message}; to delete the record nevertheless, set annotation ${ANNOTATIONS.forceDelete}: "true"`;
      await setProgressing(execution, 'False', reason, told);
      if (!isTerminalExecution(execution.status?.phase)) return;
      deps.events.record(execution, {
        type: 'Warning',
        reason: 'DeletionHeld',
        action: 'Delete',
        message: `${reason}: ${told}`,
        key: told,
      });
    },
    async beforeRelease(execution, cause) {
      await closeHistory(execution, cause);
    },
    disown: (execution) => dropFinalizers(execution, [FINALIZERS.legacyExecution]),
    release: (execution) => dropFinalizers(execution, [FINALIZERS.execution, FINALIZERS.legacyExecution]),
    gone: onGone,
  };

  async function dropFinalizers(execution: CachedExecution, names: readonly string[]): Promise<void> {
    await writer.metadata(caches.executions, refOf(execution), ({ metadata }) => {
      const finalizers = metadata.finalizers ?? [];
      const kept = finalizers.filter((name) => !names.includes(name));
      return kept.length === finalizers.length ? undefined : { finalizers: kept };
    });
  }

  /** The history row survives the record. The lock stays where the run may still be going on: the sweep frees it. */
  async function closeHistory(execution: CachedExecution, cause: ReleaseCause): Promise<void> {
    const identity = identityOf(execution);
    const plan = await findPlan(deps, identity.namespace, execution.spec.planRef);
    if (plan === undefined) return;
    const isHolder = holds(plan.status?.currentExecution, identity);
    const row = rowOf(plan.status?.executionHistory, identity.uid);
    const mayRun =
      cause === 'late' ||
      cause === 'forced' ||
      (cause === 'neverStarted' && isElsewhere(row?.temporal, await runs.where()));
    const end = endOf(execution) ?? { phase: 'Cancelled', completionTime: now() };
    // A row that has ended is final, even in a cache that is behind.
    if (!isHolder && row !== undefined && isTerminalExecution(row.phase)) return;
    await deps.mutex.run(`DRPlan ${identity.namespace}/${plan.metadata.name}`, () =>
      writer.status(
        caches.plans,
        refOf(plan),
        ({ status }) => {
          if (status === undefined) return undefined;
          if (!mayRun) return endOnPlan(status, identity, end);
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
