import { createSecureContext } from 'node:tls';
import { Agent } from 'undici';
import type { Endpoint } from './transport.js';

/**
 * How long an unused connection is kept; the API server keeps its side for 90 s. Runs come in bursts, and a burst that
 * first has to open its connections, with a TLS handshake each, loses time when it can least afford it.
 */
export const KEEP_ALIVE_MS = 80_000;

/** Longest time until a server has taken a connection. */
const CONNECT_TIMEOUT_MS = 3000;

/** An API server that knows its callers by their client certificates; all PEM. */
export function certificateEndpoint(options: {
  server: string;
  ca: string;
  cert: string;
  key: string;
}): Endpoint {
  const { server, ...tls } = options;
  const dispatcher = new Agent({
    connect: { secureContext: createSecureContext(tls), timeout: CONNECT_TIMEOUT_MS },
    keepAliveTimeout: KEEP_ALIVE_MS,
  });
  return { server, authenticate: () => Promise.resolve({ headers: {}, dispatcher }) };
}
