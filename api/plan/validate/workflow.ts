import { blockOf } from '../actions/action-defaults.js';
import { findDescriptor } from '../actions/table.js';
import { hookOf, rankOf } from '../order/hooks.js';
import { literalPlaceholders, mergeParameters } from '../template/parameters.js';
import { dedupeProblems } from '../../core/problem.js';
import type { Problem } from '../../core/problem.js';
import { checkOutputs, mentionsOf } from '../template/references.js';
import type { Mention } from '../template/references.js';
import { workflowSpecSchema } from '../schema/workflow.js';
import type { Action, DRWorkflowSpec, Parameter } from '../types.js';
import { checkAction } from './action.js';
import { error, show, warning } from '../../core/fields.js';
import { checkDependencies } from './graph.js';
import { checkReferable, checkUnique } from './names.js';
import { checkOutputFields } from './outputs.js';
import { checkReadable } from './readable.js';
import type { ReadableSpec } from './readable.js';
import { checkUnused } from './unused.js';

/** Options of {@link validateWorkflow}. */
export interface WorkflowCheckOptions {
  /**
   * Parameters that plans give to the workflow. One that it uses, neither declared nor among these, is an error.
   * Absent: nothing is known of plans, and it is a warning.
   */
  supplied?: ReadonlySet<string>;
}

/**
 * Everything that can be said about a DRWorkflow from its own text. Any value is taken; a value of the
 * wrong shape gives problems, never an exception.
 *
 * Parameters that actions use but the workflow does not declare are errors unless a plan supplies them (S2.4). What a
 * plan itself must give is decided by the check of that plan.
 */
export function validateWorkflow(workflow: unknown, options: WorkflowCheckOptions = {}): Problem[] {
  return checkReadable(READABLE, workflow, (spec) => checkWorkflowSpec(spec, options));
}

const READABLE: ReadableSpec<DRWorkflowSpec> = {
  schema: workflowSpecSchema,
  kind: 'DRWorkflow',
  entries: { field: 'actions', standIn: (name) => ({ name, type: 'unreadable' }) },
};

function checkWorkflowSpec(spec: DRWorkflowSpec, { supplied }: WorkflowCheckOptions): Problem[] {
  const { actions, parameters = [] } = spec;
  const path = 'spec.actions';
  const mentions = actions.map((action, index) => mentionsOf(action, `${path}[${index}]`));
  return dedupeProblems([
    ...checkExecutor(spec),
    ...checkDeclarations(parameters),
    ...checkUnique(actions, path, 'action'),
    ...checkReferable(actions, path, 'action'),
    ...checkDependencies(actions, path, 'action'),
    ...checkHookOrder(actions, path),
    ...actions.flatMap((action, index) => checkAction(action, `${path}[${index}]`)),
    ...actions.flatMap((action, index) => advise(action, `${path}[${index}]`)),
    ...mentions.flat().flatMap((mention) => mention.problems),
    ...checkOutputs(actions, mentions),
    ...checkOutputFields(actions, path),
    ...checkUndeclared(mentions.flat(), parameters, supplied),
    ...checkUnused(parameters, actions, mentions.flat()),
  ]);
}

/** Reason for a parameter that is used and not declared. */
export const UNDECLARED = 'UndeclaredParameter';

function checkExecutor(spec: DRWorkflowSpec): Problem[] {
  const type = spec.executor?.type;
  if (type === undefined || type === '' || type === 'Native') return [];
  const path = 'spec.executor.type';
  if (type === 'Argo') {
    return [warning(path, 'UnsupportedExecutor', 'is Argo, which is reserved; the workflow runs natively')];
  }
  return [error(path, 'InvalidField', `is ${show(type)}; allowed are Native, Argo`)];
}

function checkDeclarations(parameters: readonly Parameter[]): Problem[] {
  const path = 'spec.parameters';
  const { problems } = mergeParameters({ workflow: parameters }, { at: 'plan' });
  return [
    ...checkReferable(parameters, path, 'parameter'),
    // Whoever uses the workflow gives the value.
    ...problems.filter((problem) => problem.reason !== 'MissingParameter'),
    ...literalPlaceholders(parameters, path),
  ];
}

/** A hook comes before or after the actions that are none, whatever it depends on. */
function checkHookOrder(actions: readonly Action[], path: string): Problem[] {
  const byName = new Map(actions.map((action) => [action.name, action]));
  const rank = (action: Action): number => rankOf({ hook: hookOf(action)?.position });
  const what = ({ hookType }: Action): string => (hookType ? `a ${hookType} hook` : 'no hook');
  return actions.flatMap((action, index) =>
    (action.dependsOn ?? []).flatMap((name, dependency) => {
      const other = byName.get(name);
      if (other === undefined || rank(other) <= rank(action)) return [];
      const message = `makes "${action.name}" (${what(action)}) wait for "${name}" (${what(other)}), which runs after it: pre hooks run first, post hooks last; remove it, or correct hookType`;
      return [error(`${path}[${index}].dependsOn[${dependency}]`, 'DependencyCycle', message)];
    }),
  );
}

function advise(action: Action, path: string): Problem[] {
  const descriptor = findDescriptor(action.type);
  const block = blockOf(action);
  if (descriptor === undefined || block === undefined) return [];
  return descriptor.advise?.(block, action, `${path}.${descriptor.field}`) ?? [];
}

function checkUndeclared(
  mentions: readonly Mention[],
  parameters: readonly Parameter[],
  supplied: ReadonlySet<string> | undefined,
): Problem[] {
  const declared = new Set(parameters.map((parameter) => parameter.name));
  return mentions.flatMap((mention) =>
    [...mention.requiredParams]
      // The execution's mode is a parameter too.
      .filter((name) => !declared.has(name) && name !== 'mode')
      .map((name) => {
        const what = `uses parameter "${name}", which spec.parameters does not declare`;
        return supplied === undefined || supplied.has(name)
          ? warning(
              mention.path,
              UNDECLARED,
              `${what}; every plan must supply it: declare it, or correct the name`,
            )
          : error(mention.path, UNDECLARED, `${what} and no plan supplies; declare it, or correct the name`);
      }),
  );
}
