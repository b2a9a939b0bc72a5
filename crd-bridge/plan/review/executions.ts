/** Reviews of executions: the checks before a start that can be made when one is created. */
import type { Refusal } from '../../../api/core/refusal.js';
import { hasEffects } from '../../../api/plan/undo/effects.js';
import { setTimeout as sleep } from 'node:timers/promises';
import { ANNOTATIONS, API_VERSION } from '../../../api/core/group.js';
import { accountUser } from '../../../api/plan/authority.js';
import { compileRun } from '../../../api/plan/snapshot/compile.js';
import { modeWarnings } from '../../../api/plan/order/mode-warnings.js';
import { errorsOf } from '../../../api/core/problem.js';
import type { Problem } from '../../../api/core/problem.js';
import { takeSnapshot } from '../../../api/plan/snapshot/snapshot.js';
import type { DRPlan, DRPlanExecution } from '../../../api/plan/types.js';
import { validateNewExecutionSpec } from '../../../api/plan/validate/index.js';
import { judgeAdmissionStamp } from '../start/admission-stamp.js';
import { identityOf } from '../start/identity.js';
import { checkFits } from '../start/fits.js';
import { checkNameReused, checkRequestedAt, checkRestored } from '../start/checks.js';
import { fieldsOfHolder } from '../log-fields.js';
import { inspectHolder } from '../lock/lock-holder.js';
import { checkPlanPhase, nothingToUndo, planBusy, planInvalid, planNotFound } from '../start/plan-checks.js';
import { holds } from '../lock/plan-state.js';
import { checkNewest, checkStays, checkTarget } from '../start/revert-target.js';
import type { CachedExecution, DrDeps } from '../types.js';
import type { PlanKind } from '../kinds/dr-plan.js';
import { actingOf } from './acting.js';
import { subjectOf, withAuthority } from './authority.js';
import type { Authority } from './authority.js';
import type { Lookups } from './lookups.js';
import { nestedWarnings } from './nested-authority.js';
import { overrideWarnings } from './override-warnings.js';
import { allowed, refusedBy, responseTo, warningsOf } from '../../core/review.js';
import type { ReviewedObject, ReviewRequest, ReviewResponse } from '../../core/review.js';

/** What the reviews need. */
export interface ExecutionDeps {
  dr: Pick<
    DrDeps,
    'kube' | 'caches' | 'runs' | 'cluster' | 'temporal' | 'snapshots' | 'settings' | 'log' | 'sealer'
  >;
  authority: Authority;
  plans: PlanKind;
  lookups: Lookups;
}

/** How long to wait until a plan that was just applied is checked. */
const PLAN_WAIT_MS = 2000;
const PLAN_LOOK_MS = 50;

/**
 * Reviews an execution. What the bridge records as a failed execution on purpose, a restored copy or a name used again,
 * is let in with a warning: it never starts, and its record shows people why.
 */
export async function reviewExecution(
  deps: ExecutionDeps,
  request: ReviewRequest,
  object: ReviewedObject,
): Promise<ReviewResponse> {
  if (request.operation === 'UPDATE') return reviewChange(request, object);
  const execution = object as unknown as DRPlanExecution;
  const restored = checkRestored(execution);
  if (restored !== undefined) return allowed([restored.message]);
  const checked = responseTo(validateNewExecutionSpec(execution));
  if (!checked.allowed) return checked;
  const changed = await checkStamp(deps, request, execution);
  if (changed !== undefined) return refusedBy(changed, checked.warnings);
  const late = checkRequestedAt(execution, new Date(deps.dr.kube.now()), deps.dr.settings.gitOps);
  if (late !== undefined) {
    // A request time in the past is that of a record; it is let in as one that never starts.
    const isRecord = execution.spec.requestedAt !== undefined && late.reason === 'RequestTooOld';
    return isRecord ? allowed([late.message, ...checked.warnings]) : refusedBy(late, checked.warnings);
  }

  const { namespace, name: planName } = { namespace: request.namespace, name: execution.spec.planRef };
  const known = await deps.lookups.plan(namespace, planName);
  if (known === undefined) return refusedBy(planNotFound(namespace, planName), checked.warnings);
  // This comes before anything that reveals something about the plan.
  const unauthorized = await checkAuthority(deps, request, execution, known);
  if (unauthorized !== undefined && deps.authority.mode === 'Enforce') return refusedBy(unauthorized);
  const response = await reviewStart(deps, execution, known, checked);
  if (response.allowed && deps.authority.mode === 'Enforce' && execution.spec.operationType === 'Execute') {
    response.warnings.unshift(...(await nestedWarnings(deps, subjectOf(request), execution, known)));
  }
  if (response.allowed && unauthorized === undefined && execution.spec.operationType === 'Execute') {
    response.warnings.push(...warningsOf(await overrideWarnings(deps.dr, known, execution)));
  }
  return withAuthority(deps.authority.mode, unauthorized, response);
}

/** Another webhook may have changed what the stamp was written for; the start would never accept that. */
async function checkStamp(
  { dr }: ExecutionDeps,
  { namespace }: ReviewRequest,
  execution: DRPlanExecution,
): Promise<Refusal | undefined> {
  const { metadata, spec } = execution;
  if (metadata.annotations?.[ANNOTATIONS.admission] === undefined) return undefined;
  const stored = { ...metadata, namespace, creationTimestamp: new Date().toISOString() };
  const found = await judgeAdmissionStamp(dr.sealer, { metadata: stored, spec });
  return found.kind === 'refused' ? found.refusal : undefined;
}

/** What the bridge itself will decide at the start. */
async function reviewStart(
  deps: ExecutionDeps,
  execution: DRPlanExecution,
  known: DRPlan,
  checked: ReviewResponse,
): Promise<ReviewResponse> {
  const { warnings } = checked;
  const { namespace = '', name: planName } = known.metadata;
  const reused = checkNameReused(execution, known.status);
  if (reused !== undefined) return allowed([reused.message, ...warnings]);

  const plan = await awaitStatus(deps, known);
  if (plan === undefined) return refusedBy(planNotFound(namespace, planName), warnings);
  const refusal = checkPlan(deps, execution, plan) ?? (await checkBusy(deps, execution, plan));
  if (refusal !== undefined) return refusedBy(refusal, warnings);
  if (execution.spec.operationType === 'Revert') {
    const target = await checkRevert(deps, execution, plan);
    return target === undefined ? checked : refusedBy(target, warnings);
  }
  const response = checkRun(deps, execution, plan);
  return { ...response, warnings: [...response.warnings, ...warnings] };
}

/** Whether the requester may run this plan, and may have it act as its account. */
async function checkAuthority(
  { dr, authority }: ExecutionDeps,
  request: ReviewRequest,
  execution: DRPlanExecution,
  plan: DRPlan,
): Promise<Refusal | undefined> {
  if (authority.mode === 'Off') return undefined;
  const acting = await actingOf(dr, execution, plan);
  if (acting === undefined) return undefined;
  const { name, namespace = request.namespace } = plan.metadata;
  const subject = subjectOf(request);
  const refusal = await authority.onPlan(subject, acting.verbs, { namespace, name });
  if (refusal !== undefined) return refusal;
  const recorded = execution.metadata.annotations?.[ANNOTATIONS.authorizedAs];
  if (recorded !== undefined && recorded !== accountUser(namespace, acting.account)) {
    return {
      reason: 'AccountChanged',
      message: `plan "${namespace}/${name}" changed whom it acts as while this was reviewed; look at the plan and try again`,
    };
  }
  if (acting.account === undefined) return undefined;
  return authority.useAccount(subject, { namespace, name: acting.account }, name);
}

/** The definition has the same rule; this one is for clusters with an older definition. */
function reviewChange({ oldObject }: ReviewRequest, object: ReviewedObject): ReviewResponse {
  if (oldObject?.metadata.generation === object.metadata.generation) return allowed();
  const problem: Problem = {
    severity: 'error',
    path: 'spec',
    reason: 'Immutable',
    message: 'spec of an execution cannot be changed; create a new execution',
  };
  return responseTo([problem]);
}

const isObserved = ({ status, metadata }: DRPlan): boolean =>
  (status?.phase ?? '') !== '' && status?.observedGeneration === metadata.generation;

/** Gives the plan a moment when its status may be about to change, and reads it anew when it would be refused. */
async function awaitStatus(deps: ExecutionDeps, first: DRPlan): Promise<DRPlan | undefined> {
  const { name, namespace = '' } = first.metadata;
  const until = Date.now() + PLAN_WAIT_MS;
  let plan: DRPlan | undefined = first;
  const isPending = (now: DRPlan): boolean =>
    !isObserved(now) || (now.status?.phase === 'Invalid' && errorsOf(deps.plans.problems(now)).length === 0);
  while (plan !== undefined && isPending(plan) && Date.now() < until) {
    await sleep(PLAN_LOOK_MS);
    plan = deps.dr.caches.plans.get(namespace, name) ?? plan;
  }
  const { phase, currentExecution } = plan?.status ?? {};
  return phase === 'Ready' && currentExecution === undefined ? plan : deps.lookups.livePlan(namespace, name);
}

function checkPlan(deps: ExecutionDeps, execution: DRPlanExecution, plan: DRPlan): Refusal | undefined {
  if (isObserved(plan)) return checkPlanPhase(execution, plan, identityOf(execution));
  if (execution.spec.operationType === 'Revert') return undefined;
  const [error] = errorsOf(deps.plans.problems(plan));
  return error && planInvalid(plan.metadata.name, error.reason, `${error.path}: ${error.message}`);
}

async function checkBusy(
  deps: ExecutionDeps,
  execution: DRPlanExecution,
  plan: DRPlan,
): Promise<Refusal | undefined> {
  const holder = plan.status?.currentExecution;
  if (holder === undefined || holds(holder, identityOf(execution))) return undefined;
  try {
    const state = await inspectHolder(deps.dr, plan, holder);
    return state.kind === 'live' ? planBusy(plan.metadata.name, state.why) : undefined;
  } catch (error) {
    // The state of the holder cannot be found out now; the start itself asks again.
    deps.dr.log.warn(
      { ...fieldsOfHolder(plan, holder), err: error },
      'could not find out about the holder of a plan',
    );
    return undefined;
  }
}

async function checkRevert(
  deps: ExecutionDeps,
  revert: DRPlanExecution,
  plan: DRPlan,
): Promise<Refusal | undefined> {
  const { namespace } = revert.metadata;
  const target = await deps.dr.kube.get<CachedExecution>({
    apiVersion: API_VERSION,
    kind: 'DRPlanExecution',
    ...(namespace !== undefined && { namespace }),
    name: revert.spec.revertExecutionRef ?? '',
  });
  const refusal = checkTarget(revert, target);
  if (refusal !== undefined || target === undefined) return refusal;
  const going = checkStays(target);
  if (going !== undefined) return going;
  const newer = checkNewest(revert, target, deps.dr.caches.executions.list(), plan.status?.executionHistory);
  if (newer !== undefined) return newer;
  const { phase, stageStatuses, undone } = target.status ?? {};
  return phase === 'Succeeded' || hasEffects(stageStatuses, undone)
    ? undefined
    : nothingToUndo(target.metadata.name, phase);
}

/** Compiles the run as its start will, so that missing or wrong parameters are reported now. */
function checkRun({ dr }: ExecutionDeps, execution: DRPlanExecution, plan: DRPlan): ReviewResponse {
  const { snapshot, missing } = takeSnapshot({
    plan,
    execution,
    lookup: (namespace, name) => dr.caches.workflows.get(namespace, name),
  });
  if (missing.length > 0) return allowed();
  const compiled = compileRun({ snapshot });
  if (!compiled.ok) return responseTo(compiled.problems);
  const tooLarge = checkFits(snapshot);
  if (tooLarge !== undefined) return refusedBy(tooLarge);
  const located = dr.snapshots.locate(snapshot);
  return located.ok ? responseTo(modeWarnings(snapshot)) : refusedBy(located.refusal);
}
