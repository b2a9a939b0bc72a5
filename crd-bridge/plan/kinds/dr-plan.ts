import { ANNOTATIONS, API_VERSION, LABELS } from '../../../api/core/group.js';
import { labelValue } from '../../../api/plan/naming.js';
import { nestedPlans } from '../../../api/plan/order/nested-plans.js';
import type { WorkflowSpecLookup } from '../../../api/plan/order/nested-plans.js';
import { errorsOf } from '../../../api/core/problem.js';
import type { Problem } from '../../../api/core/problem.js';
import type { DRPlan, DRPlanStatus, DRWorkflow } from '../../../api/plan/types.js';
import { validatePlan } from '../../../api/plan/validate/index.js';
import { checkPolicy } from '../../../api/plan/validate/policy.js';
import type { Change } from '../../../kube/informer.js';
import { findCondition, setCondition } from '../../core/conditions.js';
import { noServiceAccount } from '../start/account.js';
import { refOf } from '../../core/object-ref.js';
import { inspectHolder, releaseHolder } from '../lock/lock-holder.js';
import { EXECUTED_CONDITION, wasExecuted } from '../lock/plan-state.js';
import type { DrDeps, DrSettings } from '../types.js';
import { readyCondition } from './dr-workflow.js';
import type { WorkflowKind } from './dr-workflow.js';
import { references } from './plan-references.js';

/** Checks plans, and frees those whose holder is over. */
export interface PlanKind {
  /** @returns after how many milliseconds to look again, if at all */
  reconcile(plan: DRPlan): Promise<number | undefined>;
  /** What is wrong with a plan that may not be stored yet, judged by the workflows in the cache. */
  problems(plan: DRPlan): Problem[];
  /** A workflow is new, different or gone. Returns the plans that use it. */
  workflowChanged(workflow: { namespace: string; name: string }): DRPlan[];
  /** A plan is new, different or gone. Returns the plans that may run it as a part of themselves. */
  planChanged(change: Change<DRPlan>): DRPlan[];
  /** Plans that run this one as a part of themselves, as far as can be told without an execution. */
  nestedIn(plan: { namespace: string; name: string }): DRPlan[];
  /** A policy is new, different or gone. Returns all plans. */
  policyChanged(): DRPlan[];
  /** The plan is gone for good. */
  gone(plan: DRPlan): void;
}

/** Time between two looks at a lock whose holder is alive. */
const LOCK_CHECK_MS = 60_000;
/** The same where only the plan still knows the run that holds it. */
const GONE_CHECK_MS = 5_000;
/** A plan that misses more workflows than this was most likely not applied together with them. */
const MAX_ASKED = 50;

/** The row of DRPlan in the bridge's table: it has a status and no runs. */
export function createPlanKind(deps: DrDeps, workflows: WorkflowKind): PlanKind {
  const { caches, writer, settings } = deps;
  // Saves a request per look; the event itself is recorded only once in any case.
  const told = new Set<string>();

  // A plan's own status changes twice in every run. What a check found stands until a spec changes: the plan's or a
  // workflow's.
  const checked = new Map<string, { generation: number | undefined; version: string; problems: Problem[] }>();
  let workflowsVersion = 0;
  // Uids of plans that run others: only these depend on changes of other plans.
  const nesting = new Set<string>();
  let plansVersion = 0;

  const usableWorkflow: WorkflowSpecLookup = (namespace, name) => {
    const found = caches.workflows.get(namespace, name);
    return found === undefined || errorsOf(workflows.problems(found)).length > 0 ? undefined : found.spec;
  };
  const nestingPlans = (): DRPlan[] =>
    caches.plans.list().filter(({ metadata }) => nesting.has(metadata.uid ?? ''));

  function check(plan: DRPlan): Problem[] {
    const { uid = '', generation } = plan.metadata;
    const known = checked.get(uid);
    const version = (): string => `${workflowsVersion}/${nesting.has(uid) ? plansVersion : ''}`;
    if (known?.generation === generation && known?.version === version()) return known.problems;
    const problems = validate(plan);
    if (nestedPlans(plan, usableWorkflow).length > 0) nesting.add(uid);
    else nesting.delete(uid);
    checked.set(uid, { generation, version: version(), problems });
    return problems;
  }

  function validate(plan: DRPlan): Problem[] {
    const problems = validatePlan(plan, (namespace, name) => caches.workflows.get(namespace, name), {
      workflowProblems: (workflow) => workflows.problems(workflow),
      plan: (namespace, name) => caches.plans.get(namespace, name),
    });
    if (errorsOf(problems).length > 0) return problems;
    const account = checkAccount(plan, settings);
    if (account.length > 0) return [...problems, ...account];
    const lookup = (namespace: string, name: string) => caches.workflows.get(namespace, name);
    const policies = deps.policies().map(({ spec }) => spec);
    const acts = plan.spec.serviceAccountName ?? settings.defaultServiceAccount;
    return [...problems, ...checkPolicy(plan, lookup, policies, acts)];
  }

  /**
   * The watch of workflows may be behind that of plans: somebody who has just applied both must not read that one is
   * missing.
   */
  async function learnMissing(plan: DRPlan): Promise<void> {
    const missing = references(plan).filter(
      ({ namespace, name }) => caches.workflows.get(namespace, name) === undefined,
    );
    const unique = new Map(missing.map((ref) => [`${ref.namespace}/${ref.name}`, ref]));
    const asked = [...unique.values()].slice(0, MAX_ASKED);
    const found = await Promise.all(
      asked.map((ref) => deps.kube.get<DRWorkflow>({ apiVersion: API_VERSION, kind: 'DRWorkflow', ...ref })),
    );
    for (const workflow of found) if (workflow !== undefined) caches.workflows.learn(workflow);
    if (found.some((workflow) => workflow !== undefined)) workflowsVersion += 1;
  }

  async function sweepLock(plan: DRPlan): Promise<number | undefined> {
    const holder = plan.status?.currentExecution;
    if (holder === undefined) return undefined;
    const state = await inspectHolder(deps, plan, holder, { isActing: true });
    if (state.kind === 'live') return state.isGone === true ? GONE_CHECK_MS : LOCK_CHECK_MS;
    deps.log.warn({ plan: refOf(plan), holder, why: state.why }, 'freeing a stale lock');
    await writer.status(
      caches.plans,
      refOf(plan),
      ({ status }) => status && releaseHolder(status, holder, state),
    );
    return undefined;
  }

  return {
    problems: validate,
    async reconcile(plan) {
      if (plan.metadata.deletionTimestamp !== undefined) return undefined;
      await learnMissing(plan);
      await writer.status(caches.plans, refOf(plan), (current) =>
        planStatus(current, check(current), new Date().toISOString()),
      );
      const single = singleWorkflow(plan);
      const label = plan.metadata.labels?.[LABELS.workflow];
      if (label !== single) {
        await writer.metadata(caches.plans, refOf(plan), ({ metadata }) => {
          const { [LABELS.workflow]: _, ...labels } = metadata.labels ?? {};
          return { labels: single === undefined ? labels : { ...labels, [LABELS.workflow]: single } };
        });
      }
      warnOfTrigger(plan);
      return sweepLock(caches.plans.get(plan.metadata.namespace, plan.metadata.name) ?? plan);
    },
    gone(plan) {
      checked.delete(plan.metadata.uid ?? '');
      nesting.delete(plan.metadata.uid ?? '');
    },
    policyChanged() {
      workflowsVersion += 1;
      return caches.plans.list();
    },
    workflowChanged({ namespace, name }) {
      workflowsVersion += 1;
      const users = caches.plans
        .list()
        .filter((plan) => references(plan).some((ref) => ref.name === name && ref.namespace === namespace));
      // Plans above its users may have become deeper, or part of a cycle.
      return users.length === 0 ? [] : [...new Set([...users, ...nestingPlans()])];
    },
    planChanged(change) {
      const { object } = change;
      const isSame =
        change.kind === 'set' &&
        change.previous?.metadata.generation === object.metadata.generation &&
        isInvalid(change.previous) === isInvalid(object);
      if (isSame) return [];
      plansVersion += 1;
      return nestingPlans().filter(({ metadata }) => metadata.uid !== object.metadata.uid);
    },
    nestedIn: ({ namespace, name }) =>
      nestingPlans().filter(
        (plan) =>
          plan.metadata.namespace === namespace &&
          nestedPlans(plan, usableWorkflow).some((use) => use.name === name),
      ),
  };

  function warnOfTrigger(plan: DRPlan): void {
    const trigger = plan.metadata.annotations?.[ANNOTATIONS.trigger];
    const key = `${plan.metadata.uid}/${trigger}`;
    if (trigger === undefined || told.has(key)) return;
    told.add(key);
    deps.events.record(plan, {
      type: 'Warning',
      reason: 'TriggerIgnored',
      action: 'Check',
      message: `annotation ${ANNOTATIONS.trigger} starts nothing; create a DRPlanExecution to run the plan, and remove the annotation`,
      key: trigger,
    });
  }
}

/** The plan or the bridge's settings must name whom the actions act as (S1.5). */
function checkAccount(plan: DRPlan, settings: DrSettings): Problem[] {
  if (plan.spec.serviceAccountName || settings.defaultServiceAccount || settings.controllerIdentity)
    return [];
  return [
    {
      severity: 'error',
      path: 'spec.serviceAccountName',
      reason: 'NoServiceAccount',
      message: noServiceAccount(plan.metadata.name),
    },
  ];
}

/** Status of a plan after a check. Executed survives Invalid and edits: it comes back when the plan is valid again. */
export function planStatus(plan: DRPlan, problems: readonly Problem[], now: string): DRPlanStatus {
  const { status, metadata } = plan;
  const executed = wasExecuted(status);
  const invalid = errorsOf(problems).length > 0;
  let conditions = readyCondition(status?.conditions, problems, metadata.generation, now);
  if (executed && findCondition(conditions, EXECUTED_CONDITION) === undefined) {
    conditions = setCondition(
      conditions,
      {
        type: EXECUTED_CONDITION,
        status: 'True',
        reason: 'Executed',
        message: `executed by DRPlanExecution "${status?.lastExecutionRef ?? ''}"`,
      },
      status?.lastExecutionTime ?? now,
    );
  }
  return {
    ...status,
    phase: invalid ? 'Invalid' : executed ? 'Executed' : 'Ready',
    conditions,
    ...(metadata.generation !== undefined && { observedGeneration: metadata.generation }),
  };
}

const isInvalid = (plan: DRPlan | undefined): boolean => plan?.status?.phase === 'Invalid';

/** Label value of the one workflow that a plan uses (S1.16). */
function singleWorkflow(plan: DRPlan): string | undefined {
  const keys = new Set(references(plan).map((ref) => `${ref.namespace}/${ref.name}`));
  const [only] = references(plan);
  return keys.size === 1 && only !== undefined ? labelValue(only.name) : undefined;
}
