import { cancelAsked } from '../../../api/core/cancel.js';
import { API_VERSION } from '../../../api/core/group.js';
import { isTerminalExecution } from '../../../api/core/phase.js';
import { errorsOf } from '../../../api/core/problem.js';
import type { Refusal } from '../../../api/core/refusal.js';
import { accountUser } from '../../../api/plan/authority.js';
import { runWorkflowId } from '../../../api/plan/naming.js';
import type { Snapshot } from '../../../api/plan/snapshot/snapshot.js';
import type { DRPlan, DRPlanExecution } from '../../../api/plan/types.js';
import { validateExecutionSpec } from '../../../api/plan/validate/index.js';
import type { RunMemo } from '../../../client/runs/runs.js';
import type { StartDecision } from '../../core/kind.js';
import { createPlanLock } from '../lock/plan-lock.js';
import type { PlanLock } from '../lock/plan-lock.js';
import { holds } from '../lock/plan-state.js';
import type { ExecutionIdentity } from '../lock/plan-state.js';
import { holdTarget } from '../status/finalizer.js';
import type { CachedExecution, DrDeps } from '../types.js';
import { accountOf } from './account.js';
import { endUnstarted } from './end-unstarted.js';
import {
  checkAbandoned,
  checkAuthorizedAs,
  checkDeadline,
  checkNameReused,
  checkRequestedAt,
  checkRestored,
} from './checks.js';
import { hold, stamp } from './hold.js';
import { identityOf } from './identity.js';
import { checkPlanPhase, planNotFound } from './plan-checks.js';
import { prepareRun } from './prepared-run.js';
import { Refused, refusalOf, throwIf } from './refused.js';
import { resolveValues } from './resolve-values.js';
import type { ResolveContext } from './resolve-values.js';
import { runIdentity } from './run-identity.js';
import { vouchedMemo } from './run-memo.js';
import { awaitAdmission, awaitTemporal, createPlanWait } from './waits.js';
import type { PlanWait } from './waits.js';
import { areWorkflowsOutdated, checkInputSize, findWork, workOf } from './work.js';

/** Everything between a new execution and the start of its run. */
export interface ExecutionStarts {
  prepare(execution: CachedExecution): Promise<StartDecision>;
  /** Shows what keeps an execution from being started; leaves alone what belongs to another controller. */
  hold(execution: CachedExecution, reason: string, message: string): Promise<void>;
  /**
   * Ends an execution that never started. Does nothing to one that another replica has started or ended meanwhile: the
   * live object decides, not the one that was passed.
   */
  refuse(execution: DRPlanExecution, phase: 'Failed' | 'Cancelled', refusal: Refusal): Promise<void>;
}

/** What a start goes through with. */
interface Candidate {
  execution: CachedExecution;
  plan: DRPlan;
  identity: ExecutionIdentity;
}

/** What a start has come to know by the time that it takes its lock. */
interface Ready extends Candidate {
  snapshot: Snapshot;
  target: DRPlanExecution | undefined;
  account: string | undefined;
}

interface Steps {
  deps: DrDeps;
  plans: PlanLock;
  planWait: PlanWait;
}

/** Prepares starts: checks, plan, validation, metadata, lock, snapshot; in this order (S5.2). */
export function createStarts(deps: DrDeps): ExecutionStarts {
  const steps: Steps = { deps, plans: createPlanLock(deps), planWait: createPlanWait(deps) };
  const end = (execution: DRPlanExecution, phase: 'Failed' | 'Cancelled', refusal: Refusal): Promise<void> =>
    endUnstarted(deps, steps.plans, execution, { phase, refusal });
  return {
    async prepare(execution) {
      const uid = execution.metadata.uid ?? '';
      try {
        const decision = await decide(steps, execution);
        if (decision.kind !== 'wait') steps.planWait.forget(uid);
        return decision;
      } catch (error) {
        if (!(error instanceof Refused)) throw error;
        steps.planWait.forget(uid);
        await end(execution, 'Failed', error.refusal);
        return { kind: 'refused' };
      }
    },
    refuse: end,
    async hold(execution, reason, message) {
      await hold(deps, execution, { reason, message });
    },
  };
}

async function decide(steps: Steps, execution: CachedExecution): Promise<StartDecision> {
  const { deps } = steps;
  throwIf(checkAbandoned(execution));
  throwIf(checkRestored(execution));
  const problems = errorsOf(validateExecutionSpec(execution));
  if (problems.length > 0) throw new Refused(refusalOf(problems));
  const identity = identityOf(execution);
  const candidate = { execution, identity, plan: await planOf(deps, execution) };
  // Holding the lock means that an earlier attempt got at least this far, and maybe further.
  const isHolder = holds(candidate.plan.status?.currentExecution, identity);
  const begun = isHolder ? await findRun(deps, identity) : undefined;
  if (begun !== undefined) return resume(steps, candidate, begun);
  const wait = isHolder ? await awaitTemporal(deps, execution, candidate.plan) : undefined;
  return wait ?? startAnew(steps, candidate);
}

/** Nothing was begun: all checks count, values are looked up, and the newest key seals. */
async function startAnew(steps: Steps, candidate: Candidate): Promise<StartDecision> {
  const { deps, plans, planWait } = steps;
  const { execution, plan, identity } = candidate;
  throwIf(checkNameReused(execution, plan.status));
  throwIf(checkRequestedAt(execution, serverNow(deps), deps.settings.gitOps));
  throwIf(checkDeadline(execution, serverNow(deps)));
  const wait = (await awaitAdmission(deps, execution)) ?? (await planWait.look(execution, plan));
  if (wait !== undefined) return wait;
  throwIf(checkPlanPhase(execution, plan, identity));
  const { snapshot: found, target } = await findWork(deps, execution, plan, undefined);
  const account = accountFor(deps, plan, { snapshot: found, target });
  const { namespace = identity.namespace } = plan.metadata;
  throwIf(checkAuthorizedAs(execution, accountUser(namespace, account)));
  const snapshot = await resolveValues(found, lookingAs(deps, { execution, plan, account }));
  const taken = await take(steps, { ...candidate, snapshot, target, account }, target === undefined);
  if (taken.kind !== 'start') return taken;
  throwIf(checkDeadline(execution, serverNow(deps)));
  const latest = deps.caches.executions.get(execution.metadata.namespace, identity.name);
  if (isUnwanted(execution, latest)) {
    await plans.giveBack(execution, identity);
    return { kind: 'wait', ms: 0 };
  }
  return taken;
}

/** The run exists already: it is found again with what it was started with, whatever the plan and the checks say now. */
async function resume(steps: Steps, candidate: Candidate, begun: RunMemo): Promise<StartDecision> {
  const { deps } = steps;
  const { snapshot, target } = await findWork(deps, candidate.execution, candidate.plan, begun.snapshot);
  const account = accountFor(deps, candidate.plan, { snapshot, target });
  return take(steps, { ...candidate, snapshot, target, account }, false, begun);
}

/**
 * Marks the execution as ours, takes the plan, keeps the snapshot: what every start does, in this order, however often.
 *
 * @param mayBeOutdated whether workflows may have changed since the snapshot was taken
 */
async function take(
  { deps, plans }: Steps,
  { execution, plan, identity, snapshot, target, account }: Ready,
  mayBeOutdated: boolean,
  begun?: RunMemo,
): Promise<StartDecision> {
  const located = deps.snapshots.locate(snapshot);
  if (!located.ok) throw new Refused(located.refusal);
  const work = workOf(snapshot, target);
  throwIf(checkInputSize(work));
  const [stamped, outdated] = await Promise.all([
    stamp(deps, execution),
    mayBeOutdated ? areWorkflowsOutdated(deps, snapshot) : false,
  ]);
  if (stamped === undefined) return { kind: 'refused' };
  if (outdated) return { kind: 'wait', ms: 0 };
  if (target !== undefined) throwIf(await holdTarget(deps, execution, target));
  const holder = work.target === undefined ? identity : { ...identity, target: work.target };
  const [locked] = await Promise.all([plans.take(execution, plan, holder), located.write()]);
  // The plan was edited between the snapshot and the lock: the edited plan is the one to run.
  if (!locked) return { kind: 'wait', ms: 0 };
  const run = runIdentity(deps, { execution, plan, identity, account, work, snapshot: located.ref });
  return {
    kind: 'start',
    prepared: prepareRun(deps, {
      execution,
      run,
      work,
      isLookedUp: snapshot.resolved !== undefined,
      refuse: (refusal) => endUnstarted(deps, plans, execution, { phase: 'Failed', refusal }),
      sealKey: begun === undefined ? deps.sealer.keyId() : begun.sealKey,
    }),
  };
}

/** The creation time of an execution is by the API server's clock. */
const serverNow = ({ kube }: Pick<DrDeps, 'kube'>): Date => new Date(kube.now());

/** A revert acts as the account of the plan as it was when its target ran. */
const accountFor = (
  { settings }: Pick<DrDeps, 'settings'>,
  plan: DRPlan,
  { snapshot, target }: { snapshot: Snapshot; target: DRPlanExecution | undefined },
): string | undefined =>
  accountOf(
    { name: plan.metadata.name, spec: plan.spec },
    settings,
    target === undefined ? undefined : snapshot.plan.spec,
  );

/** Whether an execution was ended, cancelled or deleted since its start was prepared. */
const isUnwanted = (before: CachedExecution, latest: CachedExecution | undefined): boolean =>
  latest?.metadata.uid !== before.metadata.uid ||
  latest?.metadata.deletionTimestamp !== undefined ||
  isTerminalExecution(latest?.status?.phase) ||
  // An execution that was cancelled before comes this far only if its run exists.
  (cancelAsked(latest?.metadata.annotations) !== undefined &&
    cancelAsked(before.metadata.annotations) === undefined);

/** Values are looked up as the identity that acts, so that whoever may run the plan sees no more through it. */
function lookingAs(
  { kube }: Pick<DrDeps, 'kube'>,
  { execution, plan, account }: Pick<Ready, 'execution' | 'plan' | 'account'>,
): ResolveContext {
  const { namespace = 'default', name } = execution.metadata;
  const user = `system:serviceaccount:${plan.metadata.namespace ?? namespace}:${account ?? ''}`;
  return {
    kube: account === undefined ? kube : kube.as({ user }),
    identity: account === undefined ? 'the bridge itself' : user,
    namespace: plan.metadata.namespace ?? namespace,
    executionName: name,
  };
}

/**
 * The plan of an execution, live where the cache has none or one that is being deleted.
 *
 * @throws {@link Refused} when there is none
 */
async function planOf(
  { kube, caches }: Pick<DrDeps, 'caches' | 'kube'>,
  execution: CachedExecution,
): Promise<DRPlan> {
  const { namespace } = execution.metadata;
  const name = execution.spec.planRef;
  const cached = caches.plans.get(namespace, name);
  if (cached !== undefined && cached.metadata.deletionTimestamp === undefined) return cached;
  // The watch of executions may be ahead of that of plans.
  const live = await kube.get<DRPlan>({
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

async function findRun(
  { cluster, runs, sealer }: Pick<DrDeps, 'cluster' | 'runs' | 'sealer'>,
  identity: ExecutionIdentity,
): Promise<RunMemo | undefined> {
  return vouchedMemo(await runs.describe(runWorkflowId({ cluster, ...identity })), identity.uid, sealer);
}
