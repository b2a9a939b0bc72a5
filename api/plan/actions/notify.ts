import { z } from 'zod';
import { headerFromSchema, secretKeySchema } from '../schema/actions/secret-key.js';

/** Where a Notify can send to. */
export const NOTIFY_TYPES = ['Webhook', 'CloudEvents', 'Slack', 'Lark', 'Email'] as const;

const emailSchema = z
  .object({
    host: z.string().min(1).max(253).describe('Host of the SMTP server.'),
    port: z
      .int()
      .min(1)
      .max(65535)
      .optional()
      .describe('Port of the SMTP server (default 465 with TLS, 587 with StartTLS, 25 with None).'),
    security: z
      .enum(['TLS', 'StartTLS', 'None'])
      .optional()
      .describe('How the connection is encrypted (default StartTLS, which is insisted on).'),
    from: z.string().min(1).max(320).describe('Address of the sender.'),
    to: z.array(z.string().min(1).max(320)).min(1).max(50).describe('Addresses of the receivers.'),
    credentialsSecretRef: z
      .object({
        name: z.string().min(1).max(253).describe("Name of the Secret, in the plan's namespace."),
      })
      .optional()
      .describe('Secret with the keys username and password. Absent: no login.'),
  })
  .describe('An e-mail over SMTP.');

export const notifyActionSchema = z
  .object({
    type: z
      .enum(NOTIFY_TYPES)
      .describe('Webhook, CloudEvents, Slack (and what is compatible with it), Lark or Email.'),
    url: z
      .string()
      .min(1)
      .max(8192)
      .optional()
      .describe('Where to send (all but Email). Placeholders in path and query are percent-encoded.'),
    urlFrom: z
      .object({ secretKeyRef: secretKeySchema })
      .optional()
      .describe('Instead of url: a Secret that holds it. Slack and Lark addresses are credentials.'),
    headersFrom: z
      .array(headerFromSchema)
      .max(64)
      .optional()
      .describe('Webhook and CloudEvents: headers whose values are kept in Secrets.'),
    signingSecretRef: secretKeySchema.optional().describe('Lark: the secret that signs the message.'),
    email: emailSchema.optional().describe('Server and addresses (type Email).'),
    subject: z
      .string()
      .max(1024)
      .optional()
      .describe('Subject of an e-mail and of an event (default: plan and execution).'),
    template: z
      .string()
      .max(16384)
      .optional()
      .describe('Text of the message. Placeholders are filled in (default: what runs, and where).'),
    insecureSkipVerify: z
      .boolean()
      .optional()
      .describe("Whether the server's certificate goes unchecked (default false)."),
    required: z
      .boolean()
      .optional()
      .describe(
        'Whether the action fails when the message cannot be delivered (default false: it is Skipped, NotDelivered, and the run goes on).',
      ),
  })
  .describe('A message to people or systems.');
/** Notify action (added). */
export type NotifyAction = z.infer<typeof notifyActionSchema>;
