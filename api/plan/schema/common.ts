import { z } from 'zod';
import { PRESERVE } from '../../core/schema.js';

/** Begins a placeholder: what a text holds that has one is not known before the run. */
const PLACEHOLDER = String.raw`\{\{|\$\(`;

/**
 * Lets the API server refuse what is none of some values and holds no placeholder. An `enum` alone would refuse
 * placeholders; empty means the default.
 */
export const oneOfOrPlaceholder = (values: readonly string[], options: { anyCase?: boolean } = {}) => ({
  anyOf: [
    { enum: [...values, ''] },
    {
      pattern:
        options.anyCase === true ? `^(${values.map(inAnyCase).join('|')})$|${PLACEHOLDER}` : PLACEHOLDER,
    },
  ],
});

/** The `operation` of what an action writes: one of these, the first where it is absent, or a placeholder. */
export const operationField = (operations: readonly string[]) => {
  const [first = '', ...others] = operations;
  const last = others.pop() ?? '';
  return z
    .string()
    .max(256)
    .optional()
    .meta(oneOfOrPlaceholder(operations))
    .describe(`${[`${first} (default)`, ...others].join(', ')} or ${last}. May be a placeholder.`);
};

/** A pattern for a word in upper and lower case, as every dialect of regular expressions knows it. */
const inAnyCase = (word: string): string =>
  [...word].map((letter) => `[${letter.toUpperCase()}${letter.toLowerCase()}]`).join('');

/** A value of a parameter: written as a string in the original; numbers and booleans are taken too. */
export const scalar = z
  .union([z.string(), z.number(), z.boolean()], 'must be text, a number, true or false')
  .meta(PRESERVE);
/** A value of a parameter. */
export type Scalar = z.infer<typeof scalar>;

export const parameterSchema = z
  .object({
    name: z
      .string()
      .min(1)
      .max(253)
      .describe('Name of the parameter. Used in placeholders as {{ .params.NAME }} or $(params.NAME).'),
    type: z
      .enum(['string', 'number', 'boolean'])
      .optional()
      .describe('Type the value must have: string (default), number or boolean.'),
    required: z
      .boolean()
      .optional()
      .describe('Whether a non-empty value must be there when the run starts (default false).'),
    default: scalar.optional().describe('Value used where no higher level gives one.'),
    value: scalar
      .optional()
      .describe('Value given at this level; wins over default. An entry with neither overrides nothing.'),
    valueFrom: z
      .object({
        manifestRef: z
          .object({
            apiVersion: z.string().min(1).max(253).describe('API version of the object.'),
            kind: z.string().min(1).max(253).describe('Kind of the object; never Secret.'),
            namespace: z
              .string()
              .max(1024)
              .optional()
              .describe("Namespace of the object (default: the plan's). Placeholders are filled in."),
            name: z
              .string()
              .max(1024)
              .optional()
              .describe('Name of the object; excludes labelSelector. Placeholders are filled in.'),
            labelSelector: z
              .string()
              .max(4096)
              .optional()
              .describe('Label selector such as app=shop,tier=db. Placeholders are filled in.'),
            jsonPath: z
              .string()
              .min(1)
              .max(1024)
              .describe('Path of the value as kubectl knows it, such as {.spec.replicas}.'),
            select: z
              .enum(['Last', 'First', 'Single', 'Any'])
              .optional()
              .describe('Which of several: Last created (default), First, Single (more are an error), Any.'),
          })
          .optional()
          .describe('A field of an object.'),
      })
      .optional()
      .describe(
        'Takes the value from an object of the cluster, once, before the run starts, as the identity of its actions. In a plan, a stage reference or an execution; excludes value.',
      ),
    description: z.string().max(4096).optional().describe('What the parameter is for.'),
  })
  .describe(
    'A parameter: a declaration in a workflow, a value in a plan, a stage reference or an execution.',
  );
/** A parameter declaration or value (in the original: Parameter; `value` is of its later releases). */
export type Parameter = z.infer<typeof parameterSchema>;
