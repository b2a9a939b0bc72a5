import type { Redactor } from '../../../api/core/redact.js';
import type { Policy } from '../../../api/plan/policy.js';
import { untraced } from '../../../api/core/trace-context.js';
import type { TraceRequest } from '../../../api/core/trace-context.js';
import { withoutUserInfo } from '../../../api/plan/template/render.js';
import type { ActionOutputs } from '../../../api/plan/types.js';
import { portOf } from '../../core/addresses.js';
import type { EgressPolicy } from '../../core/egress.js';
import { notLetOut, problem, untried } from '../../core/finding.js';
import type { Finding } from '../../core/finding.js';
import type { Attempt, AttemptResult, LookingHandler } from '../../core/handler.js';
import { single } from './http-body.js';
import { exchange } from './http-exchange.js';
import type { Exchange, Outgoing } from './http-exchange.js';
import { buildRequest } from './http-request.js';
import type { HttpRequest } from './http-request.js';
import { cutText, printable, withoutControls } from '../../core/text.js';

type Failed = Extract<AttemptResult, { kind: 'failed' }>;

/** Redirects that are followed. */
export const MAX_REDIRECTS = 5;
/** Characters of a body that are kept (S3.19). */
export const KEPT_CHARACTERS = 1000;
/** Characters of a body that stand in a message. */
const QUOTED_CHARACTERS = 120;
const SHOWN_URL_CHARACTERS = 200;
const REDIRECTS = new Set([301, 302, 303, 307, 308]);
/** Answers that may change by themselves (S3.6). */
const isRetryableStatus = (status: number): boolean =>
  status === 408 || status === 425 || status === 429 || status >= 500;
/** A gateway that lost its backend cannot say whether the request had its effect. */
const isAmbiguousStatus = (status: number): boolean => status === 502 || status === 504;

/** Sends HTTP requests under one egress policy. */
export function createHttpHandler(
  egress: EgressPolicy,
  traceRequest: TraceRequest = untraced,
): LookingHandler {
  return {
    run: (attempt) => send(attempt, { egress, traceRequest }),
    look: (attempt, { listsUnknown }) => look(attempt, egress, listsUnknown),
    undo: () =>
      Promise.resolve({
        kind: 'skipped',
        reason: 'NoRollback',
        message: 'an HTTP action without a rollback cannot be undone; add a rollback to the action',
      }),
    settle: () =>
      Promise.resolve({
        kind: 'failed',
        reason: 'Interrupted',
        message: 'whether the server acted on the request is not known; look there before trying again',
        effect: 'Unknown',
      }),
  };
}

async function look(attempt: Attempt, egress: EgressPolicy, listsUnknown: boolean): Promise<Finding> {
  const { http } = attempt.action;
  if (http === undefined) return untried('the action has no block "http"');
  const built = await buildRequest(http, attempt);
  if ('kind' in built) return problem(built);
  const refused = refusalOf(built, attempt.policy, egress);
  return refused === undefined
    ? untried('the request is not sent; its URL, headers and Secrets are complete')
    : notLetOut(refused, listsUnknown);
}

async function send(attempt: Attempt, outgoing: Outgoing): Promise<AttemptResult> {
  const { http } = attempt.action;
  if (http === undefined) {
    return {
      kind: 'failed',
      reason: 'InvalidAction',
      message: 'the action has no block "http"',
      effect: 'None',
    };
  }
  const built = await buildRequest(http, attempt);
  if ('kind' in built) return built;
  const codes = http.successCodes ?? [];
  const isSuccess = (status: number): boolean =>
    codes.length > 0 ? codes.includes(status) : status >= 200 && status <= 299;
  return sendRequest({ ...built, isSuccess }, attempt, outgoing);
}

/** A request, and how its answer is read. */
export interface Sending {
  request: HttpRequest;
  /** Takes secrets out of whatever is reported. */
  redact: Redactor;
  isSuccess: (status: number) => boolean;
}

/** Sends a request and follows redirects, each under the egress policy. Throws only what `beforeEffect` throws. */
export async function sendRequest(
  { request: first, redact, isSuccess }: Sending,
  attempt: Pick<Attempt, 'beforeEffect' | 'policy' | 'signal'>,
  outgoing: Outgoing,
): Promise<AttemptResult> {
  let request = first;
  for (let redirects = 0; ; redirects += 1) {
    const shown = show(request, redact);
    const redirected = redirects > 0;
    const refused = refusalOf({ request, redact }, attempt.policy, outgoing.egress);
    if (refused !== undefined) return redirected ? { ...refused, effect: 'Unknown' } : refused;
    attempt.beforeEffect();
    const answer = await exchange(request, outgoing, attempt.signal);
    if (answer.kind !== 'answered') return broken(answer, shown, redact, redirected);

    const location = single(answer.headers.location);
    const follows = REDIRECTS.has(answer.status) && !isSuccess(answer.status) && location !== undefined;
    if (!follows) return judge(answer, { shown, redact, redirected, isSuccess });
    if (redirects === MAX_REDIRECTS) {
      return final(
        'TooManyRedirects',
        `${shown} was redirected more than ${MAX_REDIRECTS} times`,
        answer,
        redact,
      );
    }
    const next = follow(request, answer.status, location);
    if ('reason' in next) {
      const message = `${shown} answered ${answer.status} and was not redirected: ${redact(next.why)}`;
      return final(next.reason, message, answer, redact);
    }
    request = next;
  }
}

/** Why a request may not be sent, as far as that is known before the name of its host is resolved. */
export function refusalOf(
  { request, redact }: Pick<Sending, 'request' | 'redact'>,
  policy: Policy,
  egress: EgressPolicy,
): Failed | undefined {
  const shown = show(request, redact);
  const refused = egress.refuse(request.url);
  if (refused !== undefined) return refuse(shown, redact(refused), false);
  const forbidden = policy.refuseHost(request.url.hostname, portOf(request.url));
  if (forbidden === undefined) return undefined;
  const message = `${shown} is not allowed: ${redact(forbidden)}`;
  return { kind: 'failed', reason: 'PolicyRefused', message, effect: 'None' };
}

interface AnswerContext {
  shown: string;
  redact: Redactor;
  redirected: boolean;
  isSuccess: (status: number) => boolean;
}

type Answered = Extract<Exchange, { kind: 'answered' }>;

function judge(answer: Answered, { shown, redact, redirected, isSuccess }: AnswerContext): AttemptResult {
  const outputs = outputsOf(answer, redact);
  const body = outputs.httpResponse?.body ?? '';
  const quoted = cutText(printable(body), QUOTED_CHARACTERS, '…');
  const message = `${shown} answered ${answer.status}${quoted === '' ? '' : ` (${JSON.stringify(quoted)})`}`;
  if (isSuccess(answer.status)) return { kind: 'succeeded', outputs, message };
  if (isRetryableStatus(answer.status)) {
    const afterMs = retryAfter(single(answer.headers['retry-after']), Date.now());
    return {
      kind: 'retry',
      reason: 'HTTPStatus',
      message,
      outputs,
      round: redirected || isAmbiguousStatus(answer.status) ? 'Unclear' : 'Refused',
      effect: redirected || answer.status >= 500 ? 'Unknown' : 'None',
      ...(afterMs !== undefined && { afterMs }),
    };
  }
  const effect = redirected || answer.status < 400 ? 'Unknown' : 'None';
  return { kind: 'failed', reason: 'HTTPStatus', message, outputs, effect };
}

function final(reason: string, message: string, answer: Answered, redact: Redactor): AttemptResult {
  return { kind: 'failed', reason, message, outputs: outputsOf(answer, redact), effect: 'Unknown' };
}

function refuse(shown: string, why: string, redirected: boolean): Failed {
  return {
    kind: 'failed',
    reason: 'EgressRefused',
    message: `${shown} is not allowed: ${why}`,
    effect: redirected ? 'Unknown' : 'None',
  };
}

function broken(
  answer: Exclude<Exchange, Answered>,
  shown: string,
  redact: Redactor,
  redirected: boolean,
): AttemptResult {
  const unclear = answer.sent || redirected;
  const effect = unclear ? 'Unknown' : 'None';
  const outputs =
    answer.status === undefined ? {} : { outputs: { httpResponse: { statusCode: answer.status } } };
  if (answer.kind === 'aborted') {
    const message =
      answer.status === undefined ? `${shown} has not answered` : `${shown} has not finished its answer`;
    return { kind: 'interrupted', effect, message, ...outputs };
  }
  const detail = redact(answer.detail);
  switch (answer.reason) {
    case 'EgressRefused':
      return refuse(shown, detail, redirected);
    case 'InvalidRequest':
      return { kind: 'failed', reason: answer.reason, message: `${shown} cannot be sent: ${detail}`, effect };
    case 'InvalidResponse':
      return {
        kind: 'failed',
        reason: answer.reason,
        message: `${shown} got no valid HTTP answer: ${detail}`,
        effect,
        ...outputs,
      };
    case 'TLSError':
      return {
        kind: 'failed',
        reason: answer.reason,
        message: `${shown}: ${detail}`,
        effect,
      };
    case 'Unreachable':
      return {
        kind: 'retry',
        reason: answer.reason,
        message: `${shown} cannot be reached: ${detail}`,
        round: unclear ? 'Unclear' : 'Refused',
      };
    case 'ConnectionLost':
      return {
        kind: 'retry',
        reason: answer.reason,
        message: `${shown}: the connection broke before the whole answer was there: ${detail}`,
        round: 'Unclear',
        ...outputs,
      };
  }
}

interface NotFollowed {
  reason: 'EgressRefused' | 'RedirectRefused';
  why: string;
}

/** The request that a redirect asks for, or why it is not followed (S3.20, S3.21). */
function follow(request: HttpRequest, status: number, location: string): HttpRequest | NotFollowed {
  let url: URL;
  try {
    url = new URL(location, request.url);
  } catch {
    const quoted = JSON.stringify(withoutUserInfo(location).slice(0, SHOWN_URL_CHARACTERS));
    return { reason: 'RedirectRefused', why: `its Location ${quoted} is no URL` };
  }
  url.hash = '';
  if (url.username !== '' || url.password !== '') {
    return {
      reason: 'RedirectRefused',
      why: `its Location at ${url.host} carries a user name or a password`,
    };
  }
  const to = cutText(url.href, SHOWN_URL_CHARACTERS, '…');
  if (request.url.protocol === 'https:' && url.protocol === 'http:') {
    return { reason: 'EgressRefused', why: `${url.origin} is not encrypted while the first request was` };
  }
  // Browsers and most clients would go on with a GET here, and the request itself would never be carried out.
  const { method } = request;
  const asGet = status === 303 ? method !== 'HEAD' && method !== 'GET' : status < 303 && method === 'POST';
  if (asGet) {
    return {
      reason: 'RedirectRefused',
      why: `following it would send GET ${to} in place of ${method}, so the request would not be carried out; write the URL that answers itself, or list ${status} in successCodes`,
    };
  }
  if (url.origin === request.url.origin) return { ...request, url };
  const carried = [
    ...(request.body === undefined ? [] : ['its body']),
    ...[...request.ownHeaders].map((name) => `header ${name}`),
  ];
  if (carried.length > 0) {
    return {
      reason: 'RedirectRefused',
      why: `${to} is another origin, and would be sent ${carried.join(', ')}; write that URL in the action, or list ${status} in successCodes`,
    };
  }
  return { ...request, url };
}

function outputsOf(answer: Answered, redact: Redactor): ActionOutputs {
  const body = cutText(withoutControls(redact(answer.text)), KEPT_CHARACTERS);
  return { httpResponse: { statusCode: answer.status, body } };
}

/** Never with a user name or password, whoever wrote them there. */
function show(request: HttpRequest, redact: Redactor): string {
  const bare = new URL(request.url);
  bare.username = '';
  bare.password = '';
  const url = redact(bare.href);
  return `${request.method} ${url.length <= SHOWN_URL_CHARACTERS ? url : `${url.slice(0, SHOWN_URL_CHARACTERS)}…`}`;
}

/** Milliseconds that `Retry-After` asks to wait: seconds or a date. */
export function retryAfter(value: string | undefined, now: number): number | undefined {
  if (value === undefined) return undefined;
  if (/^\d{1,9}$/.test(value.trim())) return Number(value) * 1000;
  const date = Date.parse(value);
  return Number.isNaN(date) ? undefined : Math.max(0, date - now);
}
