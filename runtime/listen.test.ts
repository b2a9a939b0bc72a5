import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { expect, it } from 'vitest';
import { listen } from './listen.js';

it('says why a port cannot be had, and what to do', async () => {
  const at = { host: '127.0.0.1', port: 0, setting: '--metrics-port' };
  const first = createServer();
  await listen(first, at);
  const { port } = first.address() as AddressInfo;
  try {
    await expect(listen(createServer(), { ...at, port })).rejects.toThrow(
      `127.0.0.1:${port} (--metrics-port) is taken by somebody else: stop what listens there, or set another port`,
    );
    await expect(listen(createServer(), { ...at, host: '192.0.2.1' })).rejects.toThrow(
      '192.0.2.1 is no address of this machine',
    );
  } finally {
    first.close();
  }
});
