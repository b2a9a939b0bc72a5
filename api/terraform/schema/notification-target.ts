import { z } from 'zod';
import { cel } from '../../core/schema.js';
import type { KubernetesObject } from '../../core/schema.js';
import { DEFAULT_EVENTS, EVENTS, httpUrl, keyReference, objectName } from './common.js';
import type { readyStatusSchema } from './run-task.js';

export const notificationTargetSpecSchema = z
  .object({
    notificationType: z
      .enum(['webhook', 'lark_robot'])
      .describe('webhook: JSON over HTTP; lark_robot: a bot of Lark or Feishu.'),
    endpointUrl: httpUrl('Where it is told; excludes endpointUrlFrom.').optional(),
    endpointUrlFrom: keyReference('Secret with the URL, where that is one itself.').optional(),
    secretRef: keyReference('Key that deliveries are signed with. Absent: they are not signed.').optional(),
    serviceAccountName: objectName('Account that reads URL and key.').optional(),
    customHeaders: z
      .record(z.string(), z.string().max(4096))
      .meta({ maxProperties: 20 })
      .optional()
      .describe('Headers of a webhook.'),
    enabled: z.boolean().optional().describe('Whether it is told (default true).'),
    isGlobal: z
      .boolean()
      .optional()
      .describe(
        'Whether it is told of all workspaces of its namespace; in the global namespace, of all (default false).',
      ),
    globalEvents: z
      .array(z.enum(EVENTS))
      .max(EVENTS.length)
      .optional()
      .describe(`What it is told of as a global target (default ${DEFAULT_EVENTS.join(', ')}).`),
    retryCount: z.int().min(0).max(10).optional().describe('Attempts after the first (default 3).'),
    retryIntervalSeconds: z
      .int()
      .min(1)
      .max(3600)
      .optional()
      .describe('Seconds between two attempts (default 30).'),
    timeoutSeconds: z
      .int()
      .min(5)
      .max(120)
      .optional()
      .describe('Seconds that an attempt may take (default 30).'),
  })
  .meta(
    cel(
      {
        rule: 'has(self.endpointUrl) != has(self.endpointUrlFrom)',
        message: 'either endpointUrl or endpointUrlFrom says where to',
      },
      {
        rule: "!has(self.customHeaders) || self.notificationType == 'webhook'",
        message: 'customHeaders is only for webhooks',
      },
    ),
  )
  .describe('Somebody who is told of runs.');
/** Spec of a NotificationTarget. */
export type NotificationTargetSpec = z.infer<typeof notificationTargetSpecSchema>;

/** A NotificationTarget. */
export type NotificationTarget = KubernetesObject<NotificationTargetSpec, z.infer<typeof readyStatusSchema>>;
