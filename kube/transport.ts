import type { Dispatcher } from 'undici';
import { request } from 'undici';
import { untraced } from '../api/core/trace-context.js';
import type { TraceRequest } from '../api/core/trace-context.js';
import { withoutEcho } from './echo.js';
import { KubeError } from './error.js';
import type { StatusDetails } from './error.js';
import { subjectOf } from './exchange.js';
import type { OnExchange } from './exchange.js';
import { createServerClock } from './server-clock.js';
import type { ServerClock } from './server-clock.js';

/** One request to the API server. */
export interface RawRequest {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Absolute path, `/api/v1/…`. */
  path: string;
  query?: Record<string, string | number | boolean | undefined>;
  headers?: Record<string, string | string[]>;
  body?: unknown;
  contentType?: string;
  signal?: AbortSignal;
  /** Longest time without any answer, in milliseconds (default 30,000; 0 = none). */
  timeoutMs?: number;
  /** Longest JSON answer that is read, in bytes (default: any). */
  maxBytes?: number;
  /** Clock of the server that answers, where that is not the server that is asked. */
  clock?: ServerClock;
}

/** Sends requests with the credentials of a kubeconfig. */
export interface Transport {
  /** Base URL of the API server. */
  readonly server: string;
  /** Sends and reads a JSON answer. Throws {@link KubeError} for every answer that is not 2xx. */
  json<T>(raw: RawRequest): Promise<T>;
  /** The same, with the length of the answer in bytes. */
  sized<T>(raw: RawRequest): Promise<{ value: T; bytes: number }>;
  /** Sends and gives the open body of a 2xx answer. */
  stream(raw: RawRequest): Promise<Dispatcher.ResponseData['body']>;
  /** The server's time: see {@link ServerClock.now}. */
  now(): number;
}

const READINESS_TIMEOUT_MS = 5000;
/** A server takes less than this from listening to knowing its roles. */
const SILENCE_DOUBTED_MS = 60_000;
/** A server that has not said for a minute whether it is ready is treated as one that never says, for this long. */
const SILENCE_KNOWN_MS = 600_000;
/** Reason of a 404 that is not about an object. */
const UNKNOWN_PATH = 'UnknownPath';

/** What a request is authenticated with. */
export interface Credentials {
  headers: Record<string, string>;
  dispatcher: Dispatcher | undefined;
}

/** An API server, and how to get in. */
export interface Endpoint {
  /** Base URL. */
  server: string;
  /** What the cluster is called in messages, for one that is not the cluster this program belongs to. */
  name?: string;
  /** `renew` asks for fresh credentials after a 401. */
  authenticate(renew: boolean): Promise<Credentials>;
  /** What an error of the connection means, where it is more than a server that does not answer. */
  explain?(error: unknown): KubeError | undefined;
}

/** What a client of an API server may be made with. */
export interface TransportOptions {
  /** Called for every exchange with the server. */
  onExchange?: OnExchange;
  /** Shows requests in the trace that they are made in (default: in none). */
  traceRequest?: TraceRequest;
}

/** A transport to an API server. Requests are plain JSON: typed clients drop or rename fields that they do not know. */
export function createTransport(
  endpoint: Endpoint,
  { onExchange, traceRequest = untraced }: TransportOptions = {},
): Transport {
  const { server, name } = endpoint;
  const shown = name === undefined ? `Kubernetes API ${server}` : `Kubernetes API of ${name} (${server})`;
  const wire: Wire = {
    endpoint,
    shown,
    clock: createServerClock(),
    silence: createSilence(),
    onExchange,
    traceRequest,
  };
  return {
    server,
    json: async <T>(raw: RawRequest): Promise<T> => (await sized<T>(wire, raw)).value,
    sized: (raw) => sized(wire, raw),
    async stream(raw) {
      return (await send(wire, raw)).body;
    },
    now: () => wire.clock.now(),
  };
}

/** What the requests to one API server share. */
interface Wire {
  endpoint: Endpoint;
  /** The API server in messages. */
  shown: string;
  clock: ServerClock;
  silence: Silence;
  onExchange: OnExchange | undefined;
  traceRequest: TraceRequest;
}

/** How long an API server has refused to say whether it is ready. */
interface Silence {
  /** It has answered, or the connection has broken: that may be a restart. */
  end(): void;
  /** It has refused once more. Returns whether that has gone on for so long that it is treated as one that never says. */
  goesOn(): boolean;
}

function createSilence(): Silence {
  let known: { since: number; last: number } | undefined;
  const isFinal = ({ since, last }: { since: number; last: number }): boolean =>
    last - since >= SILENCE_DOUBTED_MS;
  return {
    end: () => {
      known = undefined;
    },
    goesOn: () => {
      const now = Date.now();
      // A long gap may be a restart, after which it is doubted again.
      const longest = known !== undefined && isFinal(known) ? SILENCE_KNOWN_MS : SILENCE_DOUBTED_MS;
      const isSame = known !== undefined && now - known.last <= longest;
      known = { since: isSame && known !== undefined ? known.since : now, last: now };
      return isFinal(known);
    },
  };
}

/** Sends one request and returns its answer, whatever the status. */
async function exchange(wire: Wire, raw: RawRequest, renew: boolean): Promise<Dispatcher.ResponseData> {
  const { endpoint, shown, silence } = wire;
  const credentials = await endpoint.authenticate(renew);
  const subject = subjectOf(raw);
  const begun = performance.now();
  const report = (code: string): void =>
    wire.onExchange?.({ ...subject, code, seconds: (performance.now() - begun) / 1000 });
  try {
    const response = await wire.traceRequest(
      {
        name: `${subject.verb} ${subject.resource}`,
        method: raw.method,
        server: endpoint.server,
      },
      async (traceHeaders, answered) => {
        const answer = await ask(endpoint, raw, credentials, traceHeaders);
        answered(answer.statusCode);
        return answer;
      },
    );
    (raw.clock ?? wire.clock).learn(response.headers.date);
    report(String(response.statusCode));
    return response;
  } catch (error) {
    const isAborted = raw.signal?.aborted === true;
    report(isAborted ? 'aborted' : 'unreachable');
    if (isAborted) throw raw.signal?.reason ?? error;
    silence.end();
    const explained = endpoint.explain?.(error);
    if (explained !== undefined) throw explained;
    throw new KubeError(`${shown} cannot be reached: ${describe(error)}`, {
      code: 0,
      reason: 'Unreachable',
      cause: error,
    });
  }
}

function ask(
  endpoint: Endpoint,
  raw: RawRequest,
  { headers, dispatcher }: Credentials,
  traceHeaders: Readonly<Record<string, string>>,
): Promise<Dispatcher.ResponseData> {
  const timeout = raw.timeoutMs ?? 30_000;
  return request(endpoint.server + raw.path, {
    method: raw.method,
    ...(raw.query !== undefined && {
      query: Object.fromEntries(Object.entries(raw.query).filter(([, value]) => value !== undefined)),
    }),
    headers: {
      accept: 'application/json',
      'user-agent': 'drover',
      ...traceHeaders,
      ...headers,
      ...(raw.body !== undefined && { 'content-type': raw.contentType ?? 'application/json' }),
      ...raw.headers,
    },
    ...(raw.body !== undefined && { body: jsonBody(raw.body) }),
    ...(dispatcher !== undefined && { dispatcher }),
    ...(raw.signal !== undefined && { signal: raw.signal }),
    headersTimeout: timeout,
    bodyTimeout: timeout,
  });
}

/**
 * An API server that has just started listens before it has read its roles and definitions: for some seconds it
 * refuses what is allowed and does not know the paths of what is installed. A 403 or an unknown path counts only from
 * a server that is ready.
 */
async function send(
  wire: Wire,
  raw: RawRequest,
  state: { renewed?: true; confirmed?: true } = {},
): Promise<Dispatcher.ResponseData> {
  const response = await exchange(wire, raw, state.renewed === true);
  if (response.statusCode === 401 && state.renewed === undefined) {
    await response.body.dump();
    return send(wire, raw, { ...state, renewed: true });
  }
  if (response.statusCode < 300) return response;
  const error = await toError(response, raw);
  const isDoubtful = error.code === 403 || error.reason === UNKNOWN_PATH;
  if (!isDoubtful || state.confirmed !== undefined) throw error;
  if (await isStarting(wire, raw)) {
    throw new KubeError(`${wire.shown} is still starting: ${error.message}`, {
      code: 503,
      reason: 'ServerStarting',
      cause: error,
    });
  }
  return send(wire, raw, { ...state, confirmed: true });
}

/**
 * A server that has only just started refuses this question, too: a refusal is taken as final only after it has gone
 * on for a while. A broken connection or a long gap may be a restart, after which it is doubted again.
 */
async function isStarting(wire: Wire, { signal }: RawRequest): Promise<boolean> {
  const { statusCode, body } = await exchange(
    wire,
    {
      method: 'GET',
      path: '/readyz',
      timeoutMs: READINESS_TIMEOUT_MS,
      ...(signal !== undefined && { signal }),
    },
    false,
  );
  await body.dump();
  const isSilent = statusCode === 401 || statusCode === 403;
  if (isSilent) return !wire.silence.goesOn();
  wire.silence.end();
  return statusCode >= 300;
}

async function sized<T>(wire: Wire, raw: RawRequest): Promise<{ value: T; bytes: number }> {
  const { shown } = wire;
  const { body } = await send(wire, raw);
  try {
    const chunks: Buffer[] = [];
    let bytes = 0;
    for await (const chunk of body) {
      chunks.push(chunk as Buffer);
      bytes += (chunk as Buffer).length;
      if (bytes > (raw.maxBytes ?? Number.POSITIVE_INFINITY)) {
        throw new KubeError(
          `${shown} answered ${raw.method} ${raw.path} with more than ${raw.maxBytes} bytes`,
          { code: 0, reason: 'AnswerTooLarge' },
        );
      }
    }
    return { value: JSON.parse(Buffer.concat(chunks).toString('utf8')) as T, bytes };
  } catch (error) {
    if (error instanceof KubeError) throw error;
    if (raw.signal?.aborted === true) throw raw.signal.reason ?? error;
    throw new KubeError(`${shown} broke off its answer to ${raw.method} ${raw.path}: ${describe(error)}`, {
      code: 0,
      reason: 'Unreachable',
      cause: error,
    });
  }
}

/** The innermost message of a network error: undici wraps them. */
function describe(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) return describe(error.errors[0]);
  if (error instanceof Error) return error.cause instanceof Error ? describe(error.cause) : error.message;
  return String(error);
}

async function toError(response: Dispatcher.ResponseData, raw: RawRequest): Promise<KubeError> {
  const text = await response.body.text().catch(() => '');
  let status: { message?: string; reason?: string; details?: StatusDetails } = {};
  try {
    status = JSON.parse(text) as typeof status;
  } catch {
    status = { message: text.slice(0, 500).trimEnd() };
  }
  const seconds = Number(response.headers['retry-after']);
  const message = status.message || `${raw.method} ${raw.path} answered ${response.statusCode}`;
  return new KubeError(withoutEcho(message), {
    code: response.statusCode,
    reason: status.reason || (response.statusCode === 404 ? UNKNOWN_PATH : `HTTP${response.statusCode}`),
    ...(Number.isFinite(seconds) && { retryAfterMs: seconds * 1000 }),
    ...(status.details !== undefined && { details: withoutEchoes(status.details) }),
  });
}

const withoutEchoes = ({ causes, ...details }: StatusDetails): StatusDetails => ({
  ...details,
  ...(causes !== undefined && {
    causes: causes.map(({ message, ...cause }) => ({
      ...cause,
      ...(message !== undefined && { message: withoutEcho(message) }),
    })),
  }),
});

/**
 * JSON as the API server itself writes it. It keeps some fields, such as a ControllerRevision's data, byte by byte and
 * later compares them with its own writing, which escapes these characters. If we wrote it in another way, any patch of
 * the object would count as a change of the field.
 */
function jsonBody(value: unknown): string {
  return JSON.stringify(value).replaceAll(
    /[<>&\u2028\u2029]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
