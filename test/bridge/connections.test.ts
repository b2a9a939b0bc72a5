import { connect, createServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createKubeClient } from '../../kube/kubeconfig-client.js';
import type { KubeClient } from '../../kube/client.js';
import { loadKubeConfig } from '../../kube/config.js';
import { servers } from '../support/servers.js';

const accepted: Socket[] = [];
const server = createServer((socket) => {
  accepted.push(socket);
  const to = connect({ host: origin.hostname, port: Number(origin.port) });
  for (const [from, into] of [
    [socket, to],
    [to, socket],
  ] as const) {
    from.pipe(into);
    from.on('error', () => into.destroy());
    from.on('close', () => into.destroy());
  }
});
let origin: URL;
let kube: KubeClient;

beforeAll(async () => {
  const config = loadKubeConfig({ file: servers.kubeconfig });
  const cluster = config.getCurrentCluster();
  if (cluster === null) throw new Error('no cluster');
  origin = new URL(cluster.server);
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  const there = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
  config.clusters = config.clusters.map((known) =>
    known.name === cluster.name ? { ...known, server: there } : known,
  );
  kube = createKubeClient(config);
});
afterAll(() => {
  for (const socket of accepted) socket.destroy();
  server.close();
});

const read = () => kube.get({ apiVersion: 'v1', kind: 'Namespace', name: 'default' });

it('a connection to the API server is kept for the next burst, and replaced when it has broken', async () => {
  await read();
  const before = accepted.length;
  // Longer than HTTP clients keep a connection by themselves.
  await sleep(6000);
  await read();
  expect(accepted).toHaveLength(before);

  for (const socket of accepted) socket.destroy();
  await sleep(100);
  await expect(read()).resolves.toBeDefined();
  expect(accepted).toHaveLength(before + 1);
});
