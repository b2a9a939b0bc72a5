import { Agent, fetch, type Dispatcher, type RequestInit, type Response } from 'undici';

/** Any Kubernetes object, as plain JSON. */
export interface KubeObject {
  apiVersion: string;
  kind: string;
  metadata: {
    name: string;
    namespace?: string;
    uid?: string;
    generation?: number;
    resourceVersion?: string;
    creationTimestamp?: string;
    deletionTimestamp?: string;
    labels?: Record<string, string>;
    annotations?: Record<string, string>;
    finalizers?: string[];
    ownerReferences?: unknown[];
  };
  [field: string]: unknown;
}

/** Options of one request. */
export interface RequestOptions {
  body?: unknown;
  /** Default `application/json`. */
  contentType?: string;
  /** Until the answer is complete; default 15 s. */
  timeoutMs?: number;
}

/** The answer to one request; the body is parsed when it is JSON. */
export interface KubeResponse {
  status: number;
  body: unknown;
}

/**
 * A small Kubernetes client that sends and returns plain JSON. Typed clients
 * rename or drop fields they do not know (`x-kubernetes-…` in CRDs), which must
 * not happen to what is applied here.
 */
export interface KubeApi {
  readonly server: string;
  /** @throws Error when there is no answer; an error status is a normal answer. */
  request(method: string, path: string, options?: RequestOptions): Promise<KubeResponse>;
  /** Opens a watch or another long answer and yields its JSON lines until it ends or `signal` aborts. */
  stream(path: string, signal: AbortSignal): AsyncGenerator<unknown>;
  close(): Promise<void>;
}

/** Gives each request its dispatcher (TLS) and headers. */
export type Authenticate = () => Promise<{
  dispatcher: Dispatcher | undefined;
  headers: Record<string, string>;
}>;

/** A client for a server that takes a client certificate; all PEM. */
export function certificateApi(options: { server: string; ca: string; cert: string; key: string }): KubeApi {
  const { ca, cert, key } = options;
  const agent = new Agent({
    connect: { ca, cert, key, timeout: 3000 },
    // A watch may be silent for long; requests have a time limit of their own.
    bodyTimeout: 0,
  });
  return kubeApi(
    options.server,
    () => Promise.resolve({ dispatcher: agent, headers: {} }),
    () => agent.destroy(),
  );
}

/** A client with any way to authenticate. */
export function kubeApi(server: string, authenticate: Authenticate, close: () => Promise<void>): KubeApi {
  return {
    server,
    async request(method, path, options = {}) {
      const { dispatcher, headers } = await authenticate();
      const response = await answer(server, {
        method,
        path,
        dispatcher,
        headers: {
          ...headers,
          accept: 'application/json',
          ...(options.body === undefined
            ? {}
            : { 'content-type': options.contentType ?? 'application/json' }),
        },
        body: options.body === undefined ? undefined : JSON.stringify(options.body),
        signal: AbortSignal.timeout(options.timeoutMs ?? 15_000),
      });
      const text = await response.text();
      return { status: response.status, body: parseJson(text) };
    },
    async *stream(path, signal) {
      const { dispatcher, headers } = await authenticate();
      const response = await answer(server, {
        path,
        dispatcher,
        headers: { ...headers, accept: 'application/json' },
        signal,
      });
      if (!response.ok || response.body === null) {
        throw new Error(`GET ${path} answered ${response.status}: ${message(await response.text())}`);
      }
      let rest = '';
      const decoder = new TextDecoder();
      for await (const chunk of response.body) {
        rest += decoder.decode(chunk as Uint8Array, { stream: true });
        const lines = rest.split('\n');
        rest = lines.pop() ?? '';
        for (const line of lines) if (line !== '') yield JSON.parse(line);
      }
    },
    close,
  };
}

/** @throws Error that names the server and why it did not answer. */
async function answer(server: string, init: RequestInit & { path: string }): Promise<Response> {
  try {
    return await fetch(server + init.path, init);
  } catch (error) {
    const { cause, message: text, name } = error as Error & { cause?: { code?: string; message?: string } };
    const why = name === 'TimeoutError' ? 'no answer in time' : cause?.message || cause?.code || text;
    throw new Error(`the API server at ${server} cannot be reached: ${why}`, { cause: error });
  }
}

/** @throws Error with the server's own words unless the status is 2xx. */
export function expectOk(response: KubeResponse, what: string): unknown {
  if (response.status >= 200 && response.status < 300) return response.body;
  throw new Error(`${what}: the API server answered ${response.status}: ${message(response.body)}`);
}

/** The `message` of a Kubernetes Status, else the text itself, shortened. */
export function message(body: unknown): string {
  const value = typeof body === 'string' ? parseJson(body) : body;
  if (value !== null && typeof value === 'object' && 'message' in value) return String(value.message);
  return (typeof value === 'string' ? value : JSON.stringify(value)).slice(0, 300);
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
