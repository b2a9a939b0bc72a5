import { compileRun } from '../../../../api/plan/snapshot/compile.js';
import { API_VERSION, GROUP } from '../../../../api/core/group.js';
import { isObject } from '../../../../api/core/json.js';
import { nearNames } from '../../../../api/core/near.js';
import { modeWarnings } from '../../../../api/plan/order/mode-warnings.js';
import { errorsOf, type Problem } from '../../../../api/core/problem.js';
import { takeSnapshot } from '../../../../api/plan/snapshot/snapshot.js';
import type { DRPlan, DRPlanExecution, DRWorkflow } from '../../../../api/plan/types.js';
import { mergeParameters } from '../../../../api/plan/template/parameters.js';
import {
  checkOverridePaths,
  overridesIn,
  unknownFields,
  validateNewExecutionSpec,
  validatePlan,
  validatePolicySpec,
  validateWorkflow,
  writtenOverrides,
} from '../../../../api/plan/validate/index.js';
import { checkName } from '../../../../api/plan/validate/names.js';
import { isNamespaced, KINDS } from '../../core/resources.js';
import type { Kind } from '../../core/resources.js';
import type { SourcesOf } from './override-sources.js';
import type { ManifestObject } from './parse.js';
import type { Place } from './place.js';
import { referencesOf } from './references.js';
import type { SourceFault } from './sources.js';

/** A problem with its place. */
export type LocatedProblem = Problem & Place;

/** An object of ours in a file. */
export interface DrObject {
  kind: Kind;
  namespace: string;
  name: string;
  source: ManifestObject;
  /** With the namespace it would get, where its kind has them. */
  object: Record<string, unknown> & { metadata: Record<string, unknown> };
}

/** An object with what was found. */
export interface CheckedObject {
  kind: Kind;
  namespace: string;
  name: string;
  file: string;
  line: number;
  problems: LocatedProblem[];
}

/** Objects that are not among the files. */
export interface Surroundings {
  workflow(namespace: string, name: string): DRWorkflow | undefined;
  plan(namespace: string, name: string): DRPlan | undefined;
  /**
   * What the cluster says against a workflow or a plan: its definitions against what is written, and that there is no
   * account of the name; absent: it is not known.
   */
  fields?: (object: unknown) => readonly Problem[];
  /** What is known about the feeds of overrides; absent: nothing is said about their paths. */
  overrides?: SourcesOf;
  /** Whether what is not found does not exist: false where only files were read. */
  complete: boolean;
}

/** Nothing but the files. */
export const NO_SURROUNDINGS: Surroundings = {
  workflow: () => undefined,
  plan: () => undefined,
  complete: false,
};

/**
 * Picks the objects of our kinds, and counts the others by kind. A kind that this group does not have is a fault:
 * the API server refuses such an object, and left out it would look as if it had been checked.
 */
export function pickObjects(
  sources: readonly ManifestObject[],
  defaultNamespace: string,
): { objects: DrObject[]; others: Map<string, number>; faults: SourceFault[] } {
  const objects: DrObject[] = [];
  const faults: SourceFault[] = [];
  const others = new Map<string, number>();
  for (const source of sources) {
    const { kind, apiVersion } = source.value;
    const known = KINDS.find((one) => one === kind);
    // One of our kinds in another group is most likely a mistake; a foreign group has its own meaning.
    const foreign =
      typeof apiVersion === 'string' && apiVersion.includes('/') && !apiVersion.startsWith(`${GROUP}/`);
    if (known === undefined && typeof apiVersion === 'string' && apiVersion.startsWith(`${GROUP}/`)) {
      faults.push({
        file: source.file,
        ...source.locate('kind'),
        reason: 'UnknownKind',
        message: unknownKind(kind),
      });
      continue;
    }
    if (known === undefined || foreign) {
      const name = typeof kind === 'string' && kind !== '' ? kind : 'without a kind';
      others.set(name, (others.get(name) ?? 0) + 1);
      continue;
    }
    const metadata = isObject(source.value.metadata) ? source.value.metadata : {};
    const namespace = isNamespaced(known) ? textOr(metadata.namespace, defaultNamespace) : '';
    objects.push({
      kind: known,
      namespace,
      name: textOr(metadata.name, textOr(metadata.generateName, '')),
      source,
      object: { ...source.value, metadata: { ...metadata, ...(namespace !== '' && { namespace }) } },
    });
  }
  return { objects, others, faults };
}

function unknownKind(kind: unknown): string {
  if (typeof kind !== 'string' || kind === '') return `kind is missing; ${GROUP} has ${KINDS.join(', ')}`;
  const [near] = nearNames(kind, KINDS, 1);
  const hint = near === undefined ? `it has ${KINDS.join(', ')}` : `did you mean ${near}?`;
  return `kind ${JSON.stringify(kind.slice(0, 100))} is none of ${GROUP}; ${hint}`;
}

const textOr = (value: unknown, fallback: string): string =>
  typeof value === 'string' && value !== '' ? value : fallback;

/**
 * Checks objects of files together, with the functions that admission and the bridge use: workflows, plans against the
 * workflows, executions against their plans. Every problem has its place in a file; one about a workflow that a plan
 * uses stands where the workflow is written.
 */
export function checkObjects(objects: readonly DrObject[], around: Surroundings): CheckedObject[] {
  const index = new Map<string, DrObject>();
  const keyOf = (kind: Kind, namespace: string, name: string): string => `${kind}/${namespace}/${name}`;
  const twice = new Map<DrObject, DrObject>();
  for (const entry of objects) {
    const key = keyOf(entry.kind, entry.namespace, entry.name);
    const first = index.get(key);
    if (first === undefined) index.set(key, entry);
    else if (entry.name !== '') twice.set(entry, first);
  }
  const find = (kind: Kind, namespace: string, name: string): DrObject | undefined =>
    index.get(keyOf(kind, namespace, name));
  const workflow = (namespace: string, name: string): DRWorkflow | undefined =>
    (find('DRWorkflow', namespace, name)?.object as DRWorkflow | undefined) ??
    around.workflow(namespace, name);
  const plan = (namespace: string, name: string): DRPlan | undefined =>
    (find('DRPlan', namespace, name)?.object as DRPlan | undefined) ?? around.plan(namespace, name);
  const known = new Map<unknown, readonly Problem[]>();
  const workflowProblems = (object: DRWorkflow): readonly Problem[] => {
    const found = known.get(object) ?? validateWorkflow(object);
    known.set(object, found);
    return found;
  };

  // Their overrides are looked at with the values that the plans give.
  const used = new Set(
    objects
      .filter(({ kind }) => kind === 'DRPlan')
      .flatMap(({ namespace, object }) => referencesOf({ namespace, spec: object.spec }))
      .map((ref) => `${ref.namespace}/${ref.name}`),
  );

  function overridePaths(found: DRPlan, execution?: DRPlanExecution): Problem[] {
    const { overrides } = around;
    return overrides === undefined
      ? []
      : checkOverridePaths(writtenOverrides(found, workflow, execution), overrides);
  }

  function ownOverrides({ spec }: DRWorkflow): Problem[] {
    if (around.overrides === undefined) return [];
    const params = mergeParameters({ workflow: spec.parameters ?? [] }, { at: 'plan' }).values;
    return checkOverridePaths(overridesIn(spec.actions, { params }, 'spec.actions'), around.overrides);
  }

  function problemsOf({ kind, namespace, name, object }: DrObject): Problem[] {
    switch (kind) {
      case 'DRWorkflow': {
        const problems = workflowProblems(object as unknown as DRWorkflow);
        const isUsed = used.has(`${namespace}/${name}`);
        if (errorsOf(problems).length > 0) return [...problems];
        return [
          ...problems,
          ...(around.fields?.(object) ?? []),
          ...(isUsed ? [] : ownOverrides(object as unknown as DRWorkflow)),
        ];
      }
      case 'DRPlan': {
        const problems = validatePlan(object, workflow, { workflowProblems, plan }).map((problem) =>
          asAdmitted(around.complete ? problem : asFarAsFiles(problem)),
        );
        const isWrong = errorsOf(problems).length > 0;
        return [
          ...problems,
          ...(isWrong ? [] : overridePaths(object as unknown as DRPlan)),
          ...checkAccount(object),
          ...(around.fields?.(object) ?? []),
        ];
      }
      case 'DRPlanExecution': {
        const problems = validateNewExecutionSpec(object);
        const isWrong = errorsOf(problems).length > 0;
        return [
          ...problems,
          ...checkPlanRef(object, namespace),
          ...(isWrong ? [] : checkStart(object as unknown as DRPlanExecution, namespace)),
        ];
      }
      case 'DRPolicy':
        return validatePolicySpec(object);
    }
  }

  function checkPlanRef({ spec }: DrObject['object'], namespace: string): Problem[] {
    const planRef = isObject(spec) ? spec.planRef : undefined;
    if (typeof planRef !== 'string' || planRef === '' || plan(namespace, planRef) !== undefined) return [];
    const message = around.complete
      ? `plan "${namespace}/${planRef}" does not exist; create it or correct the name`
      : `plan "${namespace}/${planRef}" is not among the files, so the parameters of the execution could not be checked`;
    const severity = around.complete ? 'error' : 'warning';
    return [{ severity, path: 'spec.planRef', reason: 'PlanNotFound', message }];
  }

  function checkStart(execution: DRPlanExecution, namespace: string): Problem[] {
    const { planRef, operationType } = execution.spec;
    const found = plan(namespace, planRef);
    if (found === undefined) return [];
    if (operationType === 'Revert') return [];
    if (errorsOf(validatePlan(found, workflow, { workflowProblems }).map(asAdmitted)).length > 0) {
      const message = `plan "${namespace}/${planRef}" is invalid, so the execution would fail; see what is said about it`;
      return [{ severity: 'error', path: 'spec.planRef', reason: 'PlanInvalid', message }];
    }
    const { snapshot } = takeSnapshot({ plan: found, execution, lookup: workflow });
    const compiled = compileRun({ snapshot });
    const toldOfPlan = new Set(find('DRPlan', namespace, planRef) && overridePaths(found).map(toldAs));
    const problems = [
      ...modeWarnings(snapshot),
      ...(compiled.ok ? [] : errorsOf(compiled.problems.map(asAdmitted))),
      ...(compiled.ok ? overridePaths(found, execution) : []).filter((one) => !toldOfPlan.has(toldAs(one))),
    ];
    return problems.map((problem) =>
      problem.path.startsWith('execution.')
        ? { ...problem, path: problem.path.slice('execution.'.length) }
        : problem,
    );
  }

  const place = (entry: DrObject, problem: Problem): LocatedProblem => {
    const { source, path } = owner(entry, problem.path);
    const at = source === undefined ? undefined : source.locate(path, problem.message);
    const file = source?.file ?? entry.source.file;
    return { ...problem, file, ...(at ?? entry.source.locate('spec')) };
  };

  /** The object that a path leads into, and the path inside it. */
  function owner(entry: DrObject, path: string): { source: ManifestObject | undefined; path: string } {
    const inside = /^(.*?)\.workflowRef\(([^/()]*)\/([^()]*)\)\.(.*)$/s.exec(path);
    const planPath = entry.kind === 'DRPlanExecution' && /^(plan\.)?spec\.(stages|globalParams)/.test(path);
    const holder = planPath ? planOf(entry) : entry;
    if (inside !== null) {
      const [, before = '', namespace = '', name = '', rest = ''] = inside;
      const used = find('DRWorkflow', namespace, name);
      return used === undefined
        ? { source: holder?.source, path: `${before}.workflowRef` }
        : { source: used.source, path: rest };
    }
    return { source: holder?.source, path: path.replace(/^plan\./, '') };
  }

  function planOf({ object, namespace }: DrObject): DrObject | undefined {
    const spec = isObject(object.spec) ? object.spec : {};
    return typeof spec.planRef === 'string' ? find('DRPlan', namespace, spec.planRef) : undefined;
  }

  return objects.map((entry) => {
    const found = [...checkIdentity(entry, twice.get(entry)), ...problemsOf(entry)];
    // What is too deep to be checked is too deep to be walked.
    if (!found.some(({ reason }) => reason === 'TooComplex')) {
      found.push(...unknownFields(entry.kind, entry.object.spec));
    }
    const { kind, namespace, name, source } = entry;
    return {
      kind,
      namespace,
      name,
      file: source.file,
      line: source.locate('').line,
      problems: found.map((problem) => place(entry, problem)),
    };
  });
}

const toldAs = ({ path, message }: Problem): string => `${path}\n${message}`;

/** A plan is let in before its workflows and the plans that it runs, as objects are applied in any order; it is Invalid until they are there. */
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

function checkIdentity(entry: DrObject, first: DrObject | undefined): Problem[] {
  const { source, kind } = entry;
  const { apiVersion } = source.value;
  const metadata = isObject(source.value.metadata) ? source.value.metadata : {};
  const problems: Problem[] = [];
  const fail = (path: string, reason: string, message: string): void =>
    void problems.push({ severity: 'error', path, reason, message });
  if (apiVersion !== API_VERSION) {
    const found = typeof apiVersion === 'string' ? JSON.stringify(apiVersion.slice(0, 100)) : 'no text';
    fail('apiVersion', 'InvalidField', `is ${found}; a ${kind} has ${API_VERSION}`);
  }
  const { name, generateName, namespace } = metadata;
  if (typeof name === 'string' && name !== '')
    problems.push(...checkName(name, 'metadata.name', 'subdomain'));
  else if (typeof generateName !== 'string' || generateName === '') {
    fail('metadata.name', 'InvalidField', 'is missing; must be text');
  }
  if (typeof namespace === 'string') problems.push(...checkName(namespace, 'metadata.namespace', 'label'));
  else if (namespace !== undefined && namespace !== null) {
    fail('metadata.namespace', 'InvalidField', 'must be text');
  }
  if (first !== undefined) {
    const at = `${first.source.file}:${first.source.locate('').line}`;
    fail('metadata.name', 'DuplicateObject', `${kind} "${entry.name}" is written at ${at} already; keep one`);
  }
  return problems;
}

/** Whether this is an error depends on how the installation is set up (S1.5). */
function checkAccount(plan: Record<string, unknown>): Problem[] {
  if (!isObject(plan.spec) || Boolean(plan.spec.serviceAccountName)) return [];
  const message =
    'is missing: the plan is Ready only where the installation sets --default-service-account or --controller-identity; name the ServiceAccount that the actions act as';
  return [{ severity: 'warning', path: 'spec.serviceAccountName', reason: 'NoServiceAccount', message }];
}
