import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { request } from 'undici';
import { afterEach, describe, expect, it } from 'vitest';
import { defaultPayloadConverter } from '@temporalio/common';
import { createCodecEndpoint } from './codec-endpoint.js';
import type { CodecEndpointOptions } from './codec-endpoint.js';
import { openKeyRing } from './key-ring.js';
import { createEncryptionCodec } from './payload-codec.js';

const servers: Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) server.close();
});

async function serve(more: Partial<CodecEndpointOptions> = {}) {
  const keys = { a: randomBytes(32).toString('base64') };
  const ring = await openKeyRing({ source: () => Promise.resolve(keys), onFault: () => undefined });
  const codec = createEncryptionCodec(ring);
  const server = createCodecEndpoint({
    codec,
    authorize: () => Promise.resolve(undefined),
    origins: ['http://localhost:8233'],
    loopbackOnly: true,
    ...more,
  });
  servers.push(server);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const ask = async (path: string, body: string, headers: Record<string, string> = {}) => {
    const response = await request(`${url}${path}`, { method: 'POST', body, headers });
    return { status: response.statusCode, headers: response.headers, text: await response.body.text() };
  };
  return { codec, url, ask };
}

const wire = (
  payloads: { metadata?: Record<string, Uint8Array> | null; data?: Uint8Array | null }[],
): string =>
  JSON.stringify({
    payloads: payloads.map(({ metadata, data }) => ({
      metadata: Object.fromEntries(
        Object.entries(metadata ?? {}).map(([name, value]) => [name, Buffer.from(value).toString('base64')]),
      ),
      data: Buffer.from(data ?? []).toString('base64'),
    })),
  });

describe('createCodecEndpoint', () => {
  it('opens and seals payloads as the Web UI sends them', async () => {
    const { codec, ask } = await serve();
    const clear = [defaultPayloadConverter.toPayload({ region: 'eu' })];
    const sealed = await codec.encode(clear);
    const opened = await ask('/decode', wire(sealed), { origin: 'http://localhost:8233' });
    expect(opened.status).toBe(200);
    expect(JSON.parse(opened.text)).toEqual(JSON.parse(wire(clear)));
    expect(opened.headers['access-control-allow-origin']).toBe('http://localhost:8233');
    const again = await ask('/encode', wire(clear));
    expect(again.text).not.toContain(Buffer.from('"eu"').toString('base64').slice(0, 4));
    expect((await ask('/decode', again.text)).text).toBe(opened.text);
  });

  it.each([
    ['another page', { origin: 'https://evil.example' }, 403, 'pages of https://evil.example may not ask'],
    ['a host that renamed itself', { host: 'evil.example' }, 403, 'loopback names only'],
  ])('refuses %s', async (_, headers, status, text) => {
    const { ask } = await serve();
    const answer = await ask('/decode', '{"payloads":[]}', headers);
    expect(answer.status).toBe(status);
    expect(answer.text).toContain(text);
    expect(answer.headers['access-control-allow-origin']).toBeUndefined();
  });

  it.each([
    ['no JSON', 'x', 400],
    ['bytes that are no base64', '{"payloads":[{"data":"%%"}]}', 400],
    ['too much', `{"payloads":[{"data":"${'A'.repeat(33 * 1024 * 1024)}"}]}`, 413],
  ])('refuses %s', async (_, body, status) => {
    expect((await (await serve()).ask('/decode', body)).status).toBe(status);
  });

  it('says that a payload does not open, and nothing of it', async () => {
    const { ask } = await serve();
    const other = await serve();
    const sealed = await other.codec.encode([defaultPayloadConverter.toPayload('canary')]);
    const answer = await ask('/decode', wire(sealed));
    expect(answer.status).toBe(500);
    expect(answer.text).toMatch(/does not open with the key "a"/);
  });

  it('asks who it is before anything is read', async () => {
    const { ask } = await serve({
      authorize: ({ token }) =>
        Promise.resolve(token === 'good' ? undefined : { status: 401, message: 'who?' }),
    });
    expect((await ask('/decode', 'x')).status).toBe(401);
    expect((await ask('/decode', '{"payloads":[]}', { authorization: 'Bearer good' })).status).toBe(200);
  });
});
