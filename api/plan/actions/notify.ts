import { z } from 'zod';
import { headerFromSchema, secretKeySchema } from '../schema/actions/secret-key.js';
import type { Problem } from '../../core/problem.js';
import type { StepFields } from '../schema/actions/step-fields.js';
import { findPlaceholders } from '../template/placeholders.js';
import { renderString } from '../template/render.js';
import { SECRET_NAME } from '../template/secret-names.js';
import { error, show, warning } from '../../core/fields.js';
import { checkHeaderNames, checkUrl, checkVerification, refusedUrl } from '../validate/requests.js';
import { isTemplated, trySample } from '../validate/sample.js';
import type { ActionDescriptor } from './descriptor.js';

/** Where a Notify can send to. */
const NOTIFY_TYPES = ['Webhook', 'CloudEvents', 'Slack', 'Lark', 'Email'] as const;

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

const notifyActionSchema = z
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

/** Notify: a message. A failover does not wait for a chat server, and goes on without it. */
export const notify = {
  field: 'notify',
  schema: notifyActionSchema,
  title: 'The message (type Notify).',
  preflight: 'look',
  timeoutMs: 15_000,
  check: checkNotify,
  changesNothing: () => true,
  isOptional: ({ required }) => required !== true,
  refusals: ({ url }, policy) => refusedUrl(url, policy, 'notify.url'),
  // The address of a chat is the right to post there.
  carriesSecret: ({ type, url }) => url !== undefined && (type === 'Slack' || type === 'Lark'),
  summary: ({ type }) => `by ${type}`,
} as const satisfies ActionDescriptor<NotifyAction>;

/** An address, perhaps with a name before it: `Ops <ops@example.org>`. */
const ADDRESS = /^(?:[^<>\r\n,;]*<[^\s<>@,;]+@[^\s<>@,;]+>|[^\s<>@,;]+@[^\s<>@,;]+)$/;

/** Fields that only some kinds of message have. */
const OWN_FIELDS = {
  url: ['Webhook', 'CloudEvents', 'Slack', 'Lark'],
  urlFrom: ['Webhook', 'CloudEvents', 'Slack', 'Lark'],
  headersFrom: ['Webhook', 'CloudEvents'],
  signingSecretRef: ['Lark'],
  email: ['Email'],
} as const satisfies Partial<Record<keyof NotifyAction, readonly NotifyAction['type'][]>>;

/** Checks a message: where it goes, and that no parameter that holds a secret is sent. */
function checkNotify(block: NotifyAction, _: StepFields, path: string): Problem[] {
  const { type } = block;
  const problems = Object.entries(OWN_FIELDS).flatMap(([field, types]) =>
    block[field as keyof typeof OWN_FIELDS] === undefined || (types as readonly string[]).includes(type)
      ? []
      : [
          error(
            `${path}.${field}`,
            'InvalidField',
            `belongs to type ${types.join(', ')}, and this is ${type}; remove it`,
          ),
        ],
  );
  problems.push(...checkVerification(block, path));
  for (const field of ['subject', 'template'] as const) {
    problems.push(...checkText(block[field], `${path}.${field}`));
  }
  return [...problems, ...(type === 'Email' ? checkEmail(block, path) : checkAddress(block, path))];
}

function checkText(text: string | undefined, path: string): Problem[] {
  if (text === undefined) return [];
  const sample = trySample(path, [text], (scope) => renderString(text, scope));
  const problems = 'problems' in sample ? sample.problems : [];
  for (const { reference } of findPlaceholders(text).placeholders) {
    if (reference.kind !== 'param' || !SECRET_NAME.test(reference.name)) continue;
    problems.push(
      error(
        path,
        'SecretInNotification',
        `tells parameter "${reference.name}", whose name says that it is a secret; leave it out of the message, or rename it`,
      ),
    );
  }
  return problems;
}

function checkAddress(block: NotifyAction, path: string): Problem[] {
  const { type, url, urlFrom } = block;
  if ((url === undefined) === (urlFrom === undefined)) {
    const found = url === undefined ? 'neither' : 'both';
    return [error(path, 'InvalidField', `has ${found} of url and urlFrom; write one of them`)];
  }
  const problems = checkHeaderNames(block.headersFrom ?? [], `${path}.headersFrom`);
  if (url === undefined) return problems;
  problems.push(...checkUrl(url, `${path}.url`));
  if (type === 'Slack' || type === 'Lark') {
    problems.push(
      warning(
        `${path}.url`,
        'SecretInSpec',
        `whoever knows the address of a ${type} chat can post there; keep it in a Secret and use urlFrom`,
      ),
    );
  }
  return problems;
}

function checkEmail({ email, insecureSkipVerify }: NotifyAction, path: string): Problem[] {
  if (email === undefined) {
    return [error(`${path}.email`, 'InvalidField', 'is missing; type Email needs host, from and to')];
  }
  const problems: Problem[] = [];
  for (const [where, address] of [
    [`${path}.email.from`, email.from] as const,
    ...email.to.map((to, index) => [`${path}.email.to[${index}]`, to] as const),
  ]) {
    if (isTemplated(address) || ADDRESS.test(address)) continue;
    problems.push(
      error(where, 'InvalidField', `is ${show(address)}; must be an address such as ops@example.org`),
    );
  }
  if (email.security === 'None') {
    problems.push(
      email.credentialsSecretRef === undefined
        ? warning(
            `${path}.email.security`,
            'InsecureTransport',
            'is None: the message can be read and changed on the way',
          )
        : error(
            `${path}.email.security`,
            'InvalidField',
            'is None, and the password would be sent in clear; use TLS or StartTLS',
          ),
    );
  }
  if (insecureSkipVerify === true && email.security === 'None') {
    problems.push(warning(`${path}.insecureSkipVerify`, 'IgnoredField', 'has no effect without TLS'));
  }
  return problems;
}
