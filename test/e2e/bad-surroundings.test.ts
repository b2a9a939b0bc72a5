/**
 * What bridge and worker say of surroundings in which they cannot work: each ends at once, with one sentence that says what
 * is wrong and what to do.
 */
import { spawn } from 'node:child_process';
import { mkdtemp, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { request } from 'undici';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { dataPaths } from '../../local/paths.js';
import { startDetached, stopProcess } from '../../local/processes.js';
import { freePort } from '../../runtime/free-port.js';
import { listen } from '../../runtime/listen.js';
import { makeAuthority, validFor } from '../../runtime/x509.js';
import { drover } from '../support/drover.js';
import { recordServer } from '../support/leftovers.js';
import { servers } from '../support/servers.js';
import { poll } from '../support/stack.js';
import { startTlsTemporal } from '../support/tls-temporal.js';
import type { TlsTemporal } from '../support/tls-temporal.js';

const HOUR_MS = 3_600_000;
const PROGRAMS = ['crd-bridge', 'worker'] as const;
const taken = createServer();

let temporal: TlsTemporal;
let folder: string;
beforeAll(async () => {
  temporal = await startTlsTemporal();
  folder = await mkdtemp(join(tmpdir(), 'drover-surroundings-'));
  await listen(taken, { host: '127.0.0.1', port: 0, setting: 'test' });
  const now = new Date();
  const past = {
    notBefore: new Date(now.getTime() - 2 * HOUR_MS),
    notAfter: new Date(now.getTime() - HOUR_MS),
  };
  const [client, expired, stranger] = await Promise.all([
    temporal.client(),
    temporal.client(past),
    makeAuthority('stranger', validFor(now, HOUR_MS)),
  ]);
  const files = {
    ca: temporal.authority.cert,
    'strange-ca': stranger.cert,
    'strange-key': stranger.key,
    cert: client.cert,
    key: client.key,
    'expired-cert': expired.cert,
    'expired-key': expired.key,
  };
  for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text);
});
afterAll(() => {
  temporal.close();
  taken.close();
});

/** Variables of a program that would work here; those of certificates name files of the folder. */
const surroundings = (tls: { ca?: string; cert?: string; key?: string }): Record<string, string> => ({
  DROVER_KUBECONFIG: servers.kubeconfig,
  DROVER_SEAL_RING: dataPaths(servers.dataDir).sealRing,
  TEMPORAL_ADDRESS: temporal.address,
  TEMPORAL_NAMESPACE: servers.temporalNamespace,
  ...(tls.ca !== undefined && { TEMPORAL_TLS_SERVER_CA_CERT_PATH: join(folder, tls.ca) }),
  ...(tls.cert !== undefined && { TEMPORAL_TLS_CLIENT_CERT_PATH: join(folder, tls.cert) }),
  ...(tls.key !== undefined && { TEMPORAL_TLS_CLIENT_KEY_PATH: join(folder, tls.key) }),
});
const GOOD = { ca: 'ca', cert: 'cert', key: 'key' };

/** Runs a program to its end. */
async function ended(
  program: (typeof PROGRAMS)[number],
  env: Record<string, string>,
): Promise<{ code: number | null; said: string }> {
  const health = { DROVER_HEALTH_PORT: String(await freePort()) };
  const child = spawn(process.execPath, [`dist/programs/${program}.js`], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { PATH: process.env.PATH, ...health, ...env },
  });
  let out = '';
  child.stdout.on('data', (chunk: Buffer) => (out += chunk.toString()));
  const code = await new Promise<number | null>((resolve) => child.once('close', resolve));
  const last = out.trim().split('\n').at(-1) ?? '';
  return { code, said: (JSON.parse(last) as { msg: string }).msg };
}

describe('bridge and worker end with a sentence', () => {
  it.each<[string, () => Record<string, string>, RegExp]>([
    [
      'where Temporal does not have the namespace',
      () => ({ ...surroundings(GOOD), TEMPORAL_NAMESPACE: 'nowhere' }),
      /Temporal at localhost:\d+ has no namespace "nowhere": create it \("temporal operator namespace create --namespace nowhere"\), or set TEMPORAL_NAMESPACE/,
    ],
    [
      'with the CA of another Temporal',
      () => surroundings({ ...GOOD, ca: 'strange-ca' }),
      /Temporal at localhost:\d+ cannot be reached: .*signed by no authority that is trusted here: set TEMPORAL_TLS_SERVER_CA_CERT_PATH/,
    ],
    [
      'without a client certificate',
      () => surroundings({ ca: 'ca' }),
      /cannot be reached: the server wants a client certificate: set TEMPORAL_TLS_CLIENT_CERT_PATH/,
    ],
    [
      'with a client certificate that does not match its key',
      () => surroundings({ ...GOOD, key: 'strange-key' }),
      /client certificate for Temporal \(.*\/cert\) does not belong to the client key for Temporal \(.*strange-key\): put/,
    ],
    [
      'with a client certificate that has expired',
      () => surroundings({ ...GOOD, cert: 'expired-cert', key: 'expired-key' }),
      /client certificate for Temporal \(.*expired-cert\) has expired on .*: put a new one there/,
    ],
    [
      'where nobody listens',
      () => ({ ...surroundings({}), TEMPORAL_ADDRESS: 'localhost:1' }),
      /Temporal at localhost:1 cannot be reached: nobody listens at localhost:1: check TEMPORAL_ADDRESS/,
    ],
    [
      'where the port for metrics is taken',
      () => ({
        ...surroundings(GOOD),
        DROVER_METRICS_PORT: String((taken.address() as AddressInfo).port),
      }),
      /127\.0\.0\.1:\d+ \(--health-port or --metrics-port\) is taken by somebody else: stop what listens there, or set another port/,
    ],
  ])('%s', async (_, env, message) => {
    for (const end of await Promise.all(PROGRAMS.map((program) => ended(program, env())))) {
      expect(end.said).toMatch(message);
      expect(end.said).toMatch(/^(bridge|worker) cannot go on: /);
      expect(end.code).toBe(1);
    }
  });

  it('and not where all of that is right', async () => {
    const port = await freePort();
    const worker = await startDetached({
      name: 'worker',
      command: process.execPath,
      args: ['dist/programs/worker.js'],
      env: { ...surroundings(GOOD), DROVER_HEALTH_PORT: String(port) },
      log: join(folder, 'worker.log'),
    });
    await recordServer(folder, 'worker', worker);
    try {
      const ready = async (): Promise<string> => {
        const { body } = await request(`http://127.0.0.1:${port}/readyz`);
        return body.text();
      };
      const said = await poll(
        () => ready().catch(String),
        (text) => text === 'ok\n',
      );
      expect(said).toBe('ok\n');
    } finally {
      await stopProcess(worker, 0);
    }
  });
});

it('the command line says the same of a Temporal', async () => {
  const check = (...args: string[]) => drover('upgrade', '--check', ...args);
  const refused = await check('--temporal', 'localhost:1');
  expect(refused.code).toBe(3);
  expect(refused.err).toMatch(/Temporal at localhost:1 does not answer: nobody listens at localhost:1/);
  const plain = await check('--temporal', temporal.address);
  expect(plain.err).toMatch(/does not answer: what answers there speaks TLS.*set TEMPORAL_TLS=true/);
});
