import { z } from 'zod';
import { conditionsSchema, PRESERVE } from '../../core/schema.js';
import { parameterSchema } from './common.js';
import type { KubernetesObject } from '../../core/schema.js';
import { actionSchema } from './actions/action.js';

export const executorSchema = z
  .object({
    type: z
      .string()
      .optional()
      .meta({ enum: ['Native', 'Argo', ''], default: 'Native' })
      .describe('Native (default). Argo warns and runs natively.'),
    argoOptions: z.looseObject({}).optional().meta(PRESERVE).describe('Reserved, without effect.'),
  })
  .describe('Reserved: the engine that runs the workflow.');

export const workflowSpecSchema = z
  .object({
    executor: executorSchema.optional(),
    parameters: z.array(parameterSchema).max(1000).optional().describe('Parameters that the actions use.'),
    actions: z.array(actionSchema).min(1).max(2000).describe('Actions, in order.'),
    failurePolicy: z
      .enum(['FailFast', 'Continue'])
      .optional()
      // Not inside lists, see the plan's.
      .meta({ default: 'FailFast' })
      .describe(
        'FailFast (default): the first failed action ends the workflow. Continue: the others still run.',
      ),
  })
  .describe('A reusable list of actions.');
/** Spec of a DRWorkflow. */
export type DRWorkflowSpec = z.infer<typeof workflowSpecSchema>;

export const workflowStatusSchema = z
  .object({
    phase: z.string().optional().describe('Ready or Invalid.'),
    conditions: conditionsSchema.optional(),
    observedGeneration: z.int().optional().describe('Generation of the spec that was checked.'),
  })
  .describe('What was found when the workflow was checked.');
/** Status of a DRWorkflow. */
export type DRWorkflowStatus = z.infer<typeof workflowStatusSchema>;

/** A DRWorkflow object. */
export type DRWorkflow = KubernetesObject<DRWorkflowSpec, DRWorkflowStatus>;
