import { findPlaceholders } from '../template/placeholders.js';
import type { Problem } from '../../core/problem.js';
import { renderString } from '../template/render.js';
import { SECRET_NAME } from '../snapshot/secrecy.js';
import type { NotifyAction } from '../types.js';
import { error, show, warning } from './fields.js';
import { checkHeaderNames, checkUrl } from './requests.js';
import { isTemplated, trySample } from './sample.js';

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

/** Checks a Notify: where it goes, and that no parameter that holds a secret is sent. */
export function checkNotify(notify: NotifyAction, path: string): Problem[] {
  const { type } = notify;
  const problems = Object.entries(OWN_FIELDS).flatMap(([field, types]) =>
    notify[field as keyof typeof OWN_FIELDS] === undefined || (types as readonly string[]).includes(type)
      ? []
      : [
          error(
            `${path}.${field}`,
            'InvalidField',
            `belongs to type ${types.join(', ')}, and this is ${type}; remove it`,
          ),
        ],
  );
  if (notify.insecureSkipVerify === true) {
    problems.push(
      warning(
        `${path}.insecureSkipVerify`,
        'InsecureTransport',
        'the certificate of the server goes unchecked, so anyone on the way can answer in its place',
      ),
    );
  }
  for (const field of ['subject', 'template'] as const) {
    problems.push(...checkText(notify[field], `${path}.${field}`));
  }
  return [...problems, ...(type === 'Email' ? checkEmail(notify, path) : checkAddress(notify, path))];
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

function checkAddress(notify: NotifyAction, path: string): Problem[] {
  const { type, url, urlFrom } = notify;
  if ((url === undefined) === (urlFrom === undefined)) {
    const found = url === undefined ? 'neither' : 'both';
    return [error(path, 'InvalidField', `has ${found} of url and urlFrom; write one of them`)];
  }
  const problems = checkHeaderNames(notify.headersFrom ?? [], `${path}.headersFrom`);
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
