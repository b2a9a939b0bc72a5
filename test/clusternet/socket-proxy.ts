/**
 * Serves `proxies.clusternet.io/v1alpha1` as Clusternet's hub does: an API of the parent's own, behind its aggregator,
 * that hands requests on to member clusters.
 */
import { createServer } from 'node:https';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { mkdtemp, rm } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Agent, request } from 'undici';
import { vi } from 'vitest';
import { CertificateAuthority } from '../../local/certificates.js';
import type { KubeClient } from '../../kube/client.js';

/** The proxy that runs. */
export interface SocketProxy {
  /** What was asked of children, as `METHOD path`. */
  readonly asked: string[];
  stop(): Promise<void>;
}

const API = 'proxies.clusternet.io/v1alpha1';
const SERVICE = 'clusternet-hub-for-tests';
const PREFIX = `/apis/${API}`;
const PROXIED = /^\/apis\/proxies\.clusternet\.io\/v1alpha1\/sockets\/([^/]+)\/proxy\/direct(\/.*)?$/;
/** The user whom clients impersonate so that the token of the child can travel beside. */
const USER = 'clusternet';

/** Starts the proxy and registers it with the parent; `servers` tells the address of a cluster by its id. */
export async function startSocketProxy(
  parent: KubeClient,
  servers: ReadonlyMap<string, string>,
): Promise<SocketProxy> {
  const folder = await mkdtemp(join(tmpdir(), 'drover-hub-'));
  const ca = await CertificateAuthority.open(folder, 'ca');
  const pair = await ca.issue({
    name: 'hub',
    commonName: 'hub',
    hosts: ['localhost', '127.0.0.1'],
    usage: ['server'],
  });
  // The hub does not check certificates of children either.
  const agent = new Agent({ connect: { rejectUnauthorized: false } });
  const asked: string[] = [];
  const server = createServer({ cert: pair.cert, key: pair.key }, (incoming, outgoing) => {
    void answer(incoming, outgoing).catch((error: unknown) => {
      if (!outgoing.headersSent) reply(outgoing, 503, { message: String(error) });
      else outgoing.destroy();
    });
  });

  async function answer(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const url = new URL(incoming.url ?? '/', 'https://hub');
    if (url.pathname === PREFIX) return reply(outgoing, 200, discovery());
    const [, id, path = '/'] = PROXIED.exec(url.pathname) ?? [];
    if (id === undefined) return reply(outgoing, 404, { message: 'not found' });
    const target = servers.get(id);
    if (target === undefined) return reply(outgoing, 400, { message: `no cluster id is ${id}` });
    asked.push(`${incoming.method ?? ''} ${path}`);
    const token = incoming.headers['x-remote-extra-clusternet-token'];
    const chunks: Buffer[] = [];
    for await (const chunk of incoming) chunks.push(chunk as Buffer);
    const { statusCode, headers, body } = await request(`${target}${path}${url.search}`, {
      method: incoming.method as 'GET',
      headers: {
        accept: 'application/json',
        ...(incoming.headers['content-type'] !== undefined && {
          'content-type': incoming.headers['content-type'],
        }),
        ...(typeof token === 'string' && { authorization: `Bearer ${token}` }),
      },
      ...(chunks.length > 0 && { body: Buffer.concat(chunks) }),
      dispatcher: agent,
    });
    outgoing.writeHead(statusCode, { 'content-type': String(headers['content-type']) });
    outgoing.end(Buffer.from(await body.arrayBuffer()));
  }

  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const objects = registration(port);
  for (const object of objects) await parent.create(object);
  await vi.waitFor(
    async () => {
      await parent.raw({ method: 'GET', path: PREFIX });
    },
    { timeout: 30_000, interval: 100 },
  );
  return {
    asked,
    async stop() {
      // First, or the parent finds an API that does not answer and removes no namespace any more.
      for (const { apiVersion = '', kind = '', metadata } of objects.reverse()) {
        await parent.delete({ apiVersion, kind, ...metadata });
      }
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      await agent.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

function registration(port: number) {
  const rbac = 'rbac.authorization.k8s.io';
  return [
    {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: SERVICE, namespace: 'default' },
      spec: { type: 'ExternalName', externalName: 'localhost', ports: [{ port }] },
    },
    {
      apiVersion: `${rbac}/v1`,
      kind: 'ClusterRole',
      metadata: { name: SERVICE },
      rules: [
        { apiGroups: ['proxies.clusternet.io'], resources: ['sockets', 'sockets/proxy'], verbs: ['*'] },
      ],
    },
    {
      apiVersion: `${rbac}/v1`,
      kind: 'ClusterRoleBinding',
      metadata: { name: SERVICE },
      roleRef: { apiGroup: rbac, kind: 'ClusterRole', name: SERVICE },
      subjects: [{ apiGroup: rbac, kind: 'User', name: USER }],
    },
    {
      apiVersion: 'apiregistration.k8s.io/v1',
      kind: 'APIService',
      metadata: { name: 'v1alpha1.proxies.clusternet.io' },
      spec: {
        group: 'proxies.clusternet.io',
        version: 'v1alpha1',
        groupPriorityMinimum: 1000,
        versionPriority: 100,
        insecureSkipTLSVerify: true,
        service: { name: SERVICE, namespace: 'default', port },
      },
    },
  ];
}

function discovery(): object {
  return {
    kind: 'APIResourceList',
    apiVersion: 'v1',
    groupVersion: API,
    resources: [
      { name: 'sockets', singularName: '', namespaced: false, kind: 'Socket', verbs: ['create', 'get'] },
      {
        name: 'sockets/proxy',
        singularName: '',
        namespaced: false,
        kind: 'Socket',
        verbs: ['create', 'get'],
      },
    ],
  };
}

function reply(outgoing: ServerResponse, code: number, body: object): void {
  outgoing.writeHead(code, { 'content-type': 'application/json' });
  outgoing.end(
    JSON.stringify(
      code < 300 ? body : { kind: 'Status', apiVersion: 'v1', status: 'Failure', code, ...body },
    ),
  );
}
