import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { checkAuthorities, checkPair, readPem } from './pem.js';
import { readTemporalConfig } from './temporal/config.js';
import { issueCertificate, makeAuthority, validFor } from './x509.js';
import type { KeyPair } from './x509.js';

const DAY_MS = 86_400_000;
const now = new Date('2026-06-01T00:00:00Z');
const later = new Date(now.getTime() + 3 * DAY_MS);
const validity = validFor(now, 2 * DAY_MS);

let folder: string;
let authority: KeyPair;
let client: KeyPair;
let other: KeyPair;
let env: Record<string, string>;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'drover-pem-'));
  authority = await makeAuthority('ca', validity);
  const issue = () => issueCertificate(authority, { commonName: 'c', usage: ['client'], validity });
  [client, other] = await Promise.all([issue(), issue()]);
  const files = { ca: authority.cert, cert: client.cert, key: client.key, other: other.key, junk: 'junk' };
  for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text);
  env = {
    TEMPORAL_ADDRESS: 'temporal:7233',
    TEMPORAL_TLS_SERVER_CA_CERT_PATH: join(folder, 'ca'),
    TEMPORAL_TLS_CLIENT_CERT_PATH: join(folder, 'cert'),
    TEMPORAL_TLS_CLIENT_KEY_PATH: join(folder, 'key'),
  };
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const pem = (text: string) => ({ called: 'it', text });

describe('certificates that somebody else keeps', () => {
  it('are good as a pair, within their time', () => {
    expect(checkPair(pem(client.cert), pem(client.key), now).subject).toContain('CN=c');
    expect(() => checkPair(pem(client.cert), pem(client.key), later)).toThrow(
      /it has expired on .*a new one/,
    );
    expect(() => checkPair(pem(client.cert), pem(client.key), new Date(0))).toThrow(/valid from .* on only/);
    expect(() => checkPair(pem(client.cert), pem(other.key), now)).toThrow(/does not belong to/);
    expect(() => checkPair(pem('x'), pem(client.key), now)).toThrow('it is no certificate in PEM');
    expect(() => checkPair(pem(client.cert), pem('x'), now)).toThrow('it is no private key in PEM');
    expect(() => readPem(join(folder, 'nowhere'), 'it')).toThrow(/cannot be read: there is no such file/);
  });

  it('of authorities may have expired, but not all', async () => {
    const next = await makeAuthority('next', validFor(later, DAY_MS));
    expect(() => {
      checkAuthorities(pem(authority.cert + next.cert), later);
    }).not.toThrow();
    expect(() => {
      checkAuthorities(pem(authority.cert), later);
    }).toThrow('has expired');
    expect(() => {
      checkAuthorities(pem('junk'), now);
    }).toThrow('no certificate in PEM');
  });
});

describe('the configuration of Temporal', () => {
  it('is that of the variables, with defaults', () => {
    expect(readTemporalConfig({}, now)).toMatchObject({ address: 'localhost:7233', namespace: 'default' });
    const read = readTemporalConfig({ ...env, TEMPORAL_NAMESPACE: 'dr' }, now);
    expect(read).toMatchObject({ address: 'temporal:7233', namespace: 'dr' });
    expect(read.connectionOptions.tls).toMatchObject({ clientCertPair: {} });
  });

  it.each([
    [
      'a CA that is not there',
      { TEMPORAL_TLS_SERVER_CA_CERT_PATH: '/nowhere' },
      /CA of Temporal \(TEMPORAL_TLS_SERVER_CA_CERT_PATH=\/nowhere\) cannot be read: there is no such file; mount it/,
    ],
    [
      'a CA that is none',
      { TEMPORAL_TLS_SERVER_CA_CERT_PATH: 'junk' },
      /CA of Temporal .* is no certificate in PEM/,
    ],
    [
      'the key of another certificate',
      { TEMPORAL_TLS_CLIENT_KEY_PATH: 'other' },
      /client certificate for Temporal .*CLIENT_CERT_PATH=.* does not belong to the client key for Temporal .*CLIENT_KEY_PATH=.*: put/,
    ],
    [
      'no key',
      { TEMPORAL_TLS_CLIENT_KEY_PATH: '' },
      /client certificate for Temporal \(TEMPORAL_TLS_CLIENT_CERT_…\) is given without the client key.*set TEMPORAL_TLS_CLIENT_KEY_PATH too/,
    ],
  ])('with %s is refused in one sentence', (_, change, message) => {
    const wrong = Object.fromEntries(
      Object.entries({ ...env, ...change })
        .filter(([, value]) => value !== '')
        .map(([name, value]) => [name, ['junk', 'other'].includes(value) ? join(folder, value) : value]),
    );
    expect(() => readTemporalConfig(wrong, now)).toThrow(message);
  });

  it('with certificates that have expired is refused', () => {
    expect(() => readTemporalConfig(env, later)).toThrow(/has expired on 2026-06-03.*put a new one there/);
  });
});
