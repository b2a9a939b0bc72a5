import { createServer, type AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { choosePorts, isPortFree } from './ports.js';

const closers: (() => void)[] = [];
afterEach(() => closers.splice(0).forEach((close) => close()));

async function listen(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closers.push(() => server.close());
  return (server.address() as AddressInfo).port;
}

describe('choosePorts', () => {
  it('gives every name a free port of its own', async () => {
    const names = ['a', 'b', 'c', 'd'] as const;
    const ports = await choosePorts({ names, remembered: {}, keep: () => false });
    expect(new Set(Object.values(ports)).size).toBe(4);
    for (const port of Object.values(ports)) expect(await isPortFree(port)).toBe(true);
  });

  it('keeps a remembered port that is free', async () => {
    const ports = await choosePorts({
      names: ['a'],
      remembered: { a: 23456 },
      keep: () => false,
      isFree: () => Promise.resolve(true),
    });
    expect(ports).toEqual({ a: 23456 });
  });

  it('keeps a remembered port that its own process uses, and leaves one that a stranger uses', async () => {
    const busy = await listen();
    const own = await choosePorts({ names: ['a'], remembered: { a: busy }, keep: () => true });
    expect(own.a).toBe(busy);
    const other = await choosePorts({ names: ['a'], remembered: { a: busy }, keep: () => false });
    expect(other.a).not.toBe(busy);
  });

  it('never gives a new name the port another one remembers', async () => {
    const ports = await choosePorts({
      names: ['fresh', 'old'],
      remembered: { old: 20000 },
      keep: () => false,
      isFree: () => Promise.resolve(true),
      random: (
        (values) => () =>
          values.shift() ?? 0.5
      )([0, 0.5]),
    });
    expect(ports.old).toBe(20000);
    expect(ports.fresh).not.toBe(20000);
  });

  it('gives up with a clear error when nothing is free', async () => {
    const request = { names: ['a'], remembered: {}, keep: () => false, isFree: () => Promise.resolve(false) };
    await expect(choosePorts(request)).rejects.toThrow(/no free port on 127\.0\.0\.1 .* for a/);
  });
});
