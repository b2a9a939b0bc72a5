import { z } from 'zod';
import { objectReferenceSchema } from '../../core/schema.js';
import { scalar } from '../schema/common.js';
import { parseDuration } from '../../core/duration.js';
import type { Problem } from '../../core/problem.js';
import type { StepFields } from '../schema/actions/step-fields.js';
import { renderString } from '../template/render.js';
import { warning } from '../../core/fields.js';
import { checkName, checkUnique } from '../validate/names.js';
import { textsOf, trySample } from '../validate/sample.js';
import type { ActionDescriptor } from './descriptor.js';
import type { StepInput } from './step-input.js';

const planActionSchema = z
  .object({
    name: z
      .string()
      .min(1)
      .max(1024)
      .describe("Name of the DRPlan to run, in the plan's own namespace. May be a placeholder."),
    params: z
      .array(
        z
          .object({
            name: z.string().min(1).max(253).describe('Name of the parameter.'),
            value: scalar.describe('Value of the parameter. Placeholders are filled in.'),
          })
          .describe('A parameter of the nested run.'),
      )
      .max(200)
      .optional()
      .describe('Parameters of the nested run; win over those of its plan, as those of any execution do.'),
    runMode: z
      .enum(['Planned', 'Emergency', 'Drill'])
      .optional()
      .describe('What kind of run the nested one is (default: that of the run it is part of).'),
    rerun: z
      .enum(['Allowed'])
      .optional()
      .describe(
        'Allowed: the nested plan may be executed again without a revert in between (default: as the execution says).',
      ),
  })
  .describe('A run of another plan: an execution of its own, which this one waits for.');
/** Plan action (added). */
export type PlanAction = z.infer<typeof planActionSchema>;

/** Plan: a run of another plan, which workflow code starts through the bridge and waits for. */
export const plan = {
  field: 'plan',
  schema: planActionSchema,
  title: 'The plan to run (type Plan).',
  preflight: 'nothing',
  traits: { isStep: true },
  // A nested plan runs in mode Delete itself.
  deletion: 'kept',
  outputs: {
    planExecutionRef: objectReferenceSchema
      .extend({
        plan: z.string().describe('Name of the DRPlan.'),
        phase: z.string().describe('Phase of the execution when it was last looked at.'),
      })
      .optional()
      .describe('Plan: the nested execution.'),
  },
  names: { name: 'subdomain' },
  check: checkPlan,
  step: stepOf,
  summary: ({ name }) => `runs plan ${name}`,
} as const satisfies ActionDescriptor<PlanAction>;

/** Checks a Plan by itself; whether there is such a plan, and no cycle, is the check of the plan that uses it. */
function checkPlan(block: PlanAction, step: StepFields, path: string): Problem[] {
  const { name, params = [] } = block;
  const problems = [
    ...checkName(name, `${path}.name`, 'subdomain'),
    ...checkUnique(params, `${path}.params`, 'parameter'),
  ];
  for (const [index, { value }] of params.entries()) {
    if (typeof value !== 'string') continue;
    const where = `${path}.params[${index}].value`;
    const sample = trySample(where, textsOf(value), (scope) => renderString(value, scope));
    if ('problems' in sample) problems.push(...sample.problems);
  }
  const outer = path.replace(/\.plan$/, '');
  for (const field of ['totalTimeout', 'retryPolicy'] as const) {
    if (step[field] === undefined) continue;
    const text =
      field === 'retryPolicy'
        ? 'has no effect on a Plan: a plan that has failed is never run again by itself; its own actions are retried'
        : 'has no effect on a Plan; write timeout';
    problems.push(warning(`${outer}.${field}`, 'IgnoredField', text));
  }
  return problems;
}

/** Without a timeout there is no limit, and 0s says the same. */
function stepOf(_: PlanAction, { timeout = '' }: StepFields): StepInput {
  const timeoutMs = parseDuration(timeout) || undefined;
  return { kind: 'plan', ...(timeoutMs !== undefined && { timeoutMs }) };
}
