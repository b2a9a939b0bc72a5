import { z } from 'zod';
import type { KubernetesObject } from '../../core/schema.js';
import { objectName } from './common.js';
import type { readyStatusSchema } from './run-task.js';

export const runTriggerSpecSchema = z
  .object({
    source: z
      .object({
        name: objectName('Name of the Workspace.'),
        namespace: objectName("Its namespace (default: the trigger's).").optional(),
      })
      .describe('The workspace whose runs it follows.'),
    target: z
      .object({ name: objectName("Name of the Workspace, in the trigger's namespace.") })
      .describe('The workspace that it starts a run of.'),
    enabled: z.boolean().optional().describe('Whether it does (default true).'),
    triggerCondition: z
      .enum(['apply_success'])
      .optional()
      .describe('When it does: apply_success (default), after an apply that ended well.'),
  })
  .describe('Starts a run of a workspace after one of another.');
/** Spec of a RunTrigger. */
export type RunTriggerSpec = z.infer<typeof runTriggerSpecSchema>;

/** A RunTrigger. */
export type RunTrigger = KubernetesObject<RunTriggerSpec, z.infer<typeof readyStatusSchema>>;
