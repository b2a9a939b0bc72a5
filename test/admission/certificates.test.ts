/** Certificates change under load and nobody notices. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { ownCertificates, TLS_SECRET } from '../../crd-bridge/webhook/certificate-source.js';
import type { Endpoints } from '../../local/endpoints.js';
import { servers } from '../support/servers.js';
import { http, openStack, poll, unique } from '../support/stack.js';
import type { Stack } from '../support/stack.js';
import { heal } from '../support/parts.js';

let stack: Stack;
beforeAll(async () => {
  stack = await openStack('certs');
});
afterAll(async () => {
  await restart();
  await stack.close();
});

/** A bridge that makes its certificates anew. */
async function restart(environment: Record<string, string> = {}): Promise<void> {
  const { pids } = JSON.parse(await readFile(join(servers.dataDir, 'endpoints.json'), 'utf8')) as Endpoints;
  if (pids.bridge !== null) process.kill(pids.bridge, 'SIGKILL');
  await stack.kube.delete(secretKey);
  await heal(environment);
}

const secretKey = { apiVersion: 'v1', kind: 'Secret', namespace: 'drover-system', name: TLS_SECRET };
interface Secret {
  metadata: { name: string };
  data: Record<string, string>;
}
async function secret(): Promise<Secret> {
  const found = await stack.kube.get<Secret>(secretKey);
  if (found === undefined) throw new Error('there is no Secret');
  return found;
}

it('are shared by replicas that start at once', async () => {
  const lifetimes = { servingMs: 3_600_000, authorityMs: 36_000_000 };
  const sources = Array.from({ length: 5 }, () =>
    ownCertificates({ kube: stack.kube, namespace: stack.namespace, hosts: ['127.0.0.1'], lifetimes }),
  );
  const served = await Promise.all(sources.map((source) => source.read()));
  expect(new Set(served.map(({ cert }) => cert)).size).toBe(1);
  // One of them finds the life over; the others take what it has made.
  const late = ownCertificates({
    kube: stack.kube,
    namespace: stack.namespace,
    hosts: ['127.0.0.1'],
    lifetimes,
    now: () => new Date(Date.now() + 3_000_000),
  });
  const renewed = await late.read();
  expect(renewed.cert).not.toBe(served[0]?.cert);
  expect(renewed.caBundle).toBe(served[0]?.caBundle);
  expect((await sources[0]?.read())?.cert).toBe(renewed.cert);
});

it('are renewed, replaced and made again without one create that fails', { tags: ['nightly'] }, async () => {
  // Long enough for a busy machine, short enough to see several: each is renewed after two thirds of it.
  await restart({ DROVER_WEBHOOK_CERTIFICATE_LIFE: '9s' });
  const failures: string[] = [];
  const stop = new AbortController();
  let created = 0;
  const load = (async () => {
    while (!stop.signal.aborted) {
      await stack.workflow(unique('w'), { actions: [http('a', 'http://x/')] }).then(
        () => (created += 1),
        (error: unknown) => failures.push(String(error)),
      );
      await sleep(50);
    }
  })();
  const certificates = new Set<string | undefined>();
  const seen = (wanted: number): Promise<unknown> =>
    poll(
      async () => certificates.add((await secret()).data['tls.crt']),
      (all) => all.size >= wanted,
    );
  await seen(2);
  const authorities = async (): Promise<number> =>
    Buffer.from((await secret()).data['ca.crt'] ?? '', 'base64')
      .toString()
      .split('BEGIN').length - 1;
  expect(await authorities()).toBe(1);
  // An authority whose key is lost is followed by another.
  await stack.kube.patch(secretKey, { data: { 'ca.key': '' } }, { kind: 'merge' });
  await poll(authorities, (count) => count === 2);
  await seen(4);
  await stack.kube.delete(secretKey);
  await poll(
    () => stack.kube.get(secretKey),
    (found) => found !== undefined,
  );
  await seen(6);
  stop.abort();
  await load;
  expect(failures).toEqual([]);
  expect(created).toBeGreaterThan(50);
});

it('and configurations that somebody takes away come back', async () => {
  const key = {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'ValidatingWebhookConfiguration',
    name: 'drover',
  };
  await stack.kube.delete(key);
  const back = await poll(
    () => stack.kube.get(key),
    (found) => found !== undefined,
  );
  expect(back).toMatchObject({ webhooks: expect.arrayContaining([expect.anything()]) });
});
