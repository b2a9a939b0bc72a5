import { accountUser } from '../../../api/plan/authority.js';
import { API_VERSION, ANNOTATIONS, FINALIZERS, LABELS } from '../../../api/core/group.js';
import { labelValue, runWorkflowId } from '../../../api/plan/naming.js';
import { readNesting } from '../../../api/plan/order/nesting.js';
import { isTerminalExecution } from '../../../api/core/phase.js';
import { errorsOf } from '../../../api/core/problem.js';
import type { DRPlan, DRPlanExecution } from '../../../api/plan/types.js';
import { validateExecutionSpec } from '../../../api/plan/validate/index.js';
import type { RunMemo, SignalResult } from '../../../client/runs/runs.js';
import type { RunIdentity } from '../../../workflows/plan/contract.js';
import type { Admission } from '../../core/kind.js';
import { accountOf } from './account.js';
import { judgeAdmissionStamp } from './admission-stamp.js';
import { holdTarget, letGo } from '../status/finalizer.js';
import {
  ABANDONED,
  checkAbandoned,
  checkAuthorizedAs,
  checkDeadline,
  checkNameReused,
  checkRequestedAt,
  checkRestored,
} from './gates.js';
import type { Refusal } from './gates.js';
import { isElsewhere } from '../../core/temporal-identity.js';
import { rowOf } from '../lock/history.js';
import { identityOf, nameOfTemporal, refOf } from './identity.js';
import { checkPlanPhase, planNotFound } from './plan-gate.js';
import { createPlanLock } from '../lock/plan-lock.js';
import { holds } from '../lock/plan-state.js';
import type { ExecutionIdentity } from '../lock/plan-state.js';
import { refusedStatus, waitingStatus } from '../status/projection.js';
import { resolveValues } from './resolve-values.js';
import type { ResolveContext } from './resolve-values.js';
import { prepareRun } from './prepared-run.js';
import { vouchedMemo } from './run-memo.js';
import { refusalOf, refuse, Refused, throwIf } from './refused.js';
import type { CachedExecution, DrDeps } from '../types.js';
import { areWorkflowsOutdated, checkInputSize, findWork, workOf } from './work.js';

/** Everything between a new execution and the start of its run. */
export interface ExecutionAdmission {
  admit(execution: CachedExecution): Promise<Admission>;
  /** Shows what keeps an execution from being started; leaves alone what belongs to another controller. */
  hold(execution: CachedExecution, reason: string, message: string): Promise<void>;
  /**
   * Ends an execution that never started. Does nothing to one that another replica has started or ended meanwhile: the
   * live object decides, not the one that was passed.
   */
  refuse(execution: DRPlanExecution, phase: 'Failed' | 'Cancelled', refusal: Refusal): Promise<void>;
}

/** Time between two checks whether the bridge is connected to the right Temporal again. */
const TEMPORAL_LOOK_MS = 15_000;
/** Time between two checks whether admission is ready. */
const ADMISSION_LOOK_MS = 1_000;
/** Reasons of executions that are not ours: their metadata is evidence and stays as it is. */
const FOREIGN: ReadonlySet<string> = new Set(['RestoredCopy', ABANDONED]);

/** Whether an execution was ended, cancelled or deleted since its admission began. */
const isUnwanted = (admitted: CachedExecution, latest: CachedExecution | undefined): boolean =>
  latest?.metadata.uid !== admitted.metadata.uid ||
  latest?.metadata.deletionTimestamp !== undefined ||
  isTerminalExecution(latest?.status?.phase) ||
  // An execution that was cancelled before its admission is admitted only if its run exists.
  (latest?.metadata.annotations?.[ANNOTATIONS.cancel] === 'true' &&
    admitted.metadata.annotations?.[ANNOTATIONS.cancel] !== 'true');

/** A Revert rolls back, whatever its spec says. */
function modeOf({ spec }: DRPlanExecution): Pick<RunIdentity, 'mode'> {
  if (spec.operationType === 'Revert') return { mode: 'Rollback' };
  return spec.mode === undefined ? {} : { mode: spec.mode };
}

/** Admits executions: gates, plan, validation, metadata, lock, snapshot; in this order (S5.2). */
export function createAdmission(deps: DrDeps): ExecutionAdmission {
  const { caches, settings } = deps;
  const plans = createPlanLock(deps);
  /** When a plan that is not observed was first waited for, by uid of the execution. */
  const waitingSince = new Map<string, number>();
  const now = (): string => new Date().toISOString();
  /** The creation time of an execution is by the API server's clock. */
  const serverNow = (): Date => new Date(deps.kube.now());

  async function admit(execution: CachedExecution): Promise<Admission> {
    const uid = execution.metadata.uid ?? '';
    try {
      const admission = await decide(execution);
      if (admission.kind !== 'wait') waitingSince.delete(uid);
      return admission;
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      waitingSince.delete(uid);
      await end(execution, 'Failed', error.refusal);
      return { kind: 'refused' };
    }
  }

  async function decide(execution: CachedExecution): Promise<Admission> {
    throwIf(checkAbandoned(execution));
    throwIf(checkRestored(execution));
    const problems = errorsOf(validateExecutionSpec(execution));
    if (problems.length > 0) throw new Refused(refusalOf(problems));
    const identity = identityOf(execution);
    const plan = await findPlan(execution);
    // Holding the lock means that an earlier attempt got at least this far, and maybe further.
    const isHolder = holds(plan.status?.currentExecution, identity);
    const resumed = isHolder ? await findRun(identity) : undefined;
    if (resumed === undefined) {
      const wait = isHolder ? await awaitTemporal(execution, plan) : undefined;
      if (wait !== undefined) return wait;
    }
    if (resumed === undefined) {
      throwIf(checkNameReused(execution, plan.status));
      throwIf(checkRequestedAt(execution, serverNow(), settings.gitOps));
      throwIf(checkDeadline(execution, serverNow()));
      const wait = (await awaitAdmission(execution)) ?? (await awaitPlan(execution, plan));
      if (wait !== undefined) return wait;
      throwIf(checkPlanPhase(execution, plan, identity));
    }
    const { snapshot: found, target } = await findWork(deps, execution, plan, resumed?.snapshot);
    const account = accountOf(
      { name: plan.metadata.name, spec: plan.spec },
      settings,
      target === undefined ? undefined : found.plan.spec,
    );
    if (resumed === undefined) {
      const { namespace = identity.namespace } = plan.metadata;
      throwIf(checkAuthorizedAs(execution, accountUser(namespace, account)));
    }
    const snapshot =
      resumed === undefined ? await resolveValues(found, lookingAs(execution, plan, account)) : found;
    const located = deps.snapshots.locate(snapshot);
    if (!located.ok) throw new Refused(located.refusal);
    const work = workOf(snapshot, target);
    throwIf(checkInputSize(work));

    const isFresh = resumed === undefined && target === undefined;
    const [stamped, outdated] = await Promise.all([
      stamp(execution),
      isFresh ? areWorkflowsOutdated(deps, snapshot) : false,
    ]);
    if (stamped === undefined) return { kind: 'refused' };
    if (outdated) return { kind: 'wait', ms: 0 };
    if (target !== undefined) throwIf(await holdTarget(deps, execution, target));
    const [locked] = await Promise.all([
      plans.take(
        execution,
        plan,
        work.target === undefined ? identity : { ...identity, target: work.target },
      ),
      located.write(),
    ]);
    // The plan was edited between the snapshot and the lock: the edited plan is the one to run.
    if (!locked) return { kind: 'wait', ms: 0 };
    if (resumed === undefined) {
      throwIf(checkDeadline(execution, serverNow()));
      if (isUnwanted(execution, caches.executions.get(execution.metadata.namespace, identity.name))) {
        await plans.giveBack(execution, identity);
        return { kind: 'wait', ms: 0 };
      }
    }

    // Without admission, the annotation may be anybody's claim.
    const requester =
      settings.answers.verified && deps.isAdmitted(identity.namespace)
        ? execution.metadata.annotations?.[ANNOTATIONS.requestedBy]
        : undefined;
    const nesting = readNesting(execution.metadata.annotations?.[ANNOTATIONS.nestedIn]);
    const run: RunIdentity = {
      cluster: deps.cluster,
      namespace: identity.namespace,
      name: identity.name,
      uid: identity.uid,
      plan: {
        name: plan.metadata.name,
        namespace: plan.metadata.namespace ?? identity.namespace,
        uid: plan.metadata.uid ?? '',
      },
      operation: identity.operation,
      ...modeOf(execution),
      runMode: execution.spec.runMode ?? 'Planned',
      ...(requester !== undefined && { requestedBy: requester }),
      ...(account !== undefined && { serviceAccountName: account }),
      ...(work.target !== undefined && { target: work.target }),
      ...(nesting !== undefined && { nesting }),
      snapshot: located.ref,
    };
    return {
      kind: 'start',
      prepared: prepareRun(deps, {
        execution,
        run,
        work,
        isLookedUp: snapshot.resolved !== undefined,
        sealKey: resumed === undefined ? deps.sealer.keyId() : resumed.sealKey,
      }),
    };
  }

  /** Values are looked up as the identity that acts, so that whoever may run the plan sees no more through it. */
  function lookingAs(execution: CachedExecution, plan: DRPlan, account: string | undefined): ResolveContext {
    const { namespace = 'default', name } = execution.metadata;
    const user = `system:serviceaccount:${plan.metadata.namespace ?? namespace}:${account ?? ''}`;
    return {
      kube: account === undefined ? deps.kube : deps.kube.as({ user }),
      identity: account === undefined ? 'the bridge itself' : user,
      namespace: plan.metadata.namespace ?? namespace,
      executionName: name,
    };
  }

  async function findPlan(execution: CachedExecution): Promise<DRPlan> {
    const { namespace } = execution.metadata;
    const name = execution.spec.planRef;
    const cached = caches.plans.get(namespace, name);
    if (cached !== undefined && cached.metadata.deletionTimestamp === undefined) return cached;
    // The watch of executions may be ahead of that of plans.
    const live = await deps.kube.get<DRPlan>({
      apiVersion: API_VERSION,
      kind: 'DRPlan',
      ...(namespace !== undefined && { namespace }),
      name,
    });
    if (live !== undefined) caches.plans.learn(live);
    if (live === undefined || live.metadata.deletionTimestamp !== undefined) {
      throw new Refused(planNotFound(namespace, name));
    }
    return live;
  }

  async function findRun(identity: ExecutionIdentity): Promise<RunMemo | undefined> {
    const found = await deps.runs.describe(runWorkflowId({ cluster: deps.cluster, ...identity }));
    return vouchedMemo(found, identity.uid, deps.sealer);
  }

  /**
   * A start that got as far as the lock while the bridge was connected to another Temporal may have begun there: a
   * second start is not allowed just because the run is not found here.
   */
  async function awaitTemporal(execution: CachedExecution, plan: DRPlan): Promise<Admission | undefined> {
    const locked = rowOf(plan.status?.executionHistory, execution.metadata.uid ?? '')?.temporal;
    const connected = await deps.runs.where();
    if (!isElsewhere(locked, connected)) return undefined;
    const message = `it may have been started in ${nameOfTemporal(locked)}, and the bridge is connected to ${nameOfTemporal(connected)}; connect it to that one, or delete this execution and create a new one`;
    await deps.writer.status(caches.executions, refOf(execution), ({ status, metadata }) =>
      waitingStatus(status, { reason: 'TemporalMismatch', message, generation: metadata.generation }, now()),
    );
    return { kind: 'wait', ms: TEMPORAL_LOOK_MS };
  }

  /**
   * Where webhooks review executions, what they have not let in does not start, and nothing starts before they are
   * ready.
   */
  async function awaitAdmission(execution: CachedExecution): Promise<Admission | undefined> {
    const { namespace = '', annotations } = execution.metadata;
    const isAsked = settings.answers.verified && deps.isAdmitted(namespace);
    const missing = isAsked ? deps.admissionMissing() : undefined;
    if (missing !== undefined) {
      return holdFor(
        ADMISSION_LOOK_MS,
        execution,
        'AdmissionNotReady',
        `nothing starts before admission is there: ${missing}`,
      );
    }
    if (!isAsked && annotations?.[ANNOTATIONS.admission] === undefined) return undefined;
    const found = await judgeAdmissionStamp(deps.sealer, execution);
    switch (found.kind) {
      case 'admitted':
        return undefined;
      case 'unknownKey':
        return holdFor(
          ADMISSION_LOOK_MS,
          execution,
          'NotSealed',
          `its stamp of admission was made under key "${found.keyId}", which the ring of seals lacks; check Secret drover-seal`,
        );
      case 'copy':
        throw new Refused(found.refusal);
      case 'refused':
        if (isAsked) throw new Refused(found.refusal);
        return undefined;
    }
  }

  async function holdFor(
    ms: number,
    execution: CachedExecution,
    reason: string,
    message: string,
  ): Promise<Admission> {
    return (await hold(execution, reason, message)) ? { kind: 'wait', ms } : { kind: 'refused' };
  }

  /** A plan that was not checked in its present form is waited for: its check is a moment away. */
  async function awaitPlan(execution: CachedExecution, plan: DRPlan): Promise<Admission | undefined> {
    const { phase, observedGeneration } = plan.status ?? {};
    const isObserved = phase !== undefined && phase !== '' && observedGeneration === plan.metadata.generation;
    if (isObserved) return undefined;
    const uid = execution.metadata.uid ?? '';
    const since = waitingSince.get(uid) ?? Date.now();
    waitingSince.set(uid, since);
    const left = since + settings.planWaitMs - Date.now();
    const message = `waiting until plan "${plan.metadata.name}" (generation ${plan.metadata.generation}) is checked`;
    if (left <= 0) {
      return refuse(
        'PlanNotObserved',
        `gave up ${message} after ${settings.planWaitMs / 1000}s; see the plan's status and the bridge's log`,
      );
    }
    // The usual wait is over in a moment and not worth two writes.
    const visibleAfterMs = 1000;
    if (left > settings.planWaitMs - visibleAfterMs) return { kind: 'wait', ms: visibleAfterMs };
    return holdFor(left, execution, 'PlanNotObserved', message);
  }

  /** @returns whether the execution exists and is ours */
  async function hold(execution: CachedExecution, reason: string, message: string): Promise<boolean> {
    if ((checkAbandoned(execution) ?? checkRestored(execution)) !== undefined) return false;
    // A phase without our stamp would make it another controller's.
    if ((await stamp(execution)) === undefined) return false;
    await deps.writer.status(caches.executions, refOf(execution), ({ status, metadata }) =>
      status?.temporal !== undefined || isTerminalExecution(status?.phase)
        ? undefined
        : waitingStatus(status, { reason, message, generation: metadata.generation }, now()),
    );
    return true;
  }

  /**
   * Finalizer, label and a stamp: from here on the execution is marked as ours. Admission has written them on what it
   * has let in, except for the uid, which is not known then; without admission they are written here.
   */
  async function stamp(execution: CachedExecution): Promise<CachedExecution | undefined> {
    const result = await deps.writer.metadata(caches.executions, refOf(execution), ({ metadata }) => {
      if (metadata.deletionTimestamp !== undefined) return undefined;
      const finalizers = (metadata.finalizers ?? []).filter((name) => name !== FINALIZERS.legacyExecution);
      const isAdmitted = metadata.annotations?.[ANNOTATIONS.admission] !== undefined;
      return {
        labels: { ...metadata.labels, [LABELS.plan]: labelValue(execution.spec.planRef) },
        annotations: {
          ...metadata.annotations,
          ...(!isAdmitted && { [ANNOTATIONS.stamp]: metadata.uid ?? '' }),
        },
        finalizers: finalizers.includes(FINALIZERS.execution)
          ? finalizers
          : [...finalizers, FINALIZERS.execution],
      };
    });
    if (result.kind === 'gone' || result.object.metadata.deletionTimestamp !== undefined) return undefined;
    return result.object;
  }

  async function end(
    execution: DRPlanExecution,
    phase: 'Failed' | 'Cancelled',
    refusal: Refusal,
  ): Promise<void> {
    const at = now();
    const identity = identityOf(execution);
    const workflowId = runWorkflowId({ cluster: deps.cluster, ...identity });
    const isDecided = ({ status }: DRPlanExecution): boolean =>
      isTerminalExecution(status?.phase) || status?.temporal?.workflowId === workflowId;
    const live = await deps.kube.get<CachedExecution>({
      apiVersion: API_VERSION,
      kind: 'DRPlanExecution',
      namespace: identity.namespace,
      name: identity.name,
    });
    if (live === undefined || live.metadata.uid !== identity.uid) return;
    caches.executions.learn(live);
    // Another replica was faster, and the refusal is out of date.
    if (isDecided(live)) return;
    const cancelRun = (): Promise<SignalResult> =>
      deps.runs.signalCancel(workflowId, { reason: refusal.message });
    // An earlier attempt may have got as far as the start: a run of an execution that ends now must not go on.
    const { annotations } = live.metadata;
    const isStamped =
      annotations?.[ANNOTATIONS.stamp] === identity.uid || annotations?.[ANNOTATIONS.admission] !== undefined;
    const sent = isStamped && !FOREIGN.has(refusal.reason) ? await cancelRun() : 'notRunning';
    // The run did start; it will write its own terminal status.
    if (sent === 'accepted' && phase === 'Cancelled') return;
    // The plan first: an execution that has ended holds nothing.
    if (refusal.reason === ABANDONED) await plans.abandon(execution, identity, { phase, completionTime: at });
    else await plans.giveBack(execution, identity);
    const result = await deps.writer.status(caches.executions, refOf(execution), (current) =>
      isDecided(current)
        ? undefined
        : refusedStatus(current.status, { ...refusal, phase, generation: current.metadata.generation }, at),
    );
    // The start was recorded in the meantime: the plan was given back, so the run must not act without it.
    if (result.kind === 'unchanged' && !isTerminalExecution(result.object.status?.phase)) await cancelRun();
    if (result.kind !== 'written') return;
    await letGo(deps, result.object, { isForeign: FOREIGN.has(refusal.reason) });
    deps.log.info({ execution: refOf(execution), phase, ...refusal }, 'execution ended without a run');
    deps.events.record(execution, {
      type: phase === 'Failed' ? 'Warning' : 'Normal',
      reason: `${identity.operation === 'Revert' ? 'Revert' : 'Execution'}${phase}`,
      action: 'Start',
      message: `${refusal.reason}: ${refusal.message}`,
    });
  }

  return {
    admit,
    refuse: end,
    hold: async (execution, reason, message) => {
      await hold(execution, reason, message);
    },
  };
}
