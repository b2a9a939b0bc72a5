import { TextDecoder } from 'node:util';
import { Client } from 'undici';
import type { Dispatcher } from 'undici';
import { EgressRefused } from './egress.js';
import type { EgressPolicy } from './egress.js';
import type { HttpRequest } from './http-request.js';

/** How one request ended. */
export type Exchange =
  | { kind: 'answered'; status: number; headers: Dispatcher.ResponseData['headers']; text: string }
  /** No usable answer. `sent` says whether the server may have seen the request. */
  | { kind: 'broken'; reason: BrokenReason; detail: string; sent: boolean; status?: number }
  /** The signal was aborted. */
  | { kind: 'aborted'; sent: boolean; status?: number };

/** Why there is no usable answer. */
export type BrokenReason =
  'EgressRefused' | 'InvalidRequest' | 'InvalidResponse' | 'TLSError' | 'Unreachable' | 'ConnectionLost';

/** Bytes of a body that are read; the rest is left on the wire. */
const BODY_LIMIT_BYTES = 1024 * 1024;

const TLS_CODES = new Set([
  'CERT_HAS_EXPIRED',
  'CERT_NOT_YET_VALID',
  'CERT_REVOKED',
  'CERT_UNTRUSTED',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'ERR_TLS_CERT_ALTNAME_INVALID',
  'HOSTNAME_MISMATCH',
  'INVALID_CA',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
]);

/**
 * Sends one request over a connection of its own, so that its egress check and its fate are its own too: a pooled
 * connection that a server has just closed would make it unclear whether a request was seen. Never throws.
 */
export async function exchange(
  request: HttpRequest,
  egress: EgressPolicy,
  signal: AbortSignal,
): Promise<Exchange> {
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
    return { kind: 'broken', ...classify(error, sent), sent, ...known };
  } finally {
    signal.removeEventListener('abort', onAbort);
    // What the server still sends is of no interest.
    client.destroy().catch(() => undefined);
  }
}

async function readText({ body, headers }: Dispatcher.ResponseData): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of body as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    size += chunk.length;
    if (size >= BODY_LIMIT_BYTES) break;
  }
  const encoding = single(headers['content-encoding']);
  if (encoding !== undefined && encoding !== 'identity')
    return size === 0 ? '' : `[${size} bytes, ${encoding}]`;
  const bytes = Buffer.concat(chunks).subarray(0, BODY_LIMIT_BYTES);
  return decoderFor(single(headers['content-type'])).decode(bytes);
}

/** What the server says about its characters, if it is something we can read; else UTF-8 with replacements. */
function decoderFor(contentType: string | undefined): TextDecoder {
  const charset = /;\s*charset="?([\w-]+)/i.exec(contentType ?? '')?.[1];
  try {
    return new TextDecoder(charset ?? 'utf-8');
  } catch {
    return new TextDecoder();
  }
}

/** The value of a header; the first, when it stands there several times. */
export const single = (value: string | string[] | undefined): string | undefined =>
  Array.isArray(value) ? value[0] : value;

function classify(error: unknown, sent: boolean): { reason: BrokenReason; detail: string } {
  const inner = innermost(error);
  const code = codeOf(inner) ?? codeOf(error) ?? '';
  const detail = inner instanceof Error ? inner.message || code : String(inner);
  if (error instanceof EgressRefused) return { reason: 'EgressRefused', detail };
  if (code === 'UND_ERR_INVALID_ARG') return { reason: 'InvalidRequest', detail };
  if (code === 'UND_ERR_HEADERS_OVERFLOW' || code.startsWith('HPE_'))
    return { reason: 'InvalidResponse', detail };
  if (TLS_CODES.has(code)) return { reason: 'TLSError', detail };
  return { reason: sent ? 'ConnectionLost' : 'Unreachable', detail };
}

function innermost(error: unknown): unknown {
  if (error instanceof AggregateError && error.errors.length > 0) return innermost(error.errors[0]);
  return error instanceof Error && error.cause instanceof Error ? innermost(error.cause) : error;
}

function codeOf(error: unknown): string | undefined {
  const code = (error as { code?: unknown } | undefined)?.code;
  return typeof code === 'string' ? code : undefined;
}
