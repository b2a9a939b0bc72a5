import { expect, it } from 'vitest';
import { serveHealth } from './health-server.js';

it('serves liveness, readiness with what is missing, and metrics [S5.54]', async () => {
  const missing = ['Temporal'];
  const server = await serveHealth({
    host: '127.0.0.1',
    ports: [0],
    metrics: () => Promise.resolve({ text: 'up 1\n', contentType: 'text/plain; version=0.0.4' }),
    notReady: () => missing,
  });
  const ask = async (path: string): Promise<[number, string]> => {
    const response = await fetch(`http://127.0.0.1:${server.ports[0] ?? 0}${path}`);
    return [response.status, await response.text()];
  };
  try {
    expect(await ask('/healthz')).toEqual([200, 'ok\n']);
    expect(await ask('/readyz')).toEqual([503, 'Temporal\n']);
    missing.length = 0;
    expect(await ask('/readyz')).toEqual([200, 'ok\n']);
    expect(await ask('/metrics')).toEqual([200, 'up 1\n']);
    expect((await ask('/else'))[0]).toBe(404);
  } finally {
    await server.close();
  }
});

it('says what went wrong when metrics cannot be gathered', async () => {
  const server = await serveHealth({
    host: '127.0.0.1',
    ports: [0],
    metrics: () => Promise.reject(new Error('no registry')),
    notReady: () => [],
  });
  try {
    const response = await fetch(`http://127.0.0.1:${server.ports[0] ?? 0}/metrics`);
    expect([response.status, await response.text()]).toEqual([500, 'Error: no registry']);
  } finally {
    await server.close();
  }
});
