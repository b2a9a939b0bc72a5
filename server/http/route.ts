/** What a request is answered with, and by which route. */
import type { IncomingMessage } from 'node:http';
import type { Caller } from '../auth/callers.js';

/** What an answer is. */
export type Answer =
  | { kind: 'json'; body: unknown; status?: number }
  /** Bytes; `digest` is their SHA-256, `bytes` their number where it is known. */
  | { kind: 'bytes'; source: AsyncIterable<Uint8Array>; digest?: string; bytes?: number; type?: string }
  | { kind: 'nothing' };

/** A request on its way. */
export interface RouteRequest {
  request: IncomingMessage;
  /** Parts of the path that the route's pattern names, in their order. */
  parts: string[];
  query: URLSearchParams;
  caller: Caller;
  /** Aborted when the client has gone. */
  signal: AbortSignal;
}

/** One request that is served. */
export interface Route {
  method: string;
  /** Of the whole path; its groups are the parts. */
  pattern: RegExp;
  /** Name in metrics and the log. */
  name: string;
  handle: (request: RouteRequest) => Promise<Answer>;
}

/** An answer of JSON. */
export const json = (body: unknown, status?: number): Answer => ({
  kind: 'json',
  body,
  ...(status !== undefined && { status }),
});
