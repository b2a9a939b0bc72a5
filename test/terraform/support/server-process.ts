/** `drover-server` as a process of its own, as it is deployed. */
import { spawn, type ChildProcess } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { packageRoot } from '../../../runtime/package-root.js';
import { servers } from '../../support/servers.js';

/** A server that is ready. */
export interface ServerProcess {
  url: string;
  /** Of probes and metrics. */
  ports: number[];
  /** Ends it as a crash does. */
  kill: () => Promise<void>;
  /** Tells it to stop. @returns its exit code */
  stop: () => Promise<number | null>;
}

/** A server that did not get so far. */
export class ServerEnded extends Error {
  readonly code: number | null;
  constructor(code: number | null, lines: readonly string[]) {
    super(`the server ended with code ${code}: ${lines.join('\n')}`);
    this.code = code;
  }
}

/** Starts a server with settings, by their variables. @throws ServerEnded */
export async function startServerProcess(settings: Record<string, string>): Promise<ServerProcess> {
  const child = spawn(process.execPath, [join(packageRoot(), 'dist', 'programs', 'drover-server.js')], {
    env: { PATH: process.env.PATH, DROVER_KUBECONFIG: servers.kubeconfig, DROVER_PORT: '0', ...settings },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const ended = exitOf(child);
  const { port, ports } = await new Promise<{ port: number; ports: number[] }>((resolve, reject) => {
    const lines: string[] = [];
    const read = (line: string): void => {
      lines.push(line);
      const said = line.startsWith('{')
        ? (JSON.parse(line) as { msg: string; port: number; ports: number[] })
        : undefined;
      if (said?.msg === 'server is ready') resolve(said);
    };
    createInterface({ input: child.stdout }).on('line', read);
    createInterface({ input: child.stderr }).on('line', read);
    void ended.then((code) => reject(new ServerEnded(code, lines)));
  });
  return {
    url: `http://127.0.0.1:${port}`,
    ports,
    async kill() {
      child.kill('SIGKILL');
      await ended;
    },
    stop() {
      child.kill('SIGTERM');
      return ended;
    },
  };
}

const exitOf = (child: ChildProcess): Promise<number | null> =>
  new Promise((resolve) => child.once('close', (code) => resolve(code)));
