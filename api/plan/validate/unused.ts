import { isActionType } from '../actions/table.js';
import type { Problem } from '../../core/problem.js';
import type { Mention } from '../template/references.js';
import type { Action, Parameter } from '../types.js';
import { warning } from '../../core/fields.js';

/**
 * Parameters that a workflow declares and no action reads: a value given for one changes nothing. Reason
 * `UnusedParameter`. Says nothing while an action has a type that cannot be read.
 */
export function checkUnused(
  parameters: readonly Parameter[],
  actions: readonly Action[],
  mentions: readonly Mention[],
): Problem[] {
  if (!actions.every((action) => isActionType(action.type))) return [];
  if (mentions.some((mention) => mention.dynamic.has('params'))) return [];
  const used = new Set(mentions.flatMap((mention) => [...mention.params]));
  return parameters.flatMap(({ name }, index) =>
    used.has(name)
      ? []
      : [
          warning(
            `spec.parameters[${index}]`,
            'UnusedParameter',
            `parameter "${name}" is used by no action, so its value changes nothing; use it, or remove it`,
          ),
        ],
  );
}
