import { isAccountName } from '../authority.js';
import { MAX_ACTIONS } from '../snapshot/parts.js';
import { isObject } from '../../core/json.js';
import { literalPlaceholders, mergeParameters, unknownParameters } from '../template/parameters.js';
import type { MergedParameters } from '../template/parameters.js';
import { dedupeProblems, describeProblems, errorsOf } from '../../core/problem.js';
import type { WorkflowSpecLookup } from '../order/nested-plans.js';
import type { Problem } from '../../core/problem.js';
import { mentionsOf, valuesUsed, whenMention } from '../template/references.js';
import type { Mention } from '../template/references.js';
import { planSpecSchema } from '../schema/plan.js';
import type { Action, DRPlanSpec, DRWorkflow, DRWorkflowSpec, Parameter, Scalar, Stage } from '../types.js';
import { checkCondition } from './action.js';
import { error, show, warning } from '../../core/fields.js';
import { checkDependencies } from './graph.js';
import { checkPriorities } from './localizations.js';
import type { ActionUse } from './localizations.js';
import { checkReferable, checkUnique } from './names.js';
import { checkNesting } from './nesting.js';
import type { PlanLookup } from './nesting.js';
import { checkReachable } from './reachable.js';
import { checkReadable } from './readable.js';
import type { ReadableSpec } from './readable.js';
import { checkRenderedNames } from './rendered-names.js';
import { validateWorkflow } from './workflow.js';

/** Finds a DRWorkflow. */
export type WorkflowLookup = (namespace: string, name: string) => DRWorkflow | undefined;

/** What {@link validatePlan} may be given. */
export interface PlanCheckOptions {
  /** Problems of a workflow, for a caller that already knows them (default {@link validateWorkflow}). */
  workflowProblems?: (workflow: DRWorkflow) => readonly Problem[];
  /** Finds the plans that this one runs as parts of itself. Absent: nothing is said about them. */
  plan?: PlanLookup;
}

/**
 * Everything that can be said about a DRPlan and the workflows it uses before an execution exists. Any value is taken;
 * a value of the wrong shape gives problems, never an exception.
 *
 * Errors about workflows have the reasons `WorkflowNotFound` and `WorkflowInvalid`. An unmet `required` only warns, as
 * an execution may still give the value (S2.2).
 */
export function validatePlan(
  plan: unknown,
  lookup: WorkflowLookup,
  options: PlanCheckOptions = {},
): Problem[] {
  return checkReadable(READABLE, plan, (spec) => checkPlanSpec(plan, spec, lookup, options));
}

const READABLE: ReadableSpec<DRPlanSpec> = {
  schema: planSpecSchema,
  kind: 'DRPlan',
  entries: { field: 'stages', standIn: (name) => ({ name, workflows: [{ workflowRef: { name: '?' } }] }) },
};

function checkPlanSpec(
  plan: unknown,
  spec: DRPlanSpec,
  lookup: WorkflowLookup,
  options: PlanCheckOptions,
): Problem[] {
  const metadata = isObject(plan) && isObject(plan.metadata) ? plan.metadata : {};
  const namespace = typeof metadata.namespace === 'string' ? metadata.namespace : 'default';
  const name = typeof metadata.name === 'string' ? metadata.name : '';
  const workflowProblems = options.workflowProblems ?? validateWorkflow;
  const problems = new PlanCheck(spec, { namespace, name }, lookup, workflowProblems).run();
  if (options.plan === undefined) return problems;
  const workflow: WorkflowSpecLookup = (ns, used) => {
    const found = lookup(ns, used);
    return found === undefined || errorsOf(workflowProblems(found)).length > 0 ? undefined : found.spec;
  };
  const nesting = checkNesting({ namespace, name, spec }, { workflow, plan: options.plan });
  return dedupeProblems([...problems, ...nesting]);
}

/** Never rendered, and never empty: an empty name could come to mean somebody with more rights. */
function checkAccountName(name: string | undefined): Problem[] {
  if (name === undefined || isAccountName(name)) return [];
  const message = `is ${show(name)}; must be the name of a ServiceAccount in the plan's namespace. Leave the field out for the default of the installation`;
  return [error('spec.serviceAccountName', 'InvalidName', message)];
}

class PlanCheck {
  readonly #spec: DRPlanSpec;
  readonly #namespace: string;
  readonly #name: string;
  readonly #lookup: WorkflowLookup;
  readonly #workflowProblems: (workflow: DRWorkflow) => readonly Problem[];
  readonly #problems: Problem[] = [];
  /** Workflows by key with their mentions: a plan often uses the same one many times. */
  readonly #workflows = new Map<string, { spec: DRWorkflowSpec; mentions: Mention[] } | undefined>();
  /** Uses of an action with values that have been judged: a plan often repeats them. */
  readonly #named = new Set<string>();
  /** Localizations that are written, each once for the same values. */
  readonly #localizations: ActionUse[] = [];
  /** Parameters that some workflow declares or uses, or some condition reads. */
  readonly #known = new Set<string>();

  constructor(
    spec: DRPlanSpec,
    plan: { namespace: string; name: string },
    lookup: WorkflowLookup,
    workflowProblems: (workflow: DRWorkflow) => readonly Problem[],
  ) {
    this.#spec = spec;
    this.#namespace = plan.namespace;
    this.#name = plan.name;
    this.#lookup = lookup;
    this.#workflowProblems = workflowProblems;
  }

  run(): Problem[] {
    const { stages, globalParams = [] } = this.#spec;
    const path = 'spec.stages';
    this.#problems.push(
      ...checkUnique(stages, path, 'stage'),
      ...checkDependencies(stages, path, 'stage'),
      ...checkReferable(globalParams, 'spec.globalParams', 'parameter'),
      ...literalPlaceholders(globalParams, 'spec.globalParams'),
      ...checkAccountName(this.#spec.serviceAccountName),
      ...checkOnFailure(this.#spec),
      ...checkReserved(globalParams),
      ...checkReachable(this.#spec),
    );
    let actions = 0;
    for (const [index, stage] of stages.entries()) {
      this.#checkStage(stage, `${path}[${index}]`);
      for (const [use] of stage.workflows.entries()) actions += this.#checkUse(stage, index, use);
    }
    this.#problems.push(...checkPriorities(this.#localizations, this.#name));
    if (actions > MAX_ACTIONS) {
      const message = `has ${actions} actions in all; a run may have ${MAX_ACTIONS}: split the plan`;
      this.#problems.push(error(path, 'PlanTooLarge', message));
    }
    // With a workflow missing, nobody knows what it would have declared.
    if (![...this.#workflows.values()].includes(undefined)) {
      this.#problems.push(...unknownParameters(globalParams, this.#known, 'spec.globalParams'));
    }
    return dedupeProblems(this.#problems);
  }

  #checkStage(stage: Stage, path: string): void {
    if (stage.maxConcurrency !== undefined && stage.parallel !== true) {
      this.#problems.push(
        warning(`${path}.maxConcurrency`, 'IgnoredField', 'has an effect with parallel: true only'),
      );
    }
    if (stage.when === undefined) return;
    const where = `${path}.when`;
    this.#problems.push(...checkCondition(stage.when, where));
    const mention = whenMention(stage.when, where);
    for (const name of mention.params) this.#known.add(name);
    const merged = mergeParameters(
      { workflow: [], plan: this.#spec.globalParams ?? [] },
      { at: 'plan', paths: { plan: 'spec.globalParams' } },
    );
    for (const name of undefinedIn(mention, merged)) {
      const message = `uses parameter "${name}", which globalParams does not give; an execution must: add it, or correct the name`;
      this.#problems.push(warning(where, 'MissingParameter', message));
    }
    const names = new Set(this.#spec.stages.map((other) => other.name));
    for (const name of [...mention.phases].filter((phase) => !names.has(phase))) {
      const message = `reads the phase of stage "${name}", which the plan does not have; its stages are ${[...names].join(', ')}`;
      this.#problems.push(error(where, 'UndefinedOutput', message));
    }
    if (mention.outputs.size > 0 || mention.dynamic.has('outputs')) {
      const message =
        'reads outputs, which exist inside a workflow only; use phases, or the when of an action';
      this.#problems.push(error(where, 'UndefinedOutput', message));
    }
  }

  /** Checks one use of a workflow and returns how many actions it has. */
  #checkUse(stage: Stage, stageIndex: number, index: number): number {
    const use = stage.workflows[index];
    if (use === undefined) return 0;
    const path = `spec.stages[${stageIndex}].workflows[${index}]`;
    this.#problems.push(...literalPlaceholders(use.params ?? [], `${path}.params`));
    const namespace = use.workflowRef.namespace || this.#namespace;
    const key = `${namespace}/${use.workflowRef.name}`;
    if (!this.#workflows.has(key))
      this.#workflows.set(key, this.#load(namespace, use.workflowRef.name, path));
    const workflow = this.#workflows.get(key);
    if (workflow === undefined) return 0;

    const { parameters = [], actions } = workflow.spec;
    const declared = new Set(parameters.map((parameter) => parameter.name));
    for (const name of declared) this.#known.add(name);
    const inside = `${path}.workflowRef(${key})`;
    const merged = mergeParameters(
      { workflow: parameters, plan: this.#spec.globalParams ?? [], stage: use.params ?? [] },
      {
        at: 'plan',
        paths: { workflow: `${inside}.spec.parameters`, plan: 'spec.globalParams', stage: `${path}.params` },
      },
    );
    this.#problems.push(...merged.problems);
    const missing = new Set(
      parameters.filter((parameter) => parameter.required === true).map((parameter) => parameter.name),
    );
    for (const mention of workflow.mentions) {
      for (const name of mention.params) this.#known.add(name);
      for (const name of undefinedIn(mention, merged)) {
        // An unmet `required` has been reported by the merge.
        if (!missing.has(name))
          this.#problems.push(undefinedParameter(name, declared.has(name), inside, mention));
      }
    }
    this.#checkNames(key, actions, merged.values, inside);
    return actions.length;
  }

  #checkNames(key: string, actions: readonly Action[], values: Record<string, Scalar>, inside: string): void {
    for (const [index, action] of actions.entries()) {
      const path = `${inside}.spec.actions[${index}]`;
      const params = valuesUsed(mentionsOf(action, path), values);
      const use = JSON.stringify([key, index, params]);
      if (this.#named.has(use)) continue;
      this.#named.add(use);
      this.#problems.push(...checkRenderedNames(action, { planName: this.#name, params }, path));
      if (action.type === 'Localization') this.#localizations.push({ action, params, path });
    }
  }

  #load(
    namespace: string,
    name: string,
    path: string,
  ): { spec: DRWorkflowSpec; mentions: Mention[] } | undefined {
    const found = this.#lookup(namespace, name);
    const where = `${path}.workflowRef`;
    if (found === undefined) {
      const message = `DRWorkflow "${namespace}/${name}" does not exist; create it or correct the reference`;
      this.#problems.push(error(where, 'WorkflowNotFound', message));
      return undefined;
    }
    const errors = errorsOf(this.#workflowProblems(found));
    if (errors.length > 0) {
      const shown = describeProblems(errors.slice(0, 3));
      const more = errors.length > 3 ? `; and ${errors.length - 3} more` : '';
      const message = `DRWorkflow "${namespace}/${name}" is invalid: ${shown}${more}`;
      this.#problems.push(error(where, 'WorkflowInvalid', message));
      return undefined;
    }
    const mentions = found.spec.actions.flatMap((action, index) =>
      mentionsOf(action, `spec.actions[${index}]`),
    );
    return { spec: found.spec, mentions };
  }
}

function undefinedIn(mention: Mention, { values, pending }: MergedParameters): string[] {
  return [...mention.requiredParams].filter((name) => values[name] === undefined && !pending.has(name));
}

function undefinedParameter(name: string, isDeclared: boolean, inside: string, mention: Mention): Problem {
  const path = `${inside}.${mention.path}`;
  return isDeclared || name === 'mode'
    ? warning(
        path,
        'MissingParameter',
        `uses parameter "${name}", which has no value yet; an execution must give it`,
      )
    : error(
        path,
        'UndefinedParameter',
        `uses parameter "${name}", which neither the workflow declares nor this plan gives; declare it, give it, or correct the name`,
      );
}

function checkReserved(params: readonly Parameter[]): Problem[] {
  return params.flatMap(({ name }, index) => {
    if (name !== 'mode') return [];
    const message =
      'is mode, which spec.mode of an execution replaces; conditions and hooks go by that, never by this parameter';
    return [warning(`spec.globalParams[${index}].name`, 'ReservedParameter', message)];
  });
}

function checkOnFailure(spec: DRPlanSpec): Problem[] {
  if (spec.failurePolicy !== 'Continue' || spec.onFailure === undefined || spec.onFailure === 'Stop')
    return [];
  const message = `is ${spec.onFailure}, which happens where the plan would stop; with failurePolicy Continue it does not`;
  return [warning('spec.onFailure', 'IgnoredField', message)];
}
