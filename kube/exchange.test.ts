import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Exchange } from './exchange.js';
import { subjectOf } from './exchange.js';
import { createTransport } from './transport.js';

it.each([
  ['GET', '/api/v1/namespaces/shop/pods', 'list', 'pods'],
  ['GET', '/api/v1/namespaces/shop/pods/web', 'get', 'pods'],
  ['GET', '/api/v1/namespaces/shop/pods/web/log', 'get', 'pods/log'],
  ['GET', '/api/v1/namespaces', 'list', 'namespaces'],
  ['GET', '/api/v1/namespaces/kube-system', 'get', 'namespaces'],
  ['PUT', '/api/v1/namespaces/shop/finalize', 'update', 'namespaces/finalize'],
  ['POST', '/apis/batch/v1/namespaces/shop/jobs', 'create', 'jobs.batch'],
  ['PATCH', '/apis/dr.example/v1/namespaces/a/drplans/b/status', 'patch', 'drplans.dr.example/status'],
  [
    'DELETE',
    '/apis/rbac.authorization.k8s.io/v1/clusterroles/c',
    'delete',
    'clusterroles.rbac.authorization.k8s.io',
  ],
  // What lies behind another server's path is counted as that path, whatever it leads to.
  [
    'GET',
    '/apis/proxies.example/v1/sockets/child/proxy/socket/api/v1/secrets',
    'get',
    'sockets.proxies.example/proxy',
  ],
  ['GET', '/apis', 'get', 'none'],
  ['GET', '/apis/batch/v1', 'get', 'none'],
  ['GET', '/readyz', 'get', 'none'],
] as const)('%s %s is to %s %s', (method, path, verb, resource) => {
  expect(subjectOf({ method, path })).toEqual({ verb, resource });
});

it('tells a watch from a list', () => {
  expect(subjectOf({ method: 'GET', path: '/api/v1/pods', query: { watch: true } }).verb).toBe('watch');
  expect(subjectOf({ method: 'GET', path: '/api/v1/pods', query: { limit: 5 } }).verb).toBe('list');
});

let url = '';
const server = createServer((request, response) => {
  response.writeHead(request.url?.endsWith('/busy') === true ? 429 : 200, {
    'content-type': 'application/json',
  });
  response.end('{}');
});
beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => {
  server.close();
  server.closeAllConnections();
});

it('reports every exchange: answers, refusals, and what got none', async () => {
  const seen: Exchange[] = [];
  const transportTo = (address: string) =>
    createTransport(
      { server: address, authenticate: () => Promise.resolve({ headers: {}, dispatcher: undefined }) },
      { onExchange: (exchange) => seen.push(exchange) },
    );
  const there = transportTo(url);
  await there.json({ method: 'GET', path: '/api/v1/namespaces/a/pods/fine' });
  await expect(there.json({ method: 'GET', path: '/api/v1/namespaces/a/pods/busy' })).rejects.toThrow();
  await expect(
    transportTo('http://127.0.0.1:1').json({ method: 'POST', path: '/api/v1/namespaces/a/pods', body: {} }),
  ).rejects.toThrow(/cannot be reached/);
  const cancelled = AbortSignal.abort(new Error('no longer wanted'));
  await expect(there.json({ method: 'GET', path: '/api/v1/pods', signal: cancelled })).rejects.toThrow(
    'no longer wanted',
  );
  expect(seen.map(({ verb, code }) => `${verb} ${code}`)).toEqual([
    'get 200',
    'get 429',
    'create unreachable',
    'list aborted',
  ]);
  expect(seen.every(({ seconds }) => seconds >= 0 && seconds < 60)).toBe(true);
});
