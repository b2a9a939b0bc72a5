import { Client } from 'undici';
import type { Dispatcher } from 'undici';
import type { TraceRequest } from '../../../api/core/trace-context.js';
import { withBoundedSignal } from '../../core/bounded-signal.js';
import type { EgressPolicy } from '../../core/egress.js';
import { readText } from './http-body.js';
import { faultOf, isSilentEnd, SPEAKS_TLS } from './http-faults.js';
import type { Fault } from './http-faults.js';
import type { HttpRequest } from './http-request.js';

/** How one request ended. */
export type Exchange =
  | { kind: 'answered'; status: number; headers: Dispatcher.ResponseData['headers']; text: string }
  /** No usable answer. `sent` says whether the server may have seen the request. */
  | ({ kind: 'broken'; sent: boolean; status?: number } & Fault)
  /** The signal was aborted. */
  | { kind: 'aborted'; sent: boolean; status?: number };

/** How long a server may take to show that it speaks TLS. */
const PROBE_MS = 3000;

/** What carries requests out of this process. */
export interface Outgoing {
  egress: EgressPolicy;
  traceRequest: TraceRequest;
}

/**
 * Sends one request over a connection of its own, so that its egress check and its fate are its own too: a pooled
 * connection that a server has just closed would make it unclear whether a request was seen. Never throws.
 */
export function exchange(
  request: HttpRequest,
  { egress, traceRequest }: Outgoing,
  signal: AbortSignal,
): Promise<Exchange> {
  const { method, url } = request;
  return traceRequest({ method, server: url.origin }, async (traceHeaders, answered) => {
    // What an action says itself about traces wins.
    const headers = new Map([...Object.entries(traceHeaders), ...request.headers]);
    const answer = await sendOne({ ...request, headers }, egress, signal);
    if (answer.kind === 'answered') answered(answer.status);
    return answer;
  });
}

async function sendOne(request: HttpRequest, egress: EgressPolicy, signal: AbortSignal): Promise<Exchange> {
  let sent = false;
  let status: number | undefined;
  const client = new Client(request.url.origin, {
    connect: egress.connector({ insecure: request.insecure, onConnect: () => (sent = true) }),
    pipelining: 0,
    // The attempt's own timeout bounds everything after the connection.
    headersTimeout: 0,
    bodyTimeout: 0,
  });
  const abort = new AbortController();
  const onAbort = (): void => abort.abort(new Error('the attempt was stopped'));
  signal.addEventListener('abort', onAbort, { once: true });
  if (signal.aborted) onAbort();
  try {
    const response = await client.request({
      method: request.method,
      path: request.url.pathname + request.url.search,
      headers: Object.fromEntries(request.headers),
      ...(request.body !== undefined && { body: request.body }),
      signal: abort.signal,
    });
    status = response.statusCode;
    const text = await readText(response);
    return { kind: 'answered', status, headers: response.headers, text };
  } catch (error) {
    const known = status === undefined ? {} : { status };
    if (signal.aborted) return { kind: 'aborted', sent, ...known };
    const fault = faultOf(error, { sent });
    const mute = sent && status === undefined && request.url.protocol === 'http:' && isSilentEnd(error);
    if (fault === SPEAKS_TLS || (mute && (await speaksTls(request.url, egress, signal)))) {
      // It could not read the request.
      return { kind: 'broken', ...SPEAKS_TLS, sent: false };
    }
    return { kind: 'broken', ...fault, sent, ...known };
  } finally {
    signal.removeEventListener('abort', onAbort);
    // What the server still sends is of no interest.
    client.destroy().catch(() => undefined);
  }
}

/** Many TLS servers hang up on a request in the clear without a word, which looks like a connection that was lost. */
function speaksTls(url: URL, egress: EgressPolicy, signal: AbortSignal): Promise<boolean> {
  const connect = egress.connector({ insecure: true, onConnect: () => undefined });
  const { hostname, port } = url;
  return withBoundedSignal(
    signal,
    PROBE_MS,
    (stop) =>
      new Promise((resolve) => {
        if (stop.aborted) {
          resolve(false);
          return;
        }
        stop.addEventListener('abort', () => resolve(false), { once: true });
        connect(
          { hostname, host: url.host, protocol: 'https:', port: port === '' ? '80' : port },
          (error, socket) => {
            socket?.destroy();
            resolve(error === null);
          },
        );
      }),
  );
}
