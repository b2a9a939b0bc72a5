/** What happens to one request: it is read, decided by the rules, counted and logged. */
import type { IncomingMessage } from 'node:http';
import type { Histogram } from 'prom-client';
import { ANNOTATIONS } from '../../api/core/group.js';
import { readTraceContext } from '../../api/core/trace-context.js';
import { NO_TRACING } from '../../runtime/tracing/tracing.js';
import type { OpenSpan, Tracing } from '../../runtime/tracing/tracing.js';
import type { Log } from '../core/log.js';
import { answer, readReview } from '../core/review.js';
import type { ReviewRequest, Rules, ReviewResponse } from '../core/review.js';
import { createSlots } from './slots.js';

/** What a handler is made of. */
export interface ReviewHandlerOptions {
  rules: Rules;
  /** Kinds that metrics name. */
  kinds: ReadonlySet<string>;
  log: Log;
  reviews: Histogram<'kind' | 'operation' | 'result'>;
  /** Default: none. */
  tracing?: Tracing;
  /** Reviews that are read and answered at once (default 32): what bounds the memory they may take. */
  concurrency?: number;
}

/** Why a request got no response. */
export type ReviewFailure = 'busy' | 'late' | 'error' | 'invalid';

/** An answer with another status than 200 makes the failure policy of the webhook apply. */
export class HttpError extends Error {
  readonly status: number;
  readonly failure: ReviewFailure;
  constructor(status: number, message: string, failure: ReviewFailure = 'invalid') {
    super(message);
    this.status = status;
    this.failure = failure;
  }
}

/** An update carries the old object too, and the API server admits requests of 3 MiB. */
export const MAX_BODY_BYTES = 16 * 1024 * 1024;
const CONCURRENCY = 32;
/** More than that wait in the API servers' clients already. */
const MAX_WAITING = 512;
/** Longest wait for a turn, and longest time for a review from then on: below the 5 s that the API server waits. */
export const ANSWER_MS = 4500;

/**
 * Makes a function that answers requests.
 *
 * @returns a function from a request to the AdmissionReview to send; rejects with {@link HttpError} for any other answer
 */
export function createReviewHandler(
  options: ReviewHandlerOptions,
): (request: IncomingMessage) => Promise<object> {
  const slots = createSlots({
    atOnce: options.concurrency ?? CONCURRENCY,
    waiting: MAX_WAITING,
    timeoutMs: ANSWER_MS,
  });
  return async (request) => {
    if (request.method !== 'POST') throw new HttpError(405, 'expects POST');
    const end = await slots.take();
    if (end === undefined) throw new HttpError(503, 'too many reviews at once; try again', 'busy');
    try {
      return await withDeadline(review(options, request));
    } finally {
      end();
    }
  };
}

async function review(options: ReviewHandlerOptions, request: IncomingMessage): Promise<object> {
  const startedAt = Date.now();
  const path = new URL(request.url ?? '/', 'https://localhost').pathname;
  const asked = readReview(parse(await readBody(request)));
  if (typeof asked === 'string') throw new HttpError(400, asked);
  const { tracing = NO_TRACING } = options;
  const { headers } = request;
  const { namespace, operation, object, oldObject } = asked;
  const about = object ?? oldObject;
  return tracing.inSpan(
    {
      // Anybody who reaches the port may send anything: names must be few.
      name: `admission ${/^\/[a-z]{1,20}$/.test(path) ? path.slice(1) : 'other'}`,
      kind: 'server',
      startedAt,
      attributes: {
        'drover.kind': kindOf(options, asked),
        'drover.object': `${namespace}/${about?.metadata.name || (about?.metadata.generateName ?? '')}`,
        'drover.admission.operation': operationOf(operation),
      },
      parent:
        readTraceContext({ traceparent: headers.traceparent, tracestate: headers.tracestate }) ??
        readTraceContext({ traceparent: about?.metadata.annotations?.[ANNOTATIONS.traceparent] }),
    },
    (span) => decide(options, path, asked, span),
  );
}

async function decide(
  options: ReviewHandlerOptions,
  path: string,
  asked: ReviewRequest,
  span: OpenSpan,
): Promise<object> {
  const started = process.hrtime.bigint();
  let result: 'allowed' | 'refused' | 'error' = 'error';
  try {
    const pending = options.rules(path, asked);
    if (pending === undefined) throw new HttpError(404, `nothing is served at ${path}`);
    const response = await pending;
    result = response.allowed ? 'allowed' : 'refused';
    if (!response.allowed) {
      logRefusal(options.log, asked, response);
      span.set({ 'drover.reason': response.causes[0]?.reason ?? response.reason });
    }
    return answer(asked, response);
  } finally {
    span.set({ 'drover.admission.result': result });
    const labels = {
      kind: kindOf(options, asked),
      operation: operationOf(asked.operation),
      result,
    };
    options.reviews.observe(labels, Number(process.hrtime.bigint() - started) / 1e9);
  }
}

/** Anybody who reaches the port may send anything: labels must not grow without end. */
const operationOf = (operation: string): string =>
  ['CREATE', 'UPDATE', 'DELETE'].includes(operation) ? operation : 'other';

const kindOf = ({ kinds }: ReviewHandlerOptions, { kind }: ReviewRequest): string =>
  kinds.has(kind) ? kind : 'other';

function logRefusal(
  log: Log,
  { operation, kind, namespace, user, object, oldObject }: ReviewRequest,
  response: Extract<ReviewResponse, { allowed: false }>,
): void {
  const reason = response.causes[0]?.reason ?? response.reason;
  const name = (object ?? oldObject)?.metadata.name;
  log.info({ operation, kind, namespace, name, user, reason }, `refused: ${response.message}`);
}

async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request) {
    size += (chunk as Buffer).length;
    if (size > MAX_BODY_BYTES) throw new HttpError(413, `a review has at most ${MAX_BODY_BYTES} bytes`);
    chunks.push(chunk as Buffer);
  }
  return Buffer.concat(chunks).toString('utf8');
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch (error) {
    throw new HttpError(400, `not JSON: ${error instanceof Error ? error.message : String(error)}`);
  }
}

async function withDeadline<T>(pending: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      reject(new HttpError(503, `no response within ${ANSWER_MS} ms`, 'late'));
    }, ANSWER_MS);
  });
  try {
    return await Promise.race([pending, late]);
  } finally {
    clearTimeout(timer);
  }
}
