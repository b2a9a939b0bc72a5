/** The command line as a person uses it: its own process, against the stack of this file. */
import { spawn } from 'node:child_process';
import { servers } from './servers.js';

/** How a command ended, and what it wrote. */
export interface Ended {
  code: number | null;
  out: string;
  err: string;
}

/** Runs a command to its end. */
export const drover = (...args: string[]): Promise<Ended> => droverIn(servers.dataDir, ...args);

/** Runs a command for another data dir. */
export function droverIn(dataDir: string, ...args: string[]): Promise<Ended> {
  const child = spawn(process.execPath, ['bin/drover.js', ...args, '--data-dir', dataDir], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, NO_COLOR: '1', KUBECONFIG: '/nowhere' },
  });
  const said = { out: '', err: '' };
  child.stdout.on('data', (chunk: Buffer) => (said.out += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => (said.err += chunk.toString()));
  return new Promise((resolve) => child.once('close', (code) => resolve({ code, ...said })));
}
