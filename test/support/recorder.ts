/**
 * An HTTP endpoint outside of everything under test that counts what reaches it: by idempotency key, so that an effect
 * that happened twice is seen.
 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A request that came. */
export interface RecordedRequest {
  method: string;
  path: string;
  query: string;
  key: string | undefined;
  headers: Record<string, string | string[] | undefined>;
  body: string;
  /** Whether the client went away before the answer. */
  aborted: boolean;
  /** Paths of the requests that were under way when it came. */
  beside: string[];
}

export interface Recorder {
  url: string;
  requests: RecordedRequest[];
  /** Requests of a path. */
  of(path: string): RecordedRequest[];
  /** Effects of a path: requests with the same key are one effect. */
  effects(path: string): number;
  close(): Promise<void>;
}

/**
 * Paths steer the answer: `?status=503`, `?delay=2000` (milliseconds before the answer), `?fail=2` (the first two
 * requests of the path answer 503), `?body=text`, `?location=URL`, `?retryAfter=2` (headers of the answer),
 * `?length=3000000&of=x` (an answer of so many characters), `?echo=authorization` (a header of the request as the answer),
 * `?together=20` (no answer before so many requests that ask for that are under way).
 */
export async function startRecorder(): Promise<Recorder> {
  const requests: RecordedRequest[] = [];
  const open = new Set<RecordedRequest>();
  const held: (() => void)[] = [];
  const of = (path: string): RecordedRequest[] => requests.filter((request) => request.path === path);
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? '/', 'http://recorder');
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const key = request.headers['idempotency-key'];
      const record: RecordedRequest = {
        method: request.method ?? '',
        path: url.pathname,
        query: url.search,
        key: Array.isArray(key) ? key[0] : key,
        headers: request.headers,
        body: Buffer.concat(chunks).toString(),
        aborted: false,
        beside: [...open].map(({ path }) => path),
      };
      requests.push(record);
      open.add(record);
      const failures = Number(url.searchParams.get('fail') ?? 0);
      const status =
        of(url.pathname).length <= failures ? 503 : Number(url.searchParams.get('status') ?? 200);
      let timer: NodeJS.Timeout | undefined;
      const respond = (): void => {
        const location = url.searchParams.get('location');
        const retryAfter = url.searchParams.get('retryAfter');
        response.writeHead(status, {
          'content-type': 'text/plain',
          ...(location !== null && { location }),
          ...(retryAfter !== null && { 'retry-after': retryAfter }),
        });
        const length = Number(url.searchParams.get('length') ?? 0);
        const echo = url.searchParams.get('echo');
        if (length > 0) response.end((url.searchParams.get('of') ?? 'x').repeat(length));
        else if (echo !== null) response.end(`${echo}: ${String(request.headers[echo])}`);
        else response.end(url.searchParams.get('body') ?? 'ok');
      };
      const together = Number(url.searchParams.get('together') ?? 0);
      if (together === 0) timer = setTimeout(respond, Number(url.searchParams.get('delay') ?? 0));
      else if (held.push(respond) === together) for (const answer of held.splice(0)) answer();
      response.on('close', () => {
        open.delete(record);
        if (!response.writableEnded) {
          record.aborted = true;
          clearTimeout(timer);
        }
      });
    });
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    of,
    effects: (path) => new Set(of(path).map((request) => request.key)).size,
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => {
          resolve();
        });
      }),
  };
}
