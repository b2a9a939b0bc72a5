import { createServer } from 'node:http';
import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { createServer as createTcpServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from 'node:zlib';
import { pino } from 'pino';
import { afterEach, describe, expect, it } from 'vitest';
import { policyFor } from '../../../api/plan/policy.js';
import type { HTTPAction } from '../../../api/plan/types.js';
import type { KubeClient } from '../../../kube/client.js';
import { selfSigned } from '../../core/testing/self-signed.js';
import { createEgressPolicy } from '../../core/egress.js';
import type { EgressOptions } from '../../core/egress-rules.js';
import type { Attempt, AttemptResult } from '../../core/handler.js';
import { createHttpHandler, retryAfter } from './http.js';
import { NO_PRIOR_STORE } from '../../core/prior-store.js';

const closers: (() => void)[] = [];
afterEach(() => {
  for (const close of closers.splice(0)) close();
});

interface Seen {
  method: string;
  url: string;
  headers: IncomingMessage['headers'];
  body: string;
}

/** A server on loopback that records what it was asked. */
async function serve(
  answer: (request: Seen, response: ServerResponse) => void,
): Promise<{ url: string; seen: Seen[] }> {
  const seen: Seen[] = [];
  const listener: RequestListener = (request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const record = {
        method: request.method ?? '',
        url: request.url ?? '',
        headers: request.headers,
        body: Buffer.concat(chunks).toString(),
      };
      seen.push(record);
      answer(record, response);
    });
  };
  return { url: await listen(createServer(listener)), seen };
}

/** The same with a certificate that nobody vouches for. */
async function serveTls(listener: RequestListener): Promise<string> {
  const url = await listen(createTlsServer(await selfSigned(), listener));
  return url.replace('http:', 'https:');
}

async function listen(server: Server | ReturnType<typeof createTcpServer>): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closers.push(() => {
    server.close();
    if ('closeAllConnections' in server) server.closeAllConnections();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

interface Options {
  egress?: EgressOptions;
  params?: Record<string, string>;
  secrets?: Record<string, Record<string, string>>;
  /** Annotations of every Secret. */
  annotations?: Record<string, string>;
  signal?: AbortSignal;
}

function send(http: HTTPAction, options: Options = {}): Promise<AttemptResult> {
  const kube = {
    get: (key: { name: string; namespace: string }) =>
      Promise.resolve(
        key.namespace === 'plans' && options.secrets?.[key.name] !== undefined
          ? {
              metadata: { name: key.name, annotations: options.annotations },
              data: Object.fromEntries(
                Object.entries(options.secrets[key.name] ?? {}).map(([name, value]) => [
                  name,
                  Buffer.from(value).toString('base64'),
                ]),
              ),
            }
          : undefined,
      ),
  } as unknown as KubeClient;
  const attempt: Attempt = {
    task: { run: { plan: { namespace: 'plans' } } } as Attempt['task'],
    action: { name: 'call', type: 'HTTP', http },
    scope: {
      params: options.params ?? {},
      planName: 'p',
      executionName: 'e',
      operation: 'Execute',
      outputs: {},
    },
    manager: 'drover',
    key: 'uid/s0/w0/a0/forward/0',
    round: 0,
    signal: options.signal ?? new AbortController().signal,
    deadline: Date.now() + 60_000,
    kube,
    identity: 'the test',
    home: kube,
    priors: NO_PRIOR_STORE,
    isRepeated: false,
    policy: policyFor('p', []),
    log: pino({ level: 'silent' }),
    beforeEffect: () => undefined,
    say: () => undefined,
    remember: () => undefined,
    remembered: undefined,
  };
  return createHttpHandler(createEgressPolicy(options.egress ?? { allowLoopback: true })).run(attempt);
}

describe('requests', () => {
  it('sends method, headers, body and the idempotency key, and keeps the answer [S3.7]', async () => {
    const { url, seen } = await serve((_request, response) => response.end('drained'));
    const result = await send(
      {
        url: `${url}/sites/{{ .params.site }}`,
        method: 'post',
        headers: { 'Content-Type': 'application/json', 'X-Site': '$(params.site)' },
        body: '{"site": "{{ .params.site }}"}',
      },
      { params: { site: 'a"b/c' } },
    );
    expect(result).toMatchObject({
      kind: 'succeeded',
      outputs: { httpResponse: { statusCode: 200, body: 'drained' } },
    });
    expect(seen[0]).toMatchObject({ method: 'POST', url: '/sites/a%22b%2Fc', body: '{"site": "a\\"b/c"}' });
    expect(seen[0]?.headers).toMatchObject({
      'x-site': 'a"b/c',
      'idempotency-key': 'uid/s0/w0/a0/forward/0',
    });
  });

  it("keeps an action's own idempotency key", async () => {
    const { url, seen } = await serve((_request, response) => response.end());
    await send({ url, headers: { 'idempotency-KEY': 'mine' } });
    expect(seen[0]?.headers['idempotency-key']).toBe('mine');
  });

  it.each([
    [{ method: 'CONNECT' }, 'InvalidMethod'],
    [{ headers: { 'Transfer-Encoding': 'chunked' } }, 'InvalidHeader'],
    [{ headers: { 'bad name': 'x' } }, 'InvalidHeader'],
  ] as [Partial<HTTPAction>, string][])('refuses %j before sending', async (part, reason) => {
    const { url, seen } = await serve((_request, response) => response.end());
    expect(await send({ url, ...part })).toMatchObject({ kind: 'failed', reason, effect: 'None' });
    expect(seen).toEqual([]);
  });

  it('ignores proxies named by the environment [SEC5]', async () => {
    const before = process.env.http_proxy;
    process.env.http_proxy = 'http://127.0.0.1:9';
    try {
      const { url } = await serve((_request, response) => response.end('direct'));
      expect(await send({ url })).toMatchObject({ kind: 'succeeded' });
    } finally {
      if (before === undefined) delete process.env.http_proxy;
      else process.env.http_proxy = before;
    }
  });
});

describe('answers', () => {
  const answering = async (
    status: number,
    headers: Record<string, string> = {},
    body = 'why',
  ): Promise<string> =>
    (await serve((_request, response) => response.writeHead(status, headers).end(body))).url;

  it.each([
    [200, undefined, 'succeeded'],
    [299, [], 'succeeded'],
    [404, undefined, 'failed'],
    [304, undefined, 'failed'],
    [404, [404], 'succeeded'],
    [503, [503], 'succeeded'],
    [200, [201], 'failed'],
    [408, undefined, 'retry'],
    [425, undefined, 'retry'],
    [429, undefined, 'retry'],
    [500, undefined, 'retry'],
    [503, undefined, 'retry'],
  ] as [number, number[] | undefined, string][])(
    '%i with successCodes %j is %s [S3.6] [S3.19]',
    async (status, codes, kind) => {
      const url = await answering(status);
      expect(await send({ url, ...(codes !== undefined && { successCodes: codes }) })).toMatchObject({
        kind,
      });
    },
  );

  it('says what was answered and keeps it, on failure too [S3.19]', async () => {
    const url = await answering(503, { 'retry-after': '7' }, 'maintenance\n\u001b[31m');
    expect(await send({ url: `${url}/x`, method: 'POST' })).toEqual({
      kind: 'retry',
      reason: 'HTTPStatus',
      message: `POST ${url}/x answered 503 ("maintenance [31m")`,
      outputs: { httpResponse: { statusCode: 503, body: 'maintenance\n[31m' } },
      round: 'Refused',
      effect: 'Unknown',
      afterMs: 7000,
    });
  });

  it('does not know what a gateway lost', async () => {
    expect(await send({ url: await answering(504) })).toMatchObject({ kind: 'retry', round: 'Unclear' });
  });

  it('keeps 1000 characters and never half of one [S3.19]', async () => {
    const url = await answering(200, {}, 'é🚒'.repeat(100_000));
    const result = await send({ url });
    const body = result.kind === 'succeeded' ? (result.outputs?.httpResponse?.body ?? '') : '';
    expect([...body]).toHaveLength(1000);
    expect(body).toBe('é🚒'.repeat(500));
  });

  it('reads no more than it keeps use for [SEC7] [S3.19]', async () => {
    let written = 0;
    const { url } = await serve((_request, response) => {
      const chunk = Buffer.alloc(65_536, 'x');
      const more = (): void => {
        while (written < 1024 ** 3) {
          written += chunk.length;
          if (!response.write(chunk)) {
            response.once('drain', more);
            return;
          }
        }
      };
      response.on('error', () => undefined);
      more();
    });
    expect(await send({ url })).toMatchObject({ kind: 'succeeded' });
    expect(written).toBeLessThan(64 * 1024 * 1024);
  });

  it('survives bytes that are no text and shows none that cannot be decompressed [SEC7]', async () => {
    const raw = await serve((_request, response) => response.end(Buffer.from([0x61, 0xff, 0xc3, 0x00])));
    expect(await send({ url: raw.url })).toMatchObject({ outputs: { httpResponse: { body: 'a��' } } });
    const torn = await serve((_request, response) =>
      response.writeHead(200, { 'content-encoding': 'gzip' }).end('12345'),
    );
    expect(await send({ url: torn.url })).toMatchObject({
      outputs: { httpResponse: { body: '[5 bytes, gzip]' } },
    });
  });

  it.each([
    ['gzip', gzipSync],
    ['deflate', deflateSync],
    ['deflate', deflateRawSync],
    ['br', brotliCompressSync],
  ])('are decompressed: %s [F15] [S3.19]', async (coding, compress) => {
    const { url } = await serve((_request, response) =>
      response.writeHead(200, { 'content-encoding': coding }).end(compress('{"ok":true}')),
    );
    expect(await send({ url })).toMatchObject({ outputs: { httpResponse: { body: '{"ok":true}' } } });
  });

  it('have an empty text for a body when they are empty [F15] [S3.19]', async () => {
    const { url } = await serve((_request, response) => response.writeHead(204).end());
    expect(await send({ url })).toMatchObject({ outputs: { httpResponse: { statusCode: 204, body: '' } } });
  });

  it('unfold no further than 1 MiB, however much there would be [F15] [SEC7] [S3.19]', async () => {
    const bomb = gzipSync(Buffer.alloc(64 * 1024 * 1024, 'x'));
    const { url } = await serve((_request, response) =>
      response.writeHead(200, { 'content-encoding': 'gzip' }).end(bomb),
    );
    const before = process.memoryUsage().rss;
    expect(await send({ url })).toMatchObject({ outputs: { httpResponse: { body: 'x'.repeat(1000) } } });
    expect(process.memoryUsage().rss - before).toBeLessThan(32 * 1024 * 1024);
  });

  it('is given up with the attempt when it drips for ever [SEC7]', async () => {
    let closed = 0;
    const { url } = await serve((_request, response) => {
      response.writeHead(200);
      const drip = setInterval(() => response.write('.'), 10);
      response.on('close', () => {
        clearInterval(drip);
        closed += 1;
      });
    });
    const signal = AbortSignal.timeout(200);
    expect(await send({ url }, { signal })).toMatchObject({
      kind: 'interrupted',
      effect: 'Unknown',
      message: `GET ${url}/ has not finished its answer`,
      outputs: { httpResponse: { statusCode: 200 } },
    });
    await expect.poll(() => closed, { timeout: 10_000 }).toBe(1);
  });

  it('counts only from a server whose certificate is good, unless an action says otherwise [SEC7]', async () => {
    let asked = 0;
    const url = await serveTls((_request, response) => {
      asked += 1;
      response.end('ok');
    });
    expect(await send({ url })).toMatchObject({ kind: 'failed', reason: 'TLSError', effect: 'None' });
    expect(asked).toBe(0);
    expect(await send({ url, insecureSkipVerify: true })).toMatchObject({ kind: 'succeeded' });
  });

  it('reads the characters that the server announces', async () => {
    const { url } = await serve((_request, response) =>
      response.writeHead(200, { 'content-type': 'text/plain; charset=gbk' }).end(Buffer.from([0xd6, 0xd0])),
    );
    expect(await send({ url })).toMatchObject({ outputs: { httpResponse: { body: '中' } } });
  });

  it('refuses a header bomb for good [SEC7]', async () => {
    const url = await listen(
      createTcpServer((socket) => {
        socket.on('error', () => undefined);
        socket.once('data', () => socket.write(`HTTP/1.1 200 OK\r\nx: ${'y'.repeat(200_000)}\r\n\r\n`));
      }),
    );
    expect(await send({ url })).toMatchObject({
      kind: 'failed',
      reason: 'InvalidResponse',
      effect: 'Unknown',
    });
  });
});

describe('no answer', () => {
  it('knows that a refused connection had no effect, which says nothing of an attempt before it', async () => {
    const { url } = await serve(() => undefined);
    closers.splice(0).forEach((close) => close());
    expect(await send({ url })).toMatchObject({
      kind: 'retry',
      reason: 'Unreachable',
      round: 'Refused',
    });
  });

  it('does not know what a reset connection did', async () => {
    const url = await listen(
      createTcpServer((socket) => {
        socket.on('error', () => undefined);
        socket.once('data', () => socket.destroy());
      }),
    );
    expect(await send({ url })).toMatchObject({ kind: 'retry', reason: 'ConnectionLost', round: 'Unclear' });
  });

  it('does not take half an answer for an answer', async () => {
    const { url } = await serve((_request, response) => {
      response.writeHead(200, { 'content-length': '10' });
      response.write('half', () => response.destroy());
    });
    expect(await send({ url })).toMatchObject({
      kind: 'retry',
      reason: 'ConnectionLost',
      round: 'Unclear',
      outputs: { httpResponse: { statusCode: 200 } },
    });
  });

  it('stops waiting when it is aborted', async () => {
    const { url } = await serve(() => undefined);
    const signal = AbortSignal.timeout(50);
    expect(await send({ url, method: 'POST' }, { signal })).toEqual({
      kind: 'interrupted',
      effect: 'Unknown',
      message: `POST ${url}/ has not answered`,
    });
  });

  it('reports a name that does not exist as unreachable', async () => {
    expect(await send({ url: 'http://nowhere.invalid/' })).toMatchObject({
      kind: 'retry',
      reason: 'Unreachable',
      round: 'Refused',
    });
  });
});

describe('redirects', () => {
  it('follows at most five [S3.20]', async () => {
    const { url, seen } = await serve((request, response) =>
      response.writeHead(302, { location: `/${Number(request.url.slice(1)) + 1}` }).end(),
    );
    expect(await send({ url: `${url}/0` })).toMatchObject({ kind: 'failed', reason: 'TooManyRedirects' });
    expect(seen).toHaveLength(6);
  });

  it('keeps method and body for 307, and never makes a GET of a POST [F15] [S3.21]', async () => {
    const { url, seen } = await serve((request, response) => {
      if (request.url === '/end') response.end('ok');
      else response.writeHead(Number(request.url.slice(1)), { location: '/end' }).end();
    });
    const post = { method: 'POST', body: 'x' };
    expect(await send({ url: `${url}/307`, ...post })).toMatchObject({ kind: 'succeeded' });
    for (const code of [301, 302, 303]) {
      expect(await send({ url: `${url}/${code}`, ...post })).toMatchObject({
        kind: 'failed',
        reason: 'RedirectRefused',
        effect: 'Unknown',
      });
    }
    expect(await send({ url: `${url}/302`, ...post, successCodes: [302] })).toMatchObject({
      kind: 'succeeded',
      outputs: { httpResponse: { statusCode: 302 } },
    });
    expect(seen.filter((request) => request.url === '/end')).toMatchObject([{ method: 'POST', body: 'x' }]);
  });

  it('does not follow to an address that is not allowed [SEC5] [S3.20]', async () => {
    const { url } = await serve((_request, response) =>
      response.writeHead(307, { location: 'http://169.254.169.254/latest' }).end(),
    );
    expect(await send({ url, method: 'POST' })).toMatchObject({
      kind: 'failed',
      reason: 'EgressRefused',
      effect: 'Unknown',
    });
  });

  it('does not follow from an encrypted connection to one that is not [SEC5]', async () => {
    const plain = await serve((_request, response) => response.end('ok'));
    const url = await serveTls((_request, response) =>
      response.writeHead(307, { location: plain.url }).end(),
    );
    expect(await send({ url, insecureSkipVerify: true })).toMatchObject({
      kind: 'failed',
      reason: 'EgressRefused',
      message: expect.stringContaining('is not encrypted') as string,
    });
    expect(plain.seen).toEqual([]);
  });

  it('takes no body, header or secret to another origin [F15] [SEC6] [S3.21]', async () => {
    const other = await serve((_request, response) => response.end('ok'));
    const { url } = await serve((_request, response) =>
      response.writeHead(307, { location: other.url }).end(),
    );
    const headersFrom = [{ name: 'X-Token', secretKeyRef: { name: 's', key: 'token' } }];
    for (const part of [{ headersFrom }, { headers: { 'X-Plain': '1' } }, { method: 'POST', body: 'x' }]) {
      const result = await send({ url, ...part }, { secrets: { s: { token: 'canary-7431' } } });
      expect(result).toMatchObject({ kind: 'failed', reason: 'RedirectRefused' });
      expect(JSON.stringify(result)).not.toContain('canary');
    }
    expect(other.seen).toEqual([]);
    expect(await send({ url })).toMatchObject({ kind: 'succeeded' });
  });

  it('never shows a password that a redirect names [F15] [S3.22]', async () => {
    const { url } = await serve((_request, response) =>
      response.writeHead(302, { location: 'http://admin:hunter2@127.0.0.1:1/' }).end(),
    );
    const result = await send({ url });
    expect(result).toMatchObject({ kind: 'failed', reason: 'RedirectRefused' });
    expect(JSON.stringify(result)).not.toContain('hunter2');
  });
});

describe('what is no HTTP [S3.23]', () => {
  it('is said and final when it is another protocol [F15]', async () => {
    const url = await listen(
      createTcpServer((socket) => {
        socket.on('error', () => undefined);
        socket.end('SSH-2.0-OpenSSH_9.0\r\n');
      }),
    );
    expect(await send({ url })).toMatchObject({
      kind: 'failed',
      reason: 'InvalidResponse',
      message: expect.stringContaining('"SSH-2.0-OpenSSH_9.0"') as string,
    });
  });

  it('is said and final when TLS meets a plain port [F15]', async () => {
    const { url } = await serve((_request, response) => response.end());
    const result = await send({ url: url.replace('http:', 'https:') });
    expect(result).toMatchObject({ kind: 'failed', reason: 'TLSError', effect: 'None' });
    expect(JSON.stringify(result)).toContain('does not speak TLS');
  });

  it('is said and final when a plain request meets TLS [F15]', async () => {
    const url = await serveTls((_request, response) => response.end());
    const result = await send({ url: url.replace('https:', 'http:'), method: 'POST', body: 'x' });
    expect(result).toMatchObject({ kind: 'failed', reason: 'InvalidResponse', effect: 'None' });
    expect(JSON.stringify(result)).toContain('use https');
  });
});

describe('where a request goes', () => {
  it('is not told by a Host of its own [F15] [S3.23]', async () => {
    const { url, seen } = await serve((_request, response) => response.end());
    expect(await send({ url, headers: { Host: 'other.example' } })).toMatchObject({
      kind: 'failed',
      reason: 'InvalidHeader',
      effect: 'None',
    });
    expect(await send({ url, headers: { Host: new URL(url).host } })).toMatchObject({ kind: 'succeeded' });
    expect(seen).toHaveLength(1);
  });
});

describe('secrets', () => {
  it('appear in nothing that is reported [SEC9] [S3.20] [S3.24]', async () => {
    const { url } = await serve((request, response) =>
      response.writeHead(500).end(JSON.stringify({ you: request.headers, at: request.url })),
    );
    const result = await send(
      { url, headersFrom: [{ name: 'X-Token', secretKeyRef: { name: 's', key: 'token' } }] },
      { secrets: { s: { token: 'can"ary-7431' } } },
    );
    expect(result.kind).toBe('retry');
    expect(JSON.stringify(result)).not.toContain('ary-7431');
    expect(JSON.stringify(result)).toContain('[redacted]');
  });

  it('say what is missing and what is there', async () => {
    const headersFrom = [{ name: 'X-Token', secretKeyRef: { name: 's', key: 'token' } }];
    const { url } = await serve((_request, response) => response.end());
    expect(await send({ url, headersFrom })).toMatchObject({
      kind: 'failed',
      reason: 'SecretNotFound',
      message: expect.stringContaining('Secret plans/s') as string,
    });
    expect(await send({ url, headersFrom }, { secrets: { s: { other: 'x' } } })).toMatchObject({
      message: expect.stringContaining('has no key "token"') as string,
    });
    const split = await send({ url, headersFrom }, { secrets: { s: { token: 'canary\r\nx: y' } } });
    expect(split).toMatchObject({ kind: 'failed', reason: 'InvalidHeader' });
    expect(JSON.stringify(split)).not.toContain('canary');
  });

  it.each([
    ['127.0.0.1', 'succeeded'],
    ['api.example.org, 127.0.0.1', 'succeeded'],
    ['*.example.org', 'failed'],
    ['', 'failed'],
  ])('go to no host but those that the Secret allows: %j [SEC6]', async (hosts, kind) => {
    const { url } = await serve((_request, response) => response.end());
    const result = await send(
      {
        url,
        headersFrom: [{ name: 'Authorization', secretKeyRef: { name: 'token', key: 'value' } }],
      },
      {
        secrets: { token: { value: 'canary' } },
        annotations: { 'dr.bkbcs.tencent.com/allowed-hosts': hosts },
      },
    );
    expect(result.kind).toBe(kind);
    if (kind === 'failed') {
      expect(result).toMatchObject({
        reason: 'SecretHostRefused',
        effect: 'None',
        message: `Secret plans/token may not be sent to 127.0.0.1: its annotation dr.bkbcs.tencent.com/allowed-hosts allows ${JSON.stringify(hosts)}`,
      });
    }
  });
});

describe('Retry-After', () => {
  it.each([
    ['120', 120_000],
    ['Thu, 01 Jan 1970 00:01:00 GMT', 60_000],
    ['Wed, 31 Dec 1969 00:00:00 GMT', 0],
    ['soon', undefined],
    [undefined, undefined],
  ])('%s', (value, milliseconds) => {
    expect(retryAfter(value, 0)).toBe(milliseconds);
  });
});
