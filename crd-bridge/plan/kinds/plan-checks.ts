/** What is wrong with plans, and which plans have to be checked again when something changes. */
import { API_VERSION } from '../../../api/core/group.js';
import { errorsOf } from '../../../api/core/problem.js';
import type { Problem } from '../../../api/core/problem.js';
import { nestedPlans } from '../../../api/plan/order/nested-plans.js';
import type { WorkflowSpecLookup } from '../../../api/plan/order/nested-plans.js';
import type { DRPlan, DRWorkflow } from '../../../api/plan/types.js';
import { validatePlan } from '../../../api/plan/validate/index.js';
import { checkPolicy } from '../../../api/plan/validate/policy.js';
import type { Change } from '../../../kube/informer.js';
import { noServiceAccount } from '../start/account.js';
import type { DrDeps, DrSettings } from '../types.js';
import type { WorkflowKind } from './dr-workflow.js';
import { references } from './plan-references.js';

/** Checks plans, and remembers what was found. */
export interface PlanChecks {
  /** What is wrong with a plan that may not be stored yet, judged by the workflows in the cache. */
  problems(plan: DRPlan): Problem[];
  /** The same for a stored plan: from memory, unless something that it depends on has changed. */
  check: (plan: DRPlan) => Problem[];
  /** Reads the workflows that a plan uses and the cache lacks. */
  learnMissing: (plan: DRPlan) => Promise<void>;
  /** A workflow is new, different or gone. Returns the plans that use it. */
  workflowChanged(workflow: { namespace: string; name: string }): DRPlan[];
  /** A plan is new, different or gone. Returns the plans that may run it as a part of themselves. */
  planChanged(change: Change<DRPlan>): DRPlan[];
  /** A policy is new, different or gone. Returns all plans. */
  policyChanged(): DRPlan[];
  /** Plans that run this one as a part of themselves, as far as can be told without an execution. */
  nestedIn(plan: { namespace: string; name: string }): DRPlan[];
  /** The plan is gone for good. */
  gone(plan: DRPlan): void;
}

/** A plan that misses more workflows than this was most likely not applied together with them. */
const MAX_ASKED = 50;

type Deps = Pick<DrDeps, 'caches' | 'kube' | 'policies' | 'settings'>;

/** Checks by the workflows, plans and policies in the caches. */
export function createPlanChecks(deps: Deps, workflows: WorkflowKind): PlanChecks {
  const { caches } = deps;
  // A plan's own status changes twice in every run. What a check found stands until a spec changes that it depends on.
  const checked = new Map<string, { generation: number | undefined; version: string; problems: Problem[] }>();
  // Grows with every change of a workflow or a policy.
  let othersVersion = 0;
  // Uids of plans that run others: only these depend on changes of other plans.
  const nesting = new Set<string>();
  let plansVersion = 0;

  const usableWorkflow: WorkflowSpecLookup = (namespace, name) => {
    const found = caches.workflows.get(namespace, name);
    return found === undefined || errorsOf(workflows.problems(found)).length > 0 ? undefined : found.spec;
  };
  const nestingPlans = (): DRPlan[] =>
    caches.plans.list().filter(({ metadata }) => nesting.has(metadata.uid ?? ''));
  const problems = (plan: DRPlan): Problem[] => problemsOf(deps, workflows, plan);

  return {
    problems,
    check(plan) {
      const { uid = '', generation } = plan.metadata;
      const version = (): string => `${othersVersion}/${nesting.has(uid) ? plansVersion : ''}`;
      const known = checked.get(uid);
      if (known?.generation === generation && known?.version === version()) return known.problems;
      const found = problems(plan);
      if (nestedPlans(plan, usableWorkflow).length > 0) nesting.add(uid);
      else nesting.delete(uid);
      checked.set(uid, { generation, version: version(), problems: found });
      return found;
    },
    async learnMissing(plan) {
      if (await learnWorkflows(deps, plan)) othersVersion += 1;
    },
    workflowChanged({ namespace, name }) {
      othersVersion += 1;
      const users = caches.plans
        .list()
        .filter((plan) => references(plan).some((ref) => ref.name === name && ref.namespace === namespace));
      // Plans above its users may have become deeper, or part of a cycle.
      return users.length === 0 ? [] : [...new Set([...users, ...nestingPlans()])];
    },
    planChanged(change) {
      if (isSameDefinition(change)) return [];
      plansVersion += 1;
      return nestingPlans().filter(({ metadata }) => metadata.uid !== change.object.metadata.uid);
    },
    policyChanged() {
      othersVersion += 1;
      return caches.plans.list();
    },
    nestedIn: ({ namespace, name }) =>
      nestingPlans().filter(
        (plan) =>
          plan.metadata.namespace === namespace &&
          nestedPlans(plan, usableWorkflow).some((use) => use.name === name),
      ),
    gone({ metadata: { uid = '' } }) {
      checked.delete(uid);
      nesting.delete(uid);
    },
  };
}

function problemsOf({ caches, policies, settings }: Deps, workflows: WorkflowKind, plan: DRPlan): Problem[] {
  const workflow = (namespace: string, name: string): DRWorkflow | undefined =>
    caches.workflows.get(namespace, name);
  const problems = validatePlan(plan, workflow, {
    workflowProblems: (used) => workflows.problems(used),
    plan: (namespace, name) => caches.plans.get(namespace, name),
  });
  if (errorsOf(problems).length > 0) return problems;
  const account = checkAccount(plan, settings);
  if (account.length > 0) return [...problems, ...account];
  const specs = policies().map(({ spec }) => spec);
  const acts = plan.spec.serviceAccountName ?? settings.defaultServiceAccount;
  return [...problems, ...checkPolicy(plan, workflow, specs, acts)];
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

/**
 * The watch of workflows may be behind that of plans: somebody who has just applied both must not read that a workflow
 * is missing.
 *
 * @returns whether any was found that the cache lacked
 */
async function learnWorkflows({ caches, kube }: Deps, plan: DRPlan): Promise<boolean> {
  const missing = references(plan).filter(
    ({ namespace, name }) => caches.workflows.get(namespace, name) === undefined,
  );
  const unique = new Map(missing.map((ref) => [`${ref.namespace}/${ref.name}`, ref]));
  const asked = [...unique.values()].slice(0, MAX_ASKED);
  const answers = await Promise.all(
    asked.map((ref) => kube.get<DRWorkflow>({ apiVersion: API_VERSION, kind: 'DRWorkflow', ...ref })),
  );
  const found = answers.filter((workflow) => workflow !== undefined);
  for (const workflow of found) caches.workflows.learn(workflow);
  return found.length > 0;
}

/** Whether a change leaves alone what other plans depend on: the spec, and whether it is valid. */
const isSameDefinition = (change: Change<DRPlan>): boolean =>
  change.kind === 'set' &&
  change.previous?.metadata.generation === change.object.metadata.generation &&
  isInvalid(change.previous) === isInvalid(change.object);

const isInvalid = (plan: DRPlan | undefined): boolean => plan?.status?.phase === 'Invalid';
