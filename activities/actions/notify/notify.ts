import { untraced } from '../../../api/core/trace-context.js';
import type { TraceRequest } from '../../../api/core/trace-context.js';
import { secretsOf } from '../../../api/core/redact.js';
import { renderString, renderUrl } from '../../../api/plan/template/render.js';
import type { NotifyAction } from '../../../api/plan/types.js';
import type { EgressPolicy } from '../../core/egress.js';
import { notLetOut, untried } from '../../core/finding.js';
import type { Finding } from '../../core/finding.js';
import type { Attempt, AttemptResult, LookingHandler } from '../../core/handler.js';
import { refusalOf, sendRequest } from '../http/http.js';
import type { Sending } from '../http/http.js';
import type { Outgoing } from '../http/http-exchange.js';
import { readHeaders } from '../http/http-request.js';
import { mailRefusal, sendMail } from './mail.js';
import type { Mail, MailServer } from './mail.js';
import { bodyFor, renderMessage } from './notify-message.js';
import type { Message } from './notify-message.js';
import { readSecretKey } from '../../core/secrets.js';
import type { SecretKey } from '../../core/secrets.js';

type Failed = Extract<AttemptResult, { kind: 'failed' }>;
type Secrets = ReturnType<typeof secretsOf>;

/**
 * Sends messages under one egress policy.
 *
 * Seam: what another system sends out leaves through the same two senders, `sendRequest` and `sendMail`; they move to
 * `activities/core` with their second user.
 */
export function createNotifyHandler(
  egress: EgressPolicy,
  traceRequest: TraceRequest = untraced,
): LookingHandler {
  return {
    run: (attempt) => run(attempt, { egress, traceRequest }),
    look: (attempt, { listsUnknown }) => look(attempt, egress, listsUnknown),
    undo: () =>
      Promise.resolve({
        kind: 'skipped',
        reason: 'NothingToUndo',
        message: 'a message cannot be taken back',
      }),
    settle: () =>
      Promise.resolve({
        kind: 'failed',
        reason: 'Interrupted',
        message: 'whether the message arrived is not known',
        effect: 'Unknown',
      }),
  };
}

async function run(attempt: Attempt, outgoing: Outgoing): Promise<AttemptResult> {
  const prepared = await prepare(attempt);
  if (prepared.kind === 'failed') return prepared;
  const result =
    prepared.kind === 'mail'
      ? await sendMail(prepared.mail, attempt, outgoing.egress)
      : await post(prepared, attempt, outgoing);
  // An answer belongs to the receiver; what is reported of it is in the message.
  if ('outputs' in result) delete result.outputs;
  return result;
}

/** Why the message of an action cannot be sent, as far as that is known before the name of a host is resolved. */
async function refusalOfMessage(attempt: Attempt, egress: EgressPolicy): Promise<Failed | undefined> {
  const prepared = await prepare(attempt);
  switch (prepared.kind) {
    case 'failed':
      return prepared;
    case 'mail':
      return mailRefusal(prepared.mail.server, attempt.policy, egress);
    case 'post':
      return refusalOf(prepared.sending, attempt.policy, egress);
  }
}

async function look(attempt: Attempt, egress: EgressPolicy, listsUnknown: boolean): Promise<Finding> {
  const refused = await refusalOfMessage(attempt, egress);
  return refused === undefined ? untried('the message is not sent') : notLetOut(refused, listsUnknown);
}

type Prepared =
  | { kind: 'mail'; mail: Mail }
  | { kind: 'post'; type: Posted['type']; sending: Sending }
  | Failed;

/** What is sent, and where to. */
async function prepare(attempt: Attempt): Promise<Prepared> {
  const { action, scope, task, key } = attempt;
  const { notify } = action;
  if (notify === undefined) return invalid('InvalidAction', 'the action has no block "notify"');
  const message: Message = {
    ...renderMessage(notify, scope, task.run),
    key,
    time: new Date(),
    run: task.run,
    action: task.name,
  };
  const secrets = secretsOf();
  return notify.type === 'Email'
    ? prepareMail(notify, message, secrets, attempt)
    : preparePost({ ...notify, type: notify.type }, message, secrets, attempt);
}

type Posted = NotifyAction & { type: Exclude<NotifyAction['type'], 'Email'> };

async function preparePost(
  notify: Posted,
  message: Message,
  secrets: Secrets,
  attempt: Attempt,
): Promise<Prepared> {
  const url = await readUrl(notify, secrets, attempt);
  if (!(url instanceof URL)) return url;
  const own = await readHeaders(notify.headersFrom ?? [], url, attempt, secrets);
  if ('kind' in own) return own;
  const secret = await readOptional(notify.signingSecretRef, 'which signs the message', secrets, attempt);
  if (typeof secret === 'object') return secret;
  const { contentType, body } = bodyFor(notify.type, message, secret);
  const headers = new Map([
    ['user-agent', 'drover'],
    ['content-type', contentType],
    ['idempotency-key', message.key],
    ...own.headers,
  ]);
  const request = {
    method: 'POST',
    url,
    headers,
    ownHeaders: new Set(own.headers.keys()),
    body,
    insecure: notify.insecureSkipVerify === true,
  };
  const isSuccess = (status: number): boolean => status >= 200 && status <= 299;
  return { kind: 'post', type: notify.type, sending: { request, redact: secrets.redact, isSuccess } };
}

async function post(
  { type, sending }: Extract<Prepared, { kind: 'post' }>,
  attempt: Attempt,
  outgoing: Outgoing,
): Promise<AttemptResult> {
  const result = await sendRequest(sending, attempt, outgoing);
  return type === 'Lark' ? readLark(result) : result;
}

/** Lark answers 200 to everything; whether it took the message stands in the body. */
function readLark(result: AttemptResult): AttemptResult {
  if (result.kind !== 'succeeded') return result;
  let code: unknown;
  try {
    const body = JSON.parse(result.outputs?.httpResponse?.body ?? '') as Record<string, unknown>;
    code = body.code ?? body.StatusCode;
  } catch {
    code = undefined;
  }
  if (code === 0) return result;
  const message = `${result.message ?? ''}; code 0 would mean that the message was taken`;
  return code === LARK_TOO_MANY
    ? { kind: 'retry', reason: 'LarkRefused', message, round: 'Refused' }
    : { kind: 'failed', reason: 'LarkRefused', message, effect: 'None' };
}

const LARK_TOO_MANY = 11232;

async function readUrl(notify: Posted, secrets: Secrets, attempt: Attempt): Promise<URL | Failed> {
  const { url: written, urlFrom, type } = notify;
  if (written !== undefined) {
    const url = new URL(renderUrl(written, attempt.scope));
    if (type === 'Slack' || type === 'Lark') hide(url, secrets);
    return url;
  }
  if (urlFrom === undefined)
    return invalid('InvalidAction', 'the action has neither notify.url nor notify.urlFrom');
  const read = await readSecretKey(urlFrom.secretKeyRef, 'which notify.urlFrom names', readerOf(attempt));
  if ('kind' in read) return read;
  const where = `key "${urlFrom.secretKeyRef.key}" of Secret ${attempt.task.run.plan.namespace}/${urlFrom.secretKeyRef.name}`;
  let url: URL;
  try {
    url = new URL(read.text.trim());
  } catch {
    return invalid('InvalidURL', `${where} is no URL`);
  }
  if (url.protocol !== 'https:' && url.protocol !== 'http:') {
    return invalid('InvalidURL', `${where} is no http or https URL`);
  }
  if (url.username !== '' || url.password !== '') {
    return invalid(
      'InvalidURL',
      `${where} carries a user name or a password; write them as a header in notify.headersFrom`,
    );
  }
  secrets.add(read.text.trim());
  hide(url, secrets);
  return url;
}

/** The right to post is in path and query; the host may be shown. */
function hide(url: URL, secrets: Secrets): void {
  url.hash = '';
  secrets.add(url.pathname + url.search);
  for (const part of url.pathname.split('/')) if (part.length >= SECRET_PART) secrets.add(part);
}

const SECRET_PART = 8;

async function prepareMail(
  notify: NotifyAction,
  message: Message,
  secrets: Secrets,
  attempt: Attempt,
): Promise<Prepared> {
  const { email } = notify;
  if (email === undefined) return invalid('InvalidAction', 'the action has no block "notify.email"');
  const { scope } = attempt;
  const addresses = [email.from, ...email.to].map((address) => renderString(address, scope));
  const bad = addresses.find((address) => /[\r\n]/.test(address) || !address.includes('@'));
  if (bad !== undefined) {
    return invalid('InvalidAddress', `${JSON.stringify(bad.slice(0, 100))} is no e-mail address`);
  }
  const server: MailServer = {
    host: renderString(email.host, scope),
    port: email.port ?? DEFAULT_PORTS[email.security ?? 'StartTLS'],
    security: email.security ?? 'StartTLS',
    insecure: notify.insecureSkipVerify === true,
  };
  const ref = email.credentialsSecretRef;
  if (ref !== undefined) {
    const what = 'which notify.email.credentialsSecretRef names';
    const user = await readOptional({ ...ref, key: 'username' }, what, secrets, attempt, server.host);
    const pass = await readOptional({ ...ref, key: 'password' }, what, secrets, attempt, server.host);
    if (typeof user === 'object') return user;
    if (typeof pass === 'object') return pass;
    server.credentials = { user: user ?? '', pass: pass ?? '' };
  }
  const [from = '', ...to] = addresses;
  return { kind: 'mail', mail: { server, message, from, to, redact: secrets.redact } };
}

const DEFAULT_PORTS = { TLS: 465, StartTLS: 587, None: 25 } as const;

async function readOptional(
  ref: SecretKey | undefined,
  what: string,
  secrets: Secrets,
  attempt: Attempt,
  host?: string,
): Promise<string | undefined | Failed> {
  if (ref === undefined) return undefined;
  const read = await readSecretKey(ref, what, { ...readerOf(attempt), host });
  if ('kind' in read) return read;
  secrets.add(read.text);
  return read.text;
}

const readerOf = ({ kube, task, signal }: Attempt) => ({ kube, namespace: task.run.plan.namespace, signal });

const invalid = (reason: string, message: string): Failed => ({
  kind: 'failed',
  reason,
  message,
  effect: 'None',
});
