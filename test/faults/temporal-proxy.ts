/**
 * Stands between one bridge or worker and Temporal. All their calls are unary, so that each is read whole, looked at,
 * forwarded, and answered whole.
 */
import { connect, constants, createServer } from 'node:http2';
import type {
  ClientHttp2Session,
  IncomingHttpHeaders,
  OutgoingHttpHeaders,
  ServerHttp2Session,
  ServerHttp2Stream,
} from 'node:http2';
import type { AddressInfo } from 'node:net';
import type { Referee, Ruling } from './boundaries.js';
import { createTemporalReader, messageOf } from './temporal-events.js';
import type { TemporalEvent } from './temporal-events.js';

export interface TemporalProxy {
  /** `HOST:PORT`. */
  address: string;
  /** Speaks to another server from now on; open calls are cut. */
  redirect(address: string): void;
  /** Answers a share of all calls UNAVAILABLE for a time. */
  weather(weather: { until: number; share: number } | undefined): void;
  close(): Promise<void>;
}

export interface TemporalProxyOptions {
  role: 'bridge' | 'worker';
  source: string;
  /** `HOST:PORT` of the server. */
  upstream: string;
  referee: Referee;
  random: () => number;
}

interface Answer {
  headers: IncomingHttpHeaders;
  body: Buffer;
  trailers: IncomingHttpHeaders;
}

const UNAVAILABLE = '14';

/** Starts a proxy on a free port of the loopback. */
export async function startTemporalProxy(options: TemporalProxyOptions): Promise<TemporalProxy> {
  const { role, source, referee } = options;
  const reader = createTemporalReader(role);
  const sessions = new Set<ServerHttp2Session>();
  let upstream = options.upstream;
  let weather: { until: number; share: number } | undefined;
  let session: ClientHttp2Session | undefined;

  function upstreamSession(): ClientHttp2Session {
    if (session !== undefined && !session.closed && !session.destroyed) return session;
    const opened = connect(`http://${upstream}`);
    opened.on('error', () => undefined);
    opened.on('close', () => {
      if (session === opened) session = undefined;
    });
    session = opened;
    return opened;
  }

  function call(headers: IncomingHttpHeaders, body: Buffer, stream: ServerHttp2Stream): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const outgoing = upstreamSession().request(forwarded(headers));
      const answer: Answer = { headers: {}, body: Buffer.alloc(0), trailers: {} };
      const chunks: Buffer[] = [];
      // Who has gone away must not be handed a task.
      const gone = (): void => outgoing.close(constants.NGHTTP2_CANCEL);
      stream.once('close', gone);
      outgoing.on('response', (received) => {
        answer.headers = received;
      });
      outgoing.on('trailers', (received) => {
        answer.trailers = received;
      });
      outgoing.on('data', (chunk: Buffer) => chunks.push(chunk));
      outgoing.on('error', reject);
      outgoing.on('close', () => {
        stream.off('close', gone);
        answer.body = Buffer.concat(chunks);
        if (answer.headers[':status'] === undefined) reject(new Error('no answer from Temporal'));
        else resolve(answer);
      });
      outgoing.end(body);
    });
  }

  async function handle(stream: ServerHttp2Stream, headers: IncomingHttpHeaders): Promise<void> {
    const method = String(headers[':path']).split('/').at(-1) ?? '';
    const body = await readAll(stream);
    const request = messageOf(body, headers['grpc-encoding'] as string | undefined);
    const pass = async (event: TemporalEvent): Promise<boolean> =>
      obey(await referee({ ...event, source }), stream);

    if (weather !== undefined && Date.now() < weather.until && options.random() < weather.share) {
      obey({ kind: 'answer', status: 503 }, stream);
      return;
    }
    const before = reader.before(method, request);
    if (before !== undefined && !(await pass(before))) return;
    const answer = await call(headers, body, stream);
    if (stream.destroyed) return;
    const status = answer.trailers['grpc-status'] ?? answer.headers['grpc-status'];
    if (status === '0') {
      const encoding = answer.headers['grpc-encoding'] as string | undefined;
      for (const event of reader.after(method, request, messageOf(answer.body, encoding))) {
        if (!(await pass(event))) return;
      }
    }
    respond(stream, answer);
  }

  const server = createServer();
  server.on('session', (opened) => {
    sessions.add(opened);
    opened.on('error', () => undefined);
    opened.on('close', () => sessions.delete(opened));
  });
  server.on('stream', (stream, headers) => {
    stream.on('error', () => undefined);
    handle(stream, headers).catch(() => {
      obey({ kind: 'answer', status: 503 }, stream);
    });
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });

  const cutAll = (): void => {
    session?.destroy();
    session = undefined;
    for (const open of sessions) open.destroy();
  };
  return {
    address: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    redirect(address) {
      upstream = address;
      cutAll();
    },
    weather: (next) => {
      weather = next;
    },
    close: () =>
      new Promise((resolve) => {
        cutAll();
        server.close(() => {
          resolve();
        });
      }),
  };
}

/** Whether it goes on. */
function obey(ruling: Ruling, stream: ServerHttp2Stream): boolean {
  if (stream.destroyed || stream.closed) return false;
  switch (ruling.kind) {
    case 'pass':
      return true;
    case 'cut':
      stream.session?.destroy();
      return false;
    case 'half-close':
      stream.close(constants.NGHTTP2_REFUSED_STREAM);
      stream.session?.close();
      return false;
    case 'answer':
      if (!stream.headersSent) {
        stream.respond(
          {
            ':status': 200,
            'content-type': 'application/grpc',
            'grpc-status': UNAVAILABLE,
            'grpc-message': 'a fault was injected',
          },
          { endStream: true },
        );
      }
      return false;
  }
}

function respond(stream: ServerHttp2Stream, answer: Answer): void {
  const headers = withoutPseudo(answer.headers);
  if (answer.headers['grpc-status'] !== undefined) {
    stream.respond({ ':status': 200, ...headers }, { endStream: true });
    return;
  }
  stream.respond({ ':status': 200, ...headers }, { waitForTrailers: true });
  stream.on('wantTrailers', () => {
    stream.sendTrailers(withoutPseudo(answer.trailers));
  });
  stream.end(answer.body);
}

const forwarded = (headers: IncomingHttpHeaders): OutgoingHttpHeaders => {
  const { ':authority': _, ...rest } = headers;
  return rest;
};

const withoutPseudo = (headers: IncomingHttpHeaders): OutgoingHttpHeaders =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => !name.startsWith(':')));

async function readAll(stream: ServerHttp2Stream): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}
