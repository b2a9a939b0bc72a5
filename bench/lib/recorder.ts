/**
 * The HTTP endpoint that actions call. It notes when each call came, when it was answered, and whether the caller went
 * away first. The query steers an answer: `?delay=2000` or `?delay=3000-7000` (milliseconds before it).
 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A call that came. Times are of `performance.now()`. */
export interface Call {
  path: string;
  /** Idempotency key that came with it. */
  key: string | undefined;
  at: number;
  answeredAt?: number;
  /** When the caller went away before the answer. */
  abortedAt?: number;
}

/** See the head of the file. */
export interface Recorder {
  /** Without a slash at the end. */
  url: string;
  readonly calls: readonly Call[];
  /** Calls whose path begins so. */
  under(prefix: string): Call[];
  /** Hears of each call when it comes and again when it is answered; returns how to stop. */
  onCall(listener: (call: Call) => void): () => void;
  /** Forgets all calls. */
  clear(): void;
  close(): Promise<void>;
}

/**
 * Starts one.
 *
 * @param options.host address to listen on, and by which callers reach it. Default 127.0.0.1
 */
export async function startRecorder(options: { host?: string; port?: number } = {}): Promise<Recorder> {
  const host = options.host ?? '127.0.0.1';
  let calls: Call[] = [];
  const listeners = new Set<(call: Call) => void>();
  const tell = (call: Call): void => {
    for (const listener of listeners) listener(call);
  };
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? '/', 'http://recorder');
    const key = request.headers['idempotency-key'];
    const call: Call = {
      path: url.pathname,
      key: Array.isArray(key) ? key[0] : key,
      at: performance.now(),
    };
    calls.push(call);
    tell(call);
    request.resume();
    const answer = (): void => {
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end('{"ok":true}');
      call.answeredAt = performance.now();
      tell(call);
    };
    const delay = delayOf(url.searchParams.get('delay'));
    const timer = delay === 0 ? undefined : setTimeout(answer, delay);
    if (timer === undefined) answer();
    response.on('close', () => {
      if (response.writableEnded) return;
      clearTimeout(timer);
      call.abortedAt = performance.now();
    });
  });
  server.keepAliveTimeout = 60_000;
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(options.port ?? 0, host, resolve);
  });
  const address = host.includes(':') ? `[${host}]` : host;
  return {
    url: `http://${address}:${(server.address() as AddressInfo).port}`,
    get calls() {
      return calls;
    },
    under: (prefix) => calls.filter(({ path }) => path.startsWith(prefix)),
    onCall(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    clear() {
      calls = [];
    },
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => {
          resolve();
        });
      }),
  };
}

/** Milliseconds of `2000`, or any of `3000-7000`. */
function delayOf(text: string | null): number {
  const [least = 0, most = least] = (text ?? '0').split('-').map(Number);
  return least + Math.random() * (most - least);
}
