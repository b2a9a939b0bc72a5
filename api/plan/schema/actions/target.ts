import { z } from 'zod';

export const targetSchema = z
  .object({
    kubeconfigSecretRef: z
      .object({
        name: z
          .string()
          .min(1)
          .max(253)
          .describe("Name of the Secret, in the plan's namespace. May be a placeholder."),
        key: z.string().min(1).max(253).optional().describe('Key in the Secret (default "kubeconfig").'),
      })
      .describe(
        'Kubeconfig of the cluster, with inline data only: certificate-authority-data, and a token or a client certificate.',
      ),
  })
  .describe(
    'Another cluster to act on (Job, KubernetesResource, Wait for an object). Read as the identity of the action; that cluster is acted on as the user of its kubeconfig. A rollback without a target has the one of its action.',
  );
/** The other cluster of an action (added). */
export type ActionTarget = z.infer<typeof targetSchema>;
