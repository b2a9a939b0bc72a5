import { createServer } from 'node:http';
import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http';
import { isIP } from 'node:net';
import type { PayloadCodec } from '@temporalio/common';
import { z } from 'zod';

const MAX_BODY_BYTES = 32 * 1024 * 1024;

/** Payloads as the Web UI and the `temporal` command send them: bytes in base64. */
const bodySchema = z.object({
  payloads: z
    .array(
      z.object({
        metadata: z.record(z.string(), z.base64()).optional(),
        data: z.base64().optional(),
      }),
    )
    .max(10_000),
});

/** Decides whether a request may have payloads opened: returns undefined, or why not. */
export type Authorize = (request: {
  /** Token of `Authorization: Bearer`. */
  token: string | undefined;
  /** Temporal namespace that the Web UI looks at. */
  namespace: string | undefined;
}) => Promise<{ status: 401 | 403; message: string } | undefined>;

/** What a codec endpoint is made of. */
export interface CodecEndpointOptions {
  codec: PayloadCodec;
  authorize: Authorize;
  /** Origins of the Web UI, such as `http://localhost:8233`: no other page's scripts may ask. */
  origins: readonly string[];
  /** Answer only to a `Host` that is a loopback name or address: a page cannot get here by renaming itself. */
  loopbackOnly: boolean;
}

/**
 * Serves `POST /decode` and `POST /encode`, Temporal's remote codec: the Web UI and the `temporal` command show and
 * send encrypted payloads through it, for those who may.
 */
export function createCodecEndpoint(options: CodecEndpointOptions): Server {
  const listener: RequestListener = (request, response) => {
    answer(request, response, options).catch((error: unknown) => {
      refuse(response, 500, error instanceof Error ? error.message : String(error));
    });
  };
  return createServer({ requestTimeout: 30_000, headersTimeout: 10_000 }, listener);
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  options: CodecEndpointOptions,
): Promise<void> {
  const { codec, authorize, origins, loopbackOnly } = options;
  if (loopbackOnly && !isLoopback(request.headers.host)) {
    refuse(response, 403, 'this endpoint answers to loopback names only');
    return;
  }
  const { origin } = request.headers;
  if (origin !== undefined) {
    if (!origins.includes(origin)) {
      refuse(response, 403, `pages of ${origin} may not ask; allowed: ${origins.join(', ') || 'none'}`);
      return;
    }
    response.setHeader('access-control-allow-origin', origin);
    response.setHeader('access-control-allow-credentials', 'true');
    response.setHeader('vary', 'origin');
  }
  if (request.method === 'OPTIONS') {
    response.setHeader('access-control-allow-methods', 'POST');
    response.setHeader('access-control-allow-headers', 'authorization,content-type,x-namespace');
    response.setHeader('access-control-max-age', '600');
    response.writeHead(204).end();
    return;
  }
  const action = /\/(encode|decode)$/.exec(new URL(request.url ?? '/', 'http://localhost').pathname)?.[1];
  if (request.method !== 'POST' || action === undefined) {
    refuse(response, 404, 'serves POST /decode and POST /encode');
    return;
  }
  const refusal = await authorize({
    token: /^Bearer (\S+)$/i.exec(request.headers.authorization ?? '')?.[1],
    namespace: [request.headers['x-namespace']].flat()[0],
  });
  if (refusal !== undefined) {
    refuse(response, refusal.status, refusal.message);
    return;
  }
  const body = await read(request);
  if (body === undefined) {
    refuse(response, 413, `a request may have ${MAX_BODY_BYTES} bytes`);
    return;
  }
  const parsed = parse(body);
  if (parsed === undefined) {
    refuse(response, 400, 'expected {"payloads": [{"metadata": {…}, "data": "…"}]} with bytes in base64');
    return;
  }
  const payloads = await codec[action as 'encode' | 'decode'](
    parsed.payloads.map(({ metadata = {}, data = '' }) => ({
      metadata: mapValues(metadata, (value) => Buffer.from(value, 'base64')),
      data: Buffer.from(data, 'base64'),
    })),
  );
  response.writeHead(200, { 'content-type': 'application/json' }).end(
    JSON.stringify({
      payloads: payloads.map(({ metadata, data }) => ({
        metadata: mapValues(metadata ?? {}, (value) => Buffer.from(value).toString('base64')),
        data: Buffer.from(data ?? []).toString('base64'),
      })),
    }),
  );
}

function refuse(response: ServerResponse, status: number, message: string): void {
  response.writeHead(status, { 'content-type': 'text/plain; charset=utf-8' }).end(`${message}\n`);
}

async function read(request: IncomingMessage): Promise<string | undefined> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > MAX_BODY_BYTES) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

function parse(body: string): z.infer<typeof bodySchema> | undefined {
  try {
    return bodySchema.parse(JSON.parse(body));
  } catch {
    return undefined;
  }
}

const mapValues = <From, To>(record: Record<string, From>, map: (value: From) => To): Record<string, To> =>
  Object.fromEntries(Object.entries(record).map(([key, value]) => [key, map(value)]));

function isLoopback(host: string | undefined): boolean {
  const name = host?.replace(/:\d+$/, '').replace(/^\[|\]$/g, '') ?? '';
  return name === 'localhost' || name === '::1' || (isIP(name) === 4 && name.startsWith('127.'));
}
