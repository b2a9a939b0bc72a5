import { createHmac } from 'node:crypto';
import { renderString } from '../../../api/plan/template/render.js';
import type { RenderScope } from '../../../api/plan/template/render.js';
import type { NotifyAction } from '../../../api/plan/types.js';
import type { RunIdentity } from '../../../workflows/plan/contract.js';
import { cutText } from '../../core/text.js';

/** What is sent, and about what. */
export interface Message {
  subject: string;
  text: string;
  /** Idempotency key: the same for every attempt of a round, so that a receiver can drop a repetition. */
  key: string;
  time: Date;
  run: RunIdentity;
  /** Name of the action that sends it. */
  action: string;
}

/** Chats take no more than about 30 KB. */
export const TEXT_CHARACTERS = 8000;
const SUBJECT_CHARACTERS = 200;
const DEFAULT_SUBJECT = '{{ .operation }} of {{ .planName }}: {{ .executionName }}';

/**
 * Fills subject and text in. Values that go to a chat cannot format, link or mention anybody there: only the template
 * can.
 *
 * @throws RenderError for placeholders
 */
export function renderMessage(
  notify: NotifyAction,
  scope: RenderScope,
  run: RunIdentity,
): Pick<Message, 'subject' | 'text'> {
  const values =
    notify.type === 'Slack' || notify.type === 'Lark' ? withValues(scope, plain[notify.type]) : scope;
  const subject = renderString(notify.subject || DEFAULT_SUBJECT, scope);
  const fallback = `${DEFAULT_SUBJECT} in namespace ${run.namespace} (${run.runMode})`;
  return {
    subject: cutText(subject.replace(/\s+/g, ' ').trim(), SUBJECT_CHARACTERS, '…'),
    text: cutText(renderString(notify.template || fallback, values), TEXT_CHARACTERS, '…'),
  };
}

/** How a value is written so that the chat takes it as text. */
const plain = {
  Slack: (text: string): string =>
    text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;'),
  // Lark has no escape: `<at …>` must not begin.
  Lark: (text: string): string => text.replaceAll('<', '‹').replaceAll('>', '›'),
};

function withValues(scope: RenderScope, change: (text: string) => string): RenderScope {
  const walk = (value: unknown): unknown => {
    if (typeof value === 'string') return change(value);
    if (Array.isArray(value)) return value.map(walk);
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, walk(item)]));
  };
  return {
    ...scope,
    params: walk(scope.params) as RenderScope['params'],
    outputs: walk(scope.outputs) as RenderScope['outputs'],
  };
}

/** The data in every message for machines. */
const dataOf = ({ subject, text, run, action }: Message): Record<string, unknown> => ({
  subject,
  text,
  action,
  plan: run.plan.name,
  execution: run.name,
  namespace: run.namespace,
  operation: run.operation,
  runMode: run.runMode,
  ...(run.mode !== undefined && { mode: run.mode }),
});

/** The body of a message that goes over HTTP, and its media type. */
export function bodyFor(
  type: Exclude<NotifyAction['type'], 'Email'>,
  message: Message,
  signingSecret?: string,
): { contentType: string; body: string } {
  const json = (value: unknown): { contentType: string; body: string } => ({
    contentType: 'application/json; charset=utf-8',
    body: JSON.stringify(value),
  });
  switch (type) {
    case 'Webhook':
      return json({ id: message.key, time: message.time.toISOString(), ...dataOf(message) });
    case 'CloudEvents':
      return {
        contentType: 'application/cloudevents+json; charset=utf-8',
        body: JSON.stringify({
          specversion: '1.0',
          id: message.key,
          source: `/clusters/${message.run.cluster}/namespaces/${message.run.namespace}/drplanexecutions/${message.run.name}`,
          type: 'com.tencent.bkbcs.dr.notification',
          subject: message.subject,
          time: message.time.toISOString(),
          datacontenttype: 'application/json',
          data: dataOf(message),
        }),
      };
    case 'Slack':
      return json({ text: message.text });
    case 'Lark':
      return json({
        ...(signingSecret !== undefined && signLark(signingSecret, message.time)),
        msg_type: 'text',
        content: { text: message.text },
      });
  }
}

/**
 * Signature of Lark's custom bots: HMAC-SHA256 of nothing, with the key `timestamp + "\n" + secret`, in base64. Valid for
 * an hour around the timestamp, in seconds.
 */
export function signLark(secret: string, time: Date): { timestamp: string; sign: string } {
  const timestamp = String(Math.floor(time.getTime() / 1000));
  return { timestamp, sign: createHmac('sha256', `${timestamp}\n${secret}`).digest('base64') };
}
