/** Which plans a plan runs as a part of itself, by the actions of type Plan in its workflows. */
import { rollbackOf } from '../actions/action-defaults.js';
import { mergeParameters } from '../template/parameters.js';
import { findPlaceholders } from '../template/placeholders.js';
import { RenderError, renderString } from '../template/render.js';
import { planSpecSchema } from '../schema/plan.js';
import type { Action, DRPlan, DRPlanSpec, DRWorkflowSpec, Scalar } from '../types.js';

/** An action that runs another plan. */
export interface NestedUse {
  /** Name of the plan, in the namespace of the one that runs it. */
  name: string;
  /** Whether no execution can change the name. */
  fixed: boolean;
  /** Where the name is written. */
  path: string;
}

/** Finds the spec of a workflow that can be used; undefined where there is none. */
export type WorkflowSpecLookup = (namespace: string, name: string) => DRWorkflowSpec | undefined;

/** Whether a workflow has an action, or a rollback, that runs another plan. */
export const nestsPlans = (actions: readonly Action[]): boolean =>
  actions.some((action) => planStepsOf(action, '').length > 0);

/**
 * The plans that a plan runs, as far as that can be told before an execution exists: names that hold outputs, or
 * parameters without a value, are left out. A plan whose spec cannot be read runs nothing.
 */
export function nestedPlans(plan: DRPlan, lookup: WorkflowSpecLookup): NestedUse[] {
  const { name, namespace = 'default' } = plan.metadata;
  const read = planSpecSchema.safeParse(plan.spec);
  return read.success ? nestedPlansOf({ name, namespace, spec: read.data }, lookup) : [];
}

/** The same for a plan whose spec was read already. */
export function nestedPlansOf(
  { name: planName, namespace, spec }: { name: string; namespace: string; spec: DRPlanSpec },
  lookup: WorkflowSpecLookup,
): NestedUse[] {
  return spec.stages.flatMap(({ workflows }, stage) =>
    workflows.flatMap(({ workflowRef, params }, use): NestedUse[] => {
      const at = workflowRef.namespace || namespace;
      const workflow = lookup(at, workflowRef.name);
      if (workflow === undefined || !nestsPlans(workflow.actions)) return [];
      const { values } = mergeParameters(
        {
          workflow: workflow.parameters ?? [],
          plan: spec.globalParams ?? [],
          stage: params ?? [],
        },
        { at: 'plan' },
      );
      const inside = `spec.stages[${stage}].workflows[${use}].workflowRef(${at}/${workflowRef.name}).spec.actions`;
      return workflow.actions
        .flatMap((action, index) => planStepsOf(action, `${inside}[${index}]`))
        .flatMap(({ name: text, path }) => {
          const name = rendered(text, planName, values);
          return name === undefined || name === '' ? [] : [{ name, fixed: isFixed(text), path }];
        });
    }),
  );
}

function planStepsOf(action: Action, path: string): { name: string; path: string }[] {
  const rollback = rollbackOf(action);
  return [
    { step: action, at: path },
    ...(rollback === undefined ? [] : [{ step: rollback, at: `${path}.rollback` }]),
  ].flatMap(({ step, at }) =>
    step.type === 'Plan' && typeof step.plan?.name === 'string'
      ? [{ name: step.plan.name, path: `${at}.plan.name` }]
      : [],
  );
}

function rendered(text: string, planName: string, params: Record<string, Scalar>): string | undefined {
  const known = findPlaceholders(text).placeholders.every(
    ({ reference }) =>
      reference.kind === 'param' || (reference.kind === 'builtIn' && reference.name === 'planName'),
  );
  if (!known) return undefined;
  try {
    return renderString(text, { params, planName, executionName: '', operation: 'Execute', outputs: {} });
  } catch (error) {
    if (error instanceof RenderError) return undefined;
    throw error;
  }
}

const isFixed = (text: string): boolean =>
  findPlaceholders(text).placeholders.every(({ reference }) => reference.kind === 'builtIn');
