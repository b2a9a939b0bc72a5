import type { Server } from 'node:net';

/**
 * Lets a server listen.
 *
 * @param at.setting what the port comes from, for people, such as `--metrics-port`
 * @throws Error in one sentence: why the port cannot be had, and what to do
 */
export function listen(server: Server, at: { host: string; port: number; setting: string }): Promise<void> {
  const { host, port, setting } = at;
  return new Promise((resolve, reject) => {
    const fail = (error: NodeJS.ErrnoException): void => {
      reject(new Error(`${host}:${port} (${setting}) ${whyNot(error, host)}`, { cause: error }));
    };
    server.once('error', fail);
    server.listen(port, host, () => {
      server.off('error', fail);
      resolve();
    });
  });
}

function whyNot({ code, message }: NodeJS.ErrnoException, host: string): string {
  switch (code) {
    case 'EADDRINUSE':
      return 'is taken by somebody else: stop what listens there, or set another port';
    case 'EACCES':
      return 'may not be listened on by this user: set a port above 1023';
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
      return `cannot be listened on, as ${host} is no address of this machine: correct the host`;
    default:
      return `cannot be listened on: ${message}`;
  }
}
