/** What each kind demands of its objects, checked with the functions that admission and the bridge use. */
import { isObject } from '../../../../api/core/json.js';
import { errorsOf, type Problem } from '../../../../api/core/problem.js';
import { specProblems } from '../../../../api/core/spec-problems.js';
import type { DrKind } from '../../../../api/plan/kind-names.js';
import { modeWarnings } from '../../../../api/plan/order/mode-warnings.js';
import { compileRun } from '../../../../api/plan/snapshot/compile.js';
import { takeSnapshot } from '../../../../api/plan/snapshot/snapshot.js';
import { mergeParameters } from '../../../../api/plan/template/parameters.js';
import type { DRPlan, DRPlanExecution, DRWorkflow } from '../../../../api/plan/types.js';
import {
  checkOverridePaths,
  overridesIn,
  validateNewExecutionSpec,
  validatePlan,
  validateWorkflow,
  writtenOverrides,
} from '../../../../api/plan/validate/index.js';
import type { FileSet } from './file-set.js';
import { type FileObject, isDrObject } from './objects.js';
import { referencesOf } from './references.js';
import type { Surroundings } from './surroundings.js';

/** Finds everything that is wrong, or doubtful, in an object. */
export type Check = (entry: FileObject) => Problem[];

/** What the rules look things up in. */
interface Context {
  files: FileSet;
  around: Surroundings;
  /** Problems of a workflow, found once however many plans use it. */
  workflowProblems: (workflow: DRWorkflow) => readonly Problem[];
  /** Whether a plan of the files uses a workflow. */
  isUsed: (namespace: string, name: string) => boolean;
}

/** Kinds with rules of their own. An object of any other kind is checked by the schema of its descriptor. */
const RULES: Partial<Record<DrKind, (entry: FileObject, context: Context) => Problem[]>> = {
  DRWorkflow: checkWorkflow,
  DRPlan: checkPlan,
  DRPlanExecution: checkExecution,
};

/** The check of objects that are read together. */
export function createCheck(objects: readonly FileObject[], files: FileSet, around: Surroundings): Check {
  const known = new Map<DRWorkflow, readonly Problem[]>();
  const used = new Set(
    objects
      .filter(({ kind }) => kind === 'DRPlan')
      .flatMap(({ namespace, object }) => referencesOf({ namespace, spec: object.spec }))
      .map((ref) => `${ref.namespace}/${ref.name}`),
  );
  const context: Context = {
    files,
    around,
    workflowProblems(workflow) {
      const found = known.get(workflow) ?? validateWorkflow(workflow);
      known.set(workflow, found);
      return found;
    },
    isUsed: (namespace, name) => used.has(`${namespace}/${name}`),
  };
  return (entry) => {
    const rule = isDrObject(entry) ? RULES[entry.kind] : undefined;
    return rule === undefined ? specProblems(entry.descriptor, entry.object) : rule(entry, context);
  };
}

function checkWorkflow({ namespace, name, object }: FileObject, context: Context): Problem[] {
  const { around } = context;
  const workflow = object as unknown as DRWorkflow;
  const problems = context.workflowProblems(workflow);
  if (errorsOf(problems).length > 0) return [...problems];
  return [
    ...problems,
    ...(around.fields?.(object) ?? []),
    // Where a plan uses it, its overrides are judged with the values that the plan gives.
    ...(context.isUsed(namespace, name) ? [] : overridePathsOfWorkflow(workflow, context)),
  ];
}

function checkPlan({ object }: FileObject, context: Context): Problem[] {
  const { files, around, workflowProblems } = context;
  const { workflow, plan } = files;
  const problems = validatePlan(object, workflow, { workflowProblems, plan }).map((problem) =>
    asAdmitted(around.complete ? problem : asFarAsFiles(problem)),
  );
  const isWrong = errorsOf(problems).length > 0;
  return [
    ...problems,
    ...(isWrong ? [] : overridePathsOfPlan(object as unknown as DRPlan, context)),
    ...checkAccount(object),
    ...(around.fields?.(object) ?? []),
  ];
}

function checkExecution({ namespace, object }: FileObject, context: Context): Problem[] {
  const problems = validateNewExecutionSpec(object);
  const isWrong = errorsOf(problems).length > 0;
  return [
    ...problems,
    ...checkPlanRef(object.spec, namespace, context),
    ...(isWrong ? [] : checkStart(object as unknown as DRPlanExecution, namespace, context)),
  ];
}

function checkPlanRef(spec: unknown, namespace: string, { files, around }: Context): Problem[] {
  const planRef = isObject(spec) ? spec.planRef : undefined;
  if (typeof planRef !== 'string' || planRef === '') return [];
  if (files.plan(namespace, planRef) !== undefined) return [];
  const message = around.complete
    ? `plan "${namespace}/${planRef}" does not exist; create it or correct the name`
    : `plan "${namespace}/${planRef}" is not among the files, so the parameters of the execution could not be checked`;
  const severity = around.complete ? 'error' : 'warning';
  return [{ severity, path: 'spec.planRef', reason: 'PlanNotFound', message }];
}

/** What the bridge would say at the start of an execution. */
function checkStart(execution: DRPlanExecution, namespace: string, context: Context): Problem[] {
  const { files, workflowProblems } = context;
  const { planRef, operationType } = execution.spec;
  const plan = files.plan(namespace, planRef);
  if (plan === undefined || operationType === 'Revert') return [];
  if (errorsOf(validatePlan(plan, files.workflow, { workflowProblems }).map(asAdmitted)).length > 0) {
    const message = `plan "${namespace}/${planRef}" is invalid, so the execution would fail; see what is said about it`;
    return [{ severity: 'error', path: 'spec.planRef', reason: 'PlanInvalid', message }];
  }
  const { snapshot } = takeSnapshot({ plan, execution, lookup: files.workflow });
  const compiled = compileRun({ snapshot });
  const ofPlan = files.find('DRPlan', namespace, planRef) && overridePathsOfPlan(plan, context);
  const reported = new Set(ofPlan?.map(textOf));
  const problems = [
    ...modeWarnings(snapshot),
    ...(compiled.ok ? [] : errorsOf(compiled.problems.map(asAdmitted))),
    ...(compiled.ok ? overridePathsOfPlan(plan, context, execution) : []).filter(
      (one) => !reported.has(textOf(one)),
    ),
  ];
  return problems.map((problem) =>
    problem.path.startsWith('execution.')
      ? { ...problem, path: problem.path.slice('execution.'.length) }
      : problem,
  );
}

function overridePathsOfPlan(
  plan: DRPlan,
  { files, around: { overrides } }: Context,
  execution?: DRPlanExecution,
): Problem[] {
  return overrides === undefined
    ? []
    : checkOverridePaths(writtenOverrides(plan, files.workflow, execution), overrides);
}

function overridePathsOfWorkflow({ spec }: DRWorkflow, { around: { overrides } }: Context): Problem[] {
  if (overrides === undefined) return [];
  const params = mergeParameters({ workflow: spec.parameters ?? [] }, { at: 'plan' }).values;
  return checkOverridePaths(overridesIn(spec.actions, { params }, 'spec.actions'), overrides);
}

const textOf = ({ path, message }: Problem): string => `${path}\n${message}`;

/**
 * Objects are applied in any order, so a plan is admitted before its workflows and the plans that it runs; it is Invalid
 * until they exist.
 */
function asAdmitted(problem: Problem): Problem {
  const isLater = problem.reason === 'WorkflowNotFound' || problem.reason === 'NestedPlanNotFound';
  return isLater ? { ...problem, severity: 'warning' } : problem;
}

/** Files alone do not show that something does not exist. */
function asFarAsFiles(problem: Problem): Problem {
  if (problem.reason !== 'WorkflowNotFound') return problem;
  const message = problem.message.replace(
    'does not exist; create it or correct the reference',
    'is not among the files; add its file, correct the reference, or look it up with --cluster',
  );
  return { ...problem, message };
}

/** Whether this is an error depends on how the installation is set up (S1.5). */
function checkAccount(plan: Record<string, unknown>): Problem[] {
  if (!isObject(plan.spec) || Boolean(plan.spec.serviceAccountName)) return [];
  const message =
    'is missing: the plan is Ready only where the installation sets --default-service-account or --controller-identity; name the ServiceAccount that the actions act as';
  return [{ severity: 'warning', path: 'spec.serviceAccountName', reason: 'NoServiceAccount', message }];
}
