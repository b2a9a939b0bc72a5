/**
 * Stands between one bridge or worker and the API server. It knows the boundaries by the requests that pass, and can
 * answer in the server's place, cut what it forwards, and tamper with watches.
 */
import { createServer, request as plainRequest } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Agent, request as secureRequest } from 'node:https';
import type { AddressInfo } from 'node:net';
import { kubeEvent } from './kube-events.js';
import type { KubeRequest } from './kube-events.js';
import type { Referee, Ruling, Side } from './boundaries.js';
import { PASS } from './boundaries.js';
import { tamperWatch } from './watch-faults.js';
import type { WatchFault } from './watch-faults.js';

/** Who the proxy speaks as to the API server. */
export interface Upstream {
  server: string;
  ca: string;
  cert: string;
  key: string;
}

/** What goes wrong with any request, not only at a boundary, for a time. */
export interface Weather {
  until: number;
  /** Share of the requests that are hit. */
  share: number;
  ruling: Ruling;
}

export interface KubeProxy {
  url: string;
  /** Sets what goes wrong with all requests for a time. */
  weather(weather: Weather | undefined): void;
  /** Strikes every open watch; gives how many there were. */
  strikeWatches(fault: WatchFault): number;
  close(): Promise<void>;
}

export interface KubeProxyOptions {
  role: 'bridge' | 'worker';
  source: string;
  upstream: Upstream;
  referee: Referee;
  random: () => number;
}

/** Starts a proxy on a free port of the loopback. */
export async function startKubeProxy(options: KubeProxyOptions): Promise<KubeProxy> {
  const { role, source, upstream, referee } = options;
  const agent = new Agent({
    keepAlive: true,
    maxSockets: 200,
    ca: upstream.ca,
    cert: upstream.cert,
    key: upstream.key,
  });
  const target = new URL(upstream.server);
  const watches = new Set<(fault: WatchFault) => void>();
  let weather: Weather | undefined;

  const forward = (incoming: IncomingMessage, body: Buffer): Promise<IncomingMessage> =>
    new Promise((resolve, reject) => {
      const send = target.protocol === 'https:' ? secureRequest : plainRequest;
      const outgoing = send({
        host: target.hostname,
        port: target.port,
        method: incoming.method,
        path: incoming.url,
        headers: { ...incoming.headers, host: target.host },
        ...(target.protocol === 'https:' && { agent }),
      });
      const gone = (): void => {
        outgoing.destroy();
      };
      incoming.socket.once('close', gone);
      outgoing.once('close', () => incoming.socket.off('close', gone));
      outgoing.once('response', resolve);
      outgoing.once('error', reject);
      outgoing.end(body);
    });

  async function handle(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const body = await readAll(incoming);
    const url = new URL(incoming.url ?? '/', 'http://proxy');
    const request: KubeRequest = {
      method: incoming.method ?? 'GET',
      path: url.pathname,
      query: url.searchParams,
      body: body.toString(),
    };
    if (request.query.get('watch') !== null) {
      await watch(incoming, outgoing, request);
      return;
    }
    const event = kubeEvent(role, request);
    const pass = async (side: Side): Promise<boolean> => {
      const ruling =
        event === undefined
          ? PASS
          : await referee({ ...event, side, source, what: `${request.method} ${request.path}` });
      return obey(side === 'before' && ruling.kind === 'pass' ? storm() : ruling, outgoing);
    };
    if (!(await pass('before'))) return;
    const response = await forward(incoming, body);
    const answer = await readAll(response);
    // What was refused has had no effect: nothing has passed.
    const isDone = (response.statusCode ?? 500) < 300;
    if (isDone && !(await pass('after'))) return;
    outgoing.writeHead(response.statusCode ?? 502, withoutHop(response.headers));
    outgoing.end(answer);
  }

  function storm(): Ruling {
    if (weather === undefined || Date.now() > weather.until) return PASS;
    return options.random() < weather.share ? weather.ruling : PASS;
  }

  async function watch(
    incoming: IncomingMessage,
    outgoing: ServerResponse,
    request: KubeRequest,
  ): Promise<void> {
    if (!obey(storm(), outgoing)) return;
    const response = await forward(incoming, Buffer.alloc(0));
    outgoing.writeHead(response.statusCode ?? 502, withoutHop(response.headers));
    outgoing.flushHeaders();
    const strike = tamperWatch(response, outgoing, request.path);
    watches.add(strike);
    outgoing.once('close', () => {
      watches.delete(strike);
      response.destroy();
    });
  }

  const server = createServer((incoming, outgoing) => {
    handle(incoming, outgoing).catch(() => {
      // The API server is gone or has broken off: so does this.
      incoming.socket.destroy();
    });
  });
  server.keepAliveTimeout = 60_000;
  server.headersTimeout = 120_000;
  server.requestTimeout = 0;
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });

  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    weather: (next) => {
      weather = next;
    },
    strikeWatches(fault) {
      const open = [...watches];
      for (const strike of open) strike(fault);
      return open.length;
    },
    close: () =>
      new Promise((resolve) => {
        agent.destroy();
        server.closeAllConnections();
        server.close(() => {
          resolve();
        });
      }),
  };
}

/** Whether it goes on. */
function obey(ruling: Ruling, outgoing: ServerResponse): boolean {
  switch (ruling.kind) {
    case 'pass':
      return !outgoing.destroyed;
    case 'cut':
      outgoing.socket?.destroy();
      return false;
    case 'half-close':
      outgoing.socket?.end();
      return false;
    case 'answer': {
      const message = 'a fault was injected';
      outgoing.writeHead(ruling.status, {
        'content-type': 'application/json',
        ...(ruling.status === 429 && { 'retry-after': '1' }),
      });
      outgoing.end(
        JSON.stringify({
          apiVersion: 'v1',
          kind: 'Status',
          status: 'Failure',
          code: ruling.status,
          reason: REASONS[ruling.status] ?? 'InternalError',
          message,
        }),
      );
      return false;
    }
  }
}

const REASONS: Record<number, string> = {
  429: 'TooManyRequests',
  500: 'InternalError',
  503: 'ServiceUnavailable',
  504: 'Timeout',
};

function withoutHop(headers: IncomingMessage['headers']): IncomingMessage['headers'] {
  const { connection: _c, 'transfer-encoding': _t, 'keep-alive': _k, ...rest } = headers;
  return rest;
}

async function readAll(stream: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}
