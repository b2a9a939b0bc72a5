import { z } from 'zod';
import type { ActionDescriptor } from '../../actions/descriptor.js';
import { ACTION_TYPES, ACTIONS } from '../../actions/table.js';
import type { ActionType } from '../../actions/table.js';
import { cel, PRESERVE } from '../../../core/schema.js';
import type { CelRule } from '../../../core/schema.js';
import { stepFields } from './step-fields.js';

const descriptors = Object.entries<ActionDescriptor>(ACTIONS);

/** An action has a field for the block of each type, in the order of the table. */
type Blocks = {
  [T in ActionType as (typeof ACTIONS)[T]['field']]: z.ZodOptional<(typeof ACTIONS)[T]['schema']>;
};
const blocks = Object.fromEntries(
  descriptors.map(([, { field, schema, title }]) => [field, schema.optional().describe(title)]),
) as unknown as Blocks;

const actionFields = {
  name: z.string().min(1).max(253).describe('Name of the action, unique in its workflow.'),
  type: z
    .string()
    .min(1)
    .meta({ enum: [...ACTION_TYPES] })
    .describe(`One of ${ACTION_TYPES.join(', ')}.`),
  ...blocks,
  ...stepFields,
};

/** A custom rollback as it may be written: `name` and `type` may be left out (S5.47). */
export const rollbackSchema = z.object({
  ...actionFields,
  name: actionFields.name.optional(),
  type: actionFields.type.optional(),
});
/** A custom rollback action. */
export type RollbackAction = z.infer<typeof rollbackSchema>;

const blockRules = descriptors.map(([type, { field }]): CelRule => ({
  rule: `self.type != '${type}' || has(self.${field})`,
  message: `an action of type ${type} needs the field ${field}`,
}));

/** Seed: Validation Rules, DRWorkflow, 6. */
const patchRules = descriptors
  .filter(([, { operations }]) => operations?.includes('Patch'))
  .map(([, { field }]): CelRule => ({
    rule: `!has(self.${field}) || !has(self.${field}.operation) || self.${field}.operation != 'Patch' || has(self.rollback)`,
    message: `${field}.operation Patch needs a rollback in the action: say how the patch is undone`,
  }));

export const actionSchema = z
  .object({
    ...actionFields,
    rollback: z
      .looseObject({})
      .optional()
      .meta(PRESERVE)
      .describe('An action that undoes this one. Without a type it has the type of the action it undoes.'),
  })
  .meta(cel(...blockRules, ...patchRules))
  .describe('One step of a workflow.');
/** An action (in the original: Action). `rollback` is stored unchecked and read with {@link rollbackSchema}. */
export type Action = z.infer<typeof actionSchema>;
