import { createServer } from 'node:http';
import { createServer as createHttp2, createSecureServer } from 'node:http2';
import type { AddressInfo, Server } from 'node:net';
import { createServer as createTcp } from 'node:net';
import type { SecureServerOptions } from 'node:http2';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { listen } from '../listen.js';
import { issueCertificate, makeAuthority, validFor } from '../x509.js';
import type { KeyPair } from '../x509.js';
import { explainUnreachable } from './unreachable.js';

const now = new Date();
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const open: Server[] = [];
let authority: KeyPair;
let stranger: KeyPair;
let server: KeyPair;
let expired: KeyPair;
let client: KeyPair;
beforeAll(async () => {
  const validity = validFor(now, DAY_MS);
  [authority, stranger] = await Promise.all([makeAuthority('a', validity), makeAuthority('b', validity)]);
  const past = { notBefore: new Date(now.getTime() - DAY_MS), notAfter: new Date(now.getTime() - HOUR_MS) };
  const request = { commonName: 's', hosts: ['localhost'], usage: ['server'] as const };
  [server, expired, client] = await Promise.all([
    issueCertificate(authority, { ...request, validity }),
    issueCertificate(authority, { ...request, validity: past }),
    issueCertificate(stranger, { commonName: 'c', usage: ['client'], validity }),
  ]);
});
const close = (): void => {
  for (const one of open.splice(0)) one.close();
};
afterEach(close);
afterAll(close);

async function serve(one: Server): Promise<string> {
  open.push(one);
  await listen(one, { host: '127.0.0.1', port: 0, setting: 'test' });
  return `localhost:${(one.address() as AddressInfo).port}`;
}
const secure = (options: SecureServerOptions): Promise<string> => serve(createSecureServer(options));
const tls = (ca: KeyPair, pair?: KeyPair) => ({
  serverRootCACertificate: Buffer.from(ca.cert),
  ...(pair !== undefined && { clientCertPair: { crt: Buffer.from(pair.cert), key: Buffer.from(pair.key) } }),
});
const explain = (
  address: string,
  options: Parameters<typeof explainUnreachable>[0]['connectionOptions'] = {},
) => explainUnreachable({ address, connectionOptions: options }, 1_000);

describe('a Temporal that cannot be reached', () => {
  it('is explained: nobody there, nobody of that name, nobody that answers', async () => {
    const address = await serve(createTcp());
    close();
    expect(await explain(address)).toMatch(/nobody listens at localhost:.*check TEMPORAL_ADDRESS/);
    expect(await explain('no-such-name.invalid:7233')).toMatch(/the name in .* is not known here/);
    expect(await explain(await serve(createTcp()))).toMatch(
      /nobody answers at .* within 1 s.*NetworkPolicies/,
    );
  });

  it('is explained: TLS on one side alone, or another server', async () => {
    const { cert, key } = server;
    expect(await explain(await secure({ cert, key }))).toMatch(/speaks TLS.*set TEMPORAL_TLS=true/);
    expect(await explain(await serve(createServer()))).toMatch(/no Temporal frontend/);
    expect(await explain(await serve(createHttp2()), { tls: tls(authority) })).toMatch(
      /does not speak TLS: take TEMPORAL_TLS/,
    );
  });

  it('is explained: certificates of the server', async () => {
    const { cert, key } = server;
    const address = await secure({ cert, key });
    expect(await explain(address, { tls: tls(stranger) })).toMatch(
      /signed by no authority that is trusted here: set TEMPORAL_TLS_SERVER_CA_CERT_PATH/,
    );
    expect(await explain(address, { tls: { ...tls(authority), serverNameOverride: 'else' } })).toMatch(
      /not for "else": set TEMPORAL_TLS_SERVER_NAME/,
    );
    expect(
      await explain(await secure({ cert: expired.cert, key: expired.key }), { tls: tls(authority) }),
    ).toMatch(/certificate of the server has expired: renew it/);
  });

  it.each(['TLSv1.2', 'TLSv1.3'] as const)(
    'is explained: certificates of the client, by %s',
    async (maxVersion) => {
      const { cert, key } = server;
      const address = await secure({ cert, key, ca: authority.cert, requestCert: true, maxVersion });
      expect(await explain(address, { tls: tls(authority) })).toMatch(
        /wants a client certificate: set TEMPORAL_TLS_CLIENT_CERT_PATH/,
      );
      expect(await explain(address, { tls: tls(authority, client) })).toMatch(
        /does not accept the client certificate/,
      );
    },
  );

  it('is not explained where a server of HTTP/2 answers', async () => {
    const { cert, key } = server;
    expect(await explain(await serve(createHttp2()))).toBeUndefined();
    expect(await explain(await secure({ cert, key }), { tls: tls(authority) })).toBeUndefined();
  });
});
