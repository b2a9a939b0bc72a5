import { createServer } from 'node:http';
import type { RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { isNotFound, isRetryable } from './error.js';
import { createTransport } from './transport.js';
import type { Transport } from './transport.js';

const closing: (() => void)[] = [];
afterEach(() => {
  for (const close of closing.splice(0)) close();
});

async function serve(answer: RequestListener): Promise<Transport> {
  const server = createServer(answer);
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  closing.push(() => {
    server.closeAllConnections();
    server.close();
  });
  return createTransport({
    server: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    authenticate: () => Promise.resolve({ headers: {}, dispatcher: undefined }),
  });
}

const forbidden = JSON.stringify({ kind: 'Status', code: 403, reason: 'Forbidden', message: 'not yours' });
const notFound = JSON.stringify({
  kind: 'Status',
  code: 404,
  reason: 'NotFound',
  message: 'pods "a" not found',
});
const get = { method: 'GET', path: '/api/v1/namespaces/n/pods/a' } as const;

/** A server that answers doubtful things `times` times, and is ready from then on. */
const starting = (times: number, doubtful: { status: number; body: string }): RequestListener => {
  let left = times;
  return ({ url }, response) => {
    if (url === '/readyz') response.writeHead(left > 0 ? 500 : 200).end();
    else if (left-- > 0) response.writeHead(doubtful.status).end(doubtful.body);
    else response.end('{"kind":"Pod"}');
  };
};

describe('an API server that has just started', () => {
  it.each([
    ['refuses what is allowed', { status: 403, body: forbidden }],
    ['knows no path', { status: 404, body: '404 page not found\n' }],
  ])('that %s is tried again later, not believed', async (_, doubtful) => {
    const transport = await serve(starting(2, doubtful));
    const error: unknown = await transport.json(get).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: 503, reason: 'ServerStarting' });
    expect((error as Error).message).toContain('is still starting');
    expect(isRetryable(error)).toBe(true);
  });

  it('that gets ready meanwhile is asked once more', async () => {
    const transport = await serve(starting(1, { status: 403, body: forbidden }));
    expect(await transport.json(get)).toEqual({ kind: 'Pod' });
  });
});

describe('an API server that is ready', () => {
  it.each([
    [403, forbidden, 'Forbidden', false],
    [404, '404 page not found\n', 'UnknownPath', false],
    [404, notFound, 'NotFound', true],
  ])('is believed: %i %s', async (status, body, reason, isMissing) => {
    const transport = await serve(({ url }, response) => {
      if (url === '/readyz') response.end('ok');
      else response.writeHead(status).end(body);
    });
    const error: unknown = await transport.json(get).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: status, reason });
    expect(isRetryable(error)).toBe(false);
    expect(isNotFound(error)).toBe(isMissing);
  });

  it('is believed after a minute when it does not tell whether it is ready', async () => {
    vi.useFakeTimers({ toFake: ['Date'] });
    closing.push(() => vi.useRealTimers());
    const transport = await serve((_, response) => {
      response.writeHead(403).end(forbidden);
    });
    await expect(transport.json(get)).rejects.toMatchObject({ code: 503, reason: 'ServerStarting' });
    vi.setSystemTime(Date.now() + 40_000);
    await expect(transport.json(get)).rejects.toMatchObject({ code: 503, reason: 'ServerStarting' });
    vi.setSystemTime(Date.now() + 21_000);
    await expect(transport.json(get)).rejects.toMatchObject({ code: 403, reason: 'Forbidden' });
    vi.setSystemTime(Date.now() + 300_000);
    await expect(transport.json(get)).rejects.toMatchObject({ code: 403, reason: 'Forbidden' });
  });

  it.each([
    ['a broken connection', 5_000, true],
    ['a gap', 100_000, false],
  ])('is doubted again after %s, which may have been a restart', async (_, gap, breaks) => {
    vi.useFakeTimers({ toFake: ['Date'] });
    closing.push(() => vi.useRealTimers());
    let isBroken = false;
    const transport = await serve(({ socket }, response) => {
      if (isBroken) socket.destroy();
      else response.writeHead(403).end(forbidden);
    });
    const starts = { code: 503, reason: 'ServerStarting' };
    await expect(transport.json(get)).rejects.toMatchObject(starts);
    vi.setSystemTime(Date.now() + 58_000);
    await expect(transport.json(get)).rejects.toMatchObject(starts);
    isBroken = breaks;
    if (breaks) await expect(transport.json(get)).rejects.toMatchObject({ reason: 'Unreachable' });
    isBroken = false;
    vi.setSystemTime(Date.now() + gap);
    await expect(transport.json(get)).rejects.toMatchObject(starts);
  });
});
