import { secretsOf } from '../../../api/core/redact.js';
import type { Redactor } from '../../../api/core/redact.js';
import {
  isHostOf,
  renderBody,
  renderHeaderValue,
  renderString,
  renderUrl,
} from '../../../api/plan/template/render.js';
import type { HTTPAction } from '../../../api/plan/types.js';
import type { Attempt, AttemptResult } from '../../core/handler.js';
import { readSecretKey } from '../../core/secrets.js';
import type { SecretKey } from '../../core/secrets.js';

/** A request that is ready to be sent. */
export interface HttpRequest {
  method: string;
  url: URL;
  /** By lower-case name. */
  headers: Map<string, string>;
  /** Lower-case names of headers that the action asks for; no other origin may see them. */
  ownHeaders: ReadonlySet<string>;
  body: string | undefined;
  insecure: boolean;
}

type Failed = Extract<AttemptResult, { kind: 'failed' }>;

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];
const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
/** Headers that frame the message belong to the client; set by an action they could smuggle a second request. */
const FRAMING = new Set([
  'connection',
  'content-length',
  'keep-alive',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

/**
 * The request of an HTTP action: everything rendered, headers from Secrets read with the action's own identity. Always
 * carries `Idempotency-Key`, unless the action sets its own (S3.7).
 *
 * @throws RenderError for placeholders; KubeError when a Secret cannot be read
 */
export async function buildRequest(
  http: HTTPAction,
  attempt: Attempt,
): Promise<{ request: HttpRequest; redact: Redactor } | Failed> {
  const { scope } = attempt;
  const method = renderString(http.method || 'GET', scope)
    .trim()
    .toUpperCase();
  if (!METHODS.includes(method)) {
    return invalid(
      'InvalidMethod',
      `http.method is ${JSON.stringify(method)}; allowed are ${METHODS.join(', ')}`,
    );
  }
  const url = new URL(renderUrl(http.url, scope));
  // A fragment is never sent.
  url.hash = '';

  const headers = new Map<string, string>();
  for (const [name, value] of Object.entries(http.headers ?? {})) {
    const refused = refuseName(name);
    if (refused !== undefined) return refused;
    headers.set(name.toLowerCase(), renderHeaderValue(value, scope, name));
  }
  const secrets = secretsOf();
  const own = await readHeaders(http.headersFrom ?? [], url, attempt, secrets);
  if ('kind' in own) return own;
  for (const [name, value] of own.headers) headers.set(name, value);
  const otherHost = refuseHost(headers, url);
  if (otherHost !== undefined) return otherHost;
  const ownHeaders = new Set(headers.keys());
  if (!headers.has('user-agent')) headers.set('user-agent', 'drover');
  if (!headers.has('idempotency-key')) headers.set('idempotency-key', attempt.key);

  const body =
    http.body === undefined || http.body === ''
      ? undefined
      : renderBody(http.body, scope, headers.get('content-type'));
  return {
    request: { method, url, headers, ownHeaders, body, insecure: http.insecureSkipVerify === true },
    redact: secrets.redact,
  };
}

/** Headers of a request to `url` whose values are in Secrets, by lower-case name; the values are added to `secrets`. */
export async function readHeaders(
  sources: NonNullable<HTTPAction['headersFrom']>,
  url: URL,
  attempt: Attempt,
  secrets: Pick<ReturnType<typeof secretsOf>, 'add'>,
): Promise<{ headers: Map<string, string> } | Failed> {
  const headers = new Map<string, string>();
  for (const source of sources) {
    const refused = refuseName(source.name);
    if (refused !== undefined) return refused;
    const value = await readSecret(source.secretKeyRef, source.name, url, attempt);
    if (typeof value !== 'string') return value;
    secrets.add(value);
    headers.set(source.name.toLowerCase(), (source.prefix ?? '') + value);
  }
  return { headers };
}

function refuseName(name: string): Failed | undefined {
  if (!HEADER_NAME.test(name)) {
    return invalid(
      'InvalidHeader',
      `header name ${JSON.stringify(name)} is not allowed; use letters, digits and "-"`,
    );
  }
  if (FRAMING.has(name.toLowerCase())) {
    return invalid(
      'InvalidHeader',
      `header ${name} is set by the client itself; remove it from http.headers`,
    );
  }
  return undefined;
}

/** The client sets `Host` itself; one that names another host would get past every check of hosts. */
function refuseHost(headers: Map<string, string>, url: URL): Failed | undefined {
  const host = headers.get('host');
  if (host === undefined) return undefined;
  headers.delete('host');
  return isHostOf(host, url.href)
    ? undefined
    : invalid(
        'InvalidHeader',
        `header Host differs from ${url.host}, the host of http.url; remove the header, and write the host that is meant in http.url`,
      );
}

async function readSecret(
  ref: SecretKey,
  header: string,
  url: URL,
  { task, kube, signal }: Attempt,
): Promise<string | Failed> {
  const { namespace } = task.run.plan;
  const read = await readSecretKey(ref, `which header ${header} comes from`, {
    kube,
    namespace,
    signal,
    host: url.hostname,
  });
  if ('kind' in read) return read;
  if (!/^[\t\x20-\x7e\x80-\xff]*$/.test(read.text)) {
    return invalid(
      'InvalidHeader',
      `key "${ref.key}" of Secret ${namespace}/${ref.name} holds characters that header ${header} cannot carry (line ends or characters beyond Latin-1)`,
    );
  }
  return read.text;
}

const invalid = (reason: string, message: string): Failed => ({
  kind: 'failed',
  reason,
  message,
  effect: 'None',
});
