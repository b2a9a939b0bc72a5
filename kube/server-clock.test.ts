import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { createEndpointClient } from './client.js';
import { createServerClock } from './server-clock.js';

/** A clock of a server, on a machine whose own time must not be read. */
function setup() {
  const steady = { now: 0 };
  const clock = createServerClock({ own: () => 7, steady: () => steady.now });
  /** An answer that reports its time, received this long after it was sent. */
  const hear = (at: number, delayMs = 0): void => {
    steady.now = at - 1_000_000 + delayMs;
    clock.learn(new Date(at).toUTCString());
  };
  return { clock, steady, hear };
}

describe('the clock of a server', () => {
  it('is that of the machine until an answer has said a time', () => {
    const { clock } = setup();
    expect(clock.now()).toBe(7);
    for (const date of [undefined, '', 'soon', ['a', 'b']]) clock.learn(date);
    expect(clock.now()).toBe(7);
  });

  it('goes on between answers, and comes nearer with each: they say whole seconds, and take their time', () => {
    const { clock, steady, hear } = setup();
    hear(2_000_900, 200);
    expect(clock.now()).toBe(2_000_000);
    steady.now += 500;
    expect(clock.now()).toBe(2_000_500);
    hear(2_003_000);
    expect(clock.now()).toBe(2_003_000);
    // Reports a time that is nearly a second past: the known one is better.
    hear(2_004_999);
    expect(clock.now()).toBe(2_004_999);
  });

  it('follows one that is set, forward and back', () => {
    const { clock, hear, steady } = setup();
    hear(2_000_000);
    clock.learn(new Date(2_300_000).toUTCString());
    expect(clock.now()).toBe(2_300_000);
    steady.now += 1_000;
    clock.learn(new Date(2_001_000).toUTCString());
    expect(clock.now()).toBe(2_001_000);
  });
});

describe('a client', () => {
  const closing: (() => void)[] = [];
  afterEach(() => {
    for (const close of closing.splice(0)) close();
  });

  it('tells the time of its API server, and of one that is served below it', async () => {
    const [here, there] = [-300_000, 86_400_000];
    const server = createServer(({ url = '' }, response) => {
      const ahead = url.startsWith('/proxy') ? there : here;
      response.setHeader('date', new Date(Date.now() + ahead).toUTCString());
      response.end('{"gitVersion":"v1.30.0"}');
    });
    await new Promise<void>((resolve) => {
      server.listen(0, '127.0.0.1', resolve);
    });
    closing.push(() => {
      server.closeAllConnections();
      server.close();
    });
    const client = createEndpointClient({
      server: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
      authenticate: () => Promise.resolve({ headers: {}, dispatcher: undefined }),
    });
    const below = client.behind('/proxy', { name: 'child', as: { user: 'u' } });
    expect(Math.abs(client.now() - Date.now())).toBeLessThan(1_000);
    for (const each of [client, below]) await each.raw({ method: 'GET', path: '/version' });
    expect(Math.abs(client.now() - Date.now() - here)).toBeLessThan(2_000);
    expect(Math.abs(client.as({ user: 'u' }).now() - Date.now() - here)).toBeLessThan(2_000);
    expect(Math.abs(below.now() - Date.now() - there)).toBeLessThan(2_000);
  });
});
