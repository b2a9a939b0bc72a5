/** Stands between runners and the server: notes what they ask, and cuts, hangs or refuses single requests. */
import { createServer, request as httpRequest, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { SyncRequest } from '../../../api/terraform/operation.js';

/** Answers instead of the server, or `undefined` to let it answer; a request that is not answered hangs. */
export type Meddler = (request: {
  what: string;
  operation: string;
}) => Promise<'hang' | 'cut' | number | undefined>;

/** What was seen of one operation. */
export interface Seen {
  syncs: (SyncRequest & { at: number })[];
  /** Contents of its state that the server has taken, in the order in which they came. */
  states: { at: number; bytes: Buffer; serial: number }[];
}

/** A proxy that listens. */
export interface MeddlingProxy {
  url: string;
  seen: (operation: string) => Seen;
  /** Asked before a request is heard, and after it was, before it is answered. */
  meddle: Meddler;
  meddleAfter: Meddler;
  /** Requests as they came, such as `POST begin`. */
  asked: string[];
  close: () => Promise<void>;
}

interface Heard {
  status: number;
  headers: IncomingMessage['headers'];
  body: Buffer;
}

/** Starts a proxy in front of a server. */
export async function startMeddlingProxy(target: string): Promise<MeddlingProxy> {
  const seen = new Map<string, Seen>();
  const proxy: MeddlingProxy = {
    url: '',
    seen: (operation) => {
      const found = seen.get(operation) ?? { syncs: [], states: [] };
      seen.set(operation, found);
      return found;
    },
    meddle: () => Promise.resolve(undefined),
    meddleAfter: () => Promise.resolve(undefined),
    asked: [],
    close: () => new Promise((resolve) => (http.close(() => resolve()), http.closeAllConnections())),
  };
  const http = createServer((request, response) => void serve(proxy, target, request, response));
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
  proxy.url = `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
  return proxy;
}

async function serve(
  proxy: MeddlingProxy,
  target: string,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const [, , , operation = '', ...rest] = (request.url ?? '').split('/');
  const what = `${request.method} ${rest.join('/')}`;
  const body = await bodyOf(request).catch(() => undefined);
  if (body === undefined) return;
  proxy.asked.push(what);
  const meddled = await proxy.meddle({ what, operation });
  if (meddled === 'hang') return;
  if (meddled === 'cut') return void request.socket.destroy();
  if (typeof meddled === 'number') {
    response
      .writeHead(meddled)
      .end(JSON.stringify({ error: { reason: 'Unavailable', message: 'as the test wants' } }));
    return;
  }
  const heard = await forward(target, request, body).catch(() => undefined);
  if (heard === undefined) return void request.socket.destroy();
  if (heard.status < 300) note(proxy.seen(operation), what, body);
  const after = await proxy.meddleAfter({ what, operation });
  if (after === 'hang') return;
  if (after === 'cut') return void request.socket.destroy();
  response.writeHead(heard.status, heard.headers).end(heard.body);
}

function note({ syncs, states }: Seen, what: string, body: Buffer): void {
  if (what === 'POST sync')
    syncs.push({ ...(JSON.parse(body.toString('utf8')) as SyncRequest), at: Date.now() });
  if (what === 'PUT state') {
    const { serial } = JSON.parse(body.toString('utf8')) as { serial: number };
    states.push({ at: Date.now(), bytes: body, serial });
  }
}

function forward(
  target: string,
  { method, url = '/', headers }: IncomingMessage,
  body: Buffer,
): Promise<Heard> {
  return new Promise((resolve, reject) => {
    const { 'transfer-encoding': _, connection: __, ...passed } = headers;
    const request = httpRequest(new URL(url, target), {
      method,
      headers: { ...passed, 'content-length': body.length },
    });
    request.once('error', reject);
    request.once('response', (answer) => {
      const { 'transfer-encoding': ___, connection: ____, ...kept } = answer.headers;
      bodyOf(answer).then(
        (bytes) => resolve({ status: answer.statusCode ?? 500, headers: kept, body: bytes }),
        reject,
      );
    });
    request.end(body);
  });
}

async function bodyOf(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
  return Buffer.concat(chunks);
}
