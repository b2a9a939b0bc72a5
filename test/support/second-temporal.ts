/** One more Temporal server, with nothing in it: what a bridge meets that was connected to the wrong one. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { inject } from 'vitest';
import { findPrograms } from '../../local/binaries.js';
import { choosePorts } from '../../local/ports.js';
import { checkTemporal } from '../../local/temporal-server.js';
import { poll } from './stack.js';

export interface SecondTemporal {
  address: string;
  stop(): Promise<void>;
}

export async function startSecondTemporal(): Promise<SecondTemporal> {
  const { temporal } = await findPrograms({ names: ['temporal'], progress: () => undefined });
  const { port } = await choosePorts({ names: ['port'], remembered: {}, keep: () => false });
  const namespace = inject('temporalNamespace');
  const server = spawn(
    temporal.path,
    ['server', 'start-dev', '--headless', '--ip', '127.0.0.1', '--port', String(port)].concat(
      ['DrCluster', 'DrNamespace', 'DrPlan', 'DrOperation', 'DrPhase'].flatMap((name) => [
        '--search-attribute',
        `${name}=Keyword`,
      ]),
      ['--namespace', namespace, '--log-level', 'error'],
    ),
    { stdio: 'ignore' },
  );
  const address = `127.0.0.1:${port}`;
  await poll(
    () => checkTemporal(address, namespace),
    (problem) => problem === undefined,
  );
  return {
    address,
    async stop() {
      const gone = once(server, 'exit');
      server.kill('SIGTERM');
      await gone;
    },
  };
}
