import { createServer } from 'node:net';

/**
 * Listening ports are taken from below the ephemeral ranges of Linux (32768+)
 * and macOS (49152+), so that no outgoing connection sits on a remembered port
 * while the processes are down.
 */
const lowest = 20000;
const count = 12000;

/** True when nothing listens on this port of 127.0.0.1. */
export function isPortFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen({ port, host: '127.0.0.1', exclusive: true }, () => server.close(() => resolve(true)));
  });
}

/** What to choose ports from. */
export interface PortRequest<Name extends string> {
  /** The ports wanted, by name. */
  names: readonly Name[];
  /** Ports used before; kept whenever `keep` says so or they are free. */
  remembered: Partial<Record<Name, number>>;
  /** True for a port whose own process is alive: it is in use, and rightly so. */
  keep: (name: Name) => boolean;
  /** Replaceable for tests. */
  isFree?: (port: number) => Promise<boolean>;
  /** Replaceable for tests; a number in [0, 1). */
  random?: () => number;
}

/**
 * Chooses a port on 127.0.0.1 for every name: the remembered one when possible,
 * else a free one, no two the same.
 *
 * @throws Error when no free port is found after many tries.
 */
export async function choosePorts<Name extends string>(
  request: PortRequest<Name>,
): Promise<Record<Name, number>> {
  const isFree = request.isFree ?? isPortFree;
  const random = request.random ?? Math.random;
  const chosen = new Map<Name, number>();
  const taken = new Set<number>();
  for (const name of request.names) {
    const port = request.remembered[name];
    if (port !== undefined && !taken.has(port) && (request.keep(name) || (await isFree(port)))) {
      chosen.set(name, port);
      taken.add(port);
    }
  }
  for (const name of request.names) {
    for (let tries = 0; !chosen.has(name); tries++) {
      if (tries >= 500) {
        throw new Error(
          `no free port on 127.0.0.1 between ${lowest} and ${lowest + count - 1} for ${name} after ${tries} tries`,
        );
      }
      const port = lowest + Math.floor(random() * count);
      if (taken.has(port)) continue;
      taken.add(port);
      if (await isFree(port)) chosen.set(name, port);
    }
  }
  return Object.fromEntries(chosen) as Record<Name, number>;
}
