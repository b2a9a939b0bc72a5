import { z } from 'zod';
import { scalar } from '../schema/common.js';

export const planActionSchema = z
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
