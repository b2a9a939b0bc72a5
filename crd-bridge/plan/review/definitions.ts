/** Reviews of workflows and plans that are created or changed. */
import { isDeepStrictEqual } from 'node:util';
import type { Refusal } from '../../../api/core/refusal.js';
import { isAccountName } from '../../../api/plan/authority.js';
import { errorsOf } from '../../../api/core/problem.js';
import type { Problem } from '../../../api/core/problem.js';
import { compileRun } from '../../../api/plan/snapshot/compile.js';
import { takeSnapshot } from '../../../api/plan/snapshot/snapshot.js';
import type { Shape } from '../../../api/core/shape.js';
import type { DRPlan, DRWorkflow } from '../../../api/plan/types.js';
import { validatePlan, validateWorkflow } from '../../../api/plan/validate/index.js';
import { problemsByDefinitions } from '../../../client/runs/known-definitions.js';
import type { OpenApi } from '../../../kube/openapi.js';
import { checkFits, isSurelySmall } from '../start/fits.js';
import { references } from '../kinds/plan-references.js';
import type { PlanKind } from '../kinds/dr-plan.js';
import type { WorkflowKind } from '../kinds/dr-workflow.js';
import type { DrDeps, DrSettings } from '../types.js';
import { subjectOf, withAuthority } from './authority.js';
import type { Authority } from './authority.js';
import type { Lookups } from './lookups.js';
import { overrideWarnings } from './override-warnings.js';
import { refusedBy, responseTo, warningsOf } from '../../core/review.js';
import type { ReviewedObject, ReviewRequest, ReviewResponse } from '../../core/review.js';

/** What the reviews need. */
export interface DefinitionDeps {
  kube: DrDeps['kube'];
  caches: DrDeps['caches'];
  log: DrDeps['log'];
  workflows: WorkflowKind;
  plans: PlanKind;
  settings: Pick<DrSettings, 'defaultServiceAccount' | 'controllerIdentity'>;
  lookups: Lookups;
  authority: Authority;
  /** The fields of the cluster's kinds. */
  openApi: OpenApi<Map<string, Shape>>;
}

/**
 * Problems that depend on objects that may still come, or on how the installation is set up: objects are applied in any
 * order, so these make a plan Invalid in its status and are only warnings here.
 */
const CIRCUMSTANCES: ReadonlySet<string> = new Set([
  'WorkflowNotFound',
  'NoServiceAccount',
  'NestedPlanNotFound',
  'NestedPlanInvalid',
]);
/** Problems found in other plans, of which the cache may have old versions. */
const ABOUT_PLANS: ReadonlySet<string> = new Set([
  'NestedPlanNotFound',
  'NestedPlanInvalid',
  'PlanCycle',
  'NestingTooDeep',
]);
/** How long plans of a changed workflow are looked at, for warnings only. */
const PLANS_BUDGET_MS = 50;

/** How long the definitions of what a workflow writes are looked at. */
const DEFINITIONS_BUDGET_MS = 500;

/** Reviews a workflow by the checks of the bridge itself, and by the definitions of what it writes. */
export async function reviewWorkflow(
  deps: DefinitionDeps,
  request: ReviewRequest,
  object: ReviewedObject,
): Promise<ReviewResponse> {
  const problems = validateWorkflow(object);
  // A stored spec is not judged again by definitions that have changed since.
  const isJudged =
    errorsOf(problems).length === 0 && !isDeepStrictEqual(request.oldObject?.spec, object.spec);
  const response = responseTo(isJudged ? [...problems, ...(await checkFields(deps, object))] : problems);
  if (!response.allowed || request.operation !== 'UPDATE') return response;
  return {
    ...response,
    warnings: [...warnUsers(deps, object as unknown as DRWorkflow), ...response.warnings],
  };
}

/**
 * Definitions that come late or that the cluster does not report find no problem: the action itself is then refused
 * when it runs.
 */
async function checkFields({ openApi, log }: DefinitionDeps, object: ReviewedObject): Promise<Problem[]> {
  try {
    return await problemsByDefinitions(object as unknown as DRWorkflow, openApi, DEFINITIONS_BUDGET_MS);
  } catch (error) {
    log.warn({ err: error }, 'could not look at the definitions of what a workflow writes');
    return [];
  }
}

/** Reviews a plan, with the workflows that are there. */
export async function reviewPlan(
  deps: DefinitionDeps,
  request: ReviewRequest,
  object: ReviewedObject,
): Promise<ReviewResponse> {
  // Only the spec is new: the status belongs to the object that is stored.
  const plan = object as unknown as DRPlan;
  await deps.lookups.learnWorkflows(plan, false);
  let problems = check(deps, plan);
  if (errorsOf(problems).some((problem) => problem.path.includes('workflow'))) {
    await deps.lookups.learnWorkflows(plan, true);
    problems = check(deps, plan);
  }
  if (problems.some(({ reason }) => ABOUT_PLANS.has(reason))) {
    await deps.lookups.learnNestedPlans(plan);
    problems = check(deps, plan);
  }
  const tooLarge = errorsOf(problems).length === 0 ? checkPlanFits(deps, plan) : undefined;
  if (tooLarge !== undefined) return refusedBy(tooLarge, warningsOf(problems));
  const unauthorized =
    (await checkAccountUse(deps, request, plan)) ?? (await checkForeignWorkflows(deps, request, plan));
  const response = withAuthority(deps.authority.mode, unauthorized, responseTo(problems));
  if (!response.allowed) return response;
  if (unauthorized === undefined) response.warnings.push(...warningsOf(await overrideWarnings(deps, plan)));
  const holder = (request.oldObject as DRPlan | undefined)?.status?.currentExecution?.name;
  if (holder === undefined) return response;
  const busy = `execution "${holder}" goes on with the plan as it was when it started; this change counts from the next one on`;
  return { ...response, warnings: [busy, ...response.warnings] };
}

/**
 * Whether the plan could be run and reverted as it is. A plan that needs values of an execution is judged when that is
 * created, by which time all workflows exist.
 */
function checkPlanFits({ caches }: DefinitionDeps, plan: DRPlan): Refusal | undefined {
  const { snapshot, missing } = takeSnapshot({
    plan,
    execution: {
      metadata: { name: plan.metadata.name },
      spec: { planRef: plan.metadata.name, operationType: 'Execute' },
    },
    lookup: (namespace, name) => caches.workflows.get(namespace, name),
  });
  if (missing.length > 0 || isSurelySmall(snapshot) || !compileRun({ snapshot }).ok) return undefined;
  return checkFits(snapshot);
}

/** Whoever writes a plan decides what its account does, so they must be allowed to use that account. */
async function checkAccountUse(
  { authority, settings }: DefinitionDeps,
  request: ReviewRequest,
  plan: DRPlan,
): Promise<Refusal | undefined> {
  const account = (plan.spec as Partial<DRPlan['spec']> | undefined)?.serviceAccountName;
  const name = account ?? settings.defaultServiceAccount;
  if (name === undefined || !isAccountName(name)) return undefined;
  return authority.useAccount(subjectOf(request), { namespace: request.namespace, name }, plan.metadata.name);
}

/** Most workflows of other namespaces that one review checks, each with a request. */
const MAX_READ = 20;

/**
 * A plan carries the text of its workflows into snapshots and statuses that its own namespace may read: whoever writes
 * it must be allowed to read those of other namespaces. Those that it used before are not checked again.
 */
async function checkForeignWorkflows(
  { authority }: DefinitionDeps,
  request: ReviewRequest,
  plan: DRPlan,
): Promise<Refusal | undefined> {
  const keyOf = ({ namespace, name }: { namespace: string; name: string }): string => `${namespace}/${name}`;
  const named = (object: unknown): Map<string, { namespace: string; name: string }> =>
    new Map(
      references(object as DRPlan)
        .filter(({ namespace }) => namespace !== request.namespace)
        .map((ref) => [keyOf(ref), ref]),
    );
  const before = request.oldObject === undefined ? new Map<string, unknown>() : named(request.oldObject);
  const asked = [...named(plan)].filter(([key]) => !before.has(key)).map(([, ref]) => ref);
  if (asked.length > MAX_READ && authority.mode !== 'Off') {
    return {
      reason: 'TooManyNamespaces',
      message: `plan "${plan.metadata.name}" names ${asked.length} workflows of other namespaces that it did not name before; at most ${MAX_READ} can be checked at once: add them in steps`,
    };
  }
  const refusals = await Promise.all(
    asked.map((ref) => authority.readWorkflow(subjectOf(request), ref, plan.metadata.name)),
  );
  return refusals.find((refusal) => refusal !== undefined);
}

const check = (deps: DefinitionDeps, plan: DRPlan): Problem[] =>
  deps.plans
    .problems(plan)
    .map((problem) => (CIRCUMSTANCES.has(problem.reason) ? { ...problem, severity: 'warning' } : problem));

/** A valid change of a workflow can still make valid plans invalid. */
function warnUsers(deps: DefinitionDeps, workflow: DRWorkflow): string[] {
  const { caches, workflows } = deps;
  const { name, namespace } = workflow.metadata;
  const until = Date.now() + PLANS_BUDGET_MS;
  const warnings: string[] = [];
  for (const plan of caches.plans.list()) {
    if (Date.now() > until) break;
    if (plan.status?.phase === 'Invalid') continue;
    if (!references(plan).some((ref) => ref.name === name && ref.namespace === namespace)) continue;
    const errors = errorsOf(
      validatePlan(
        plan,
        (ns, other) => (ns === namespace && other === name ? workflow : caches.workflows.get(ns, other)),
        {
          workflowProblems: (used) => (used === workflow ? [] : workflows.problems(used)),
          plan: (ns, other) => caches.plans.get(ns, other),
        },
      ),
    );
    if (errors.length === 0) continue;
    const [first] = errors.map((problem) => ({ ...problem, severity: 'warning' as const }));
    warnings.push(
      `makes DRPlan "${plan.metadata.namespace}/${plan.metadata.name}" Invalid: ${warningsOf(first === undefined ? [] : [first]).join('')}`,
    );
  }
  return warnings;
}
