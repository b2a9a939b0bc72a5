import { z } from 'zod';

export const resourceActionSchema = z
  .object({
    operation: z
      .string()
      .max(256)
      .optional()
      .describe('Create (default), Apply, Patch, Replace or Delete. May be a placeholder.'),
    manifest: z.string().min(1).describe('One or several Kubernetes objects in YAML.'),
    force: z
      .boolean()
      .optional()
      .describe(
        'Apply only. Absent or true: take over fields that others own and name them; false: a conflict is an error.',
      ),
  })
  .describe('Kubernetes objects of any kind.');
/** KubernetesResource action (seed: KubernetesResourceAction). */
export type KubernetesResourceAction = z.infer<typeof resourceActionSchema>;
