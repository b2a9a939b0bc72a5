import { z } from 'zod';
import { oneOfOrPlaceholder } from '../schema/common.js';
import { OPERATIONS } from '../schema/actions/operations.js';

export const resourceActionSchema = z
  .object({
    operation: z
      .string()
      .max(256)
      .optional()
      .meta(oneOfOrPlaceholder(OPERATIONS.KubernetesResource))
      .describe('Create (default), Apply, Patch, Replace or Delete. May be a placeholder.'),
    manifest: z.string().min(1).describe('One or several Kubernetes objects in YAML.'),
    force: z
      .boolean()
      .optional()
      .describe(
        'Apply only. Absent or true: take over fields that others own and name them; false: a conflict is an error.',
      ),
    patchType: z
      .enum(['merge', 'strategic'])
      .optional()
      .describe(
        'Patch only. merge (default): lists are replaced as a whole; strategic: items of lists are merged by their names, for kinds of Kubernetes itself.',
      ),
    fieldValidation: z
      .enum(['Strict', 'Warn'])
      .optional()
      .describe(
        'What is done about fields that the kind does not have. Strict (default): the action fails; Warn: they are dropped.',
      ),
  })
  .describe('Kubernetes objects of any kind.');
/** KubernetesResource action (in the original: KubernetesResourceAction). */
export type KubernetesResourceAction = z.infer<typeof resourceActionSchema>;
