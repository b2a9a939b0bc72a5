/** One more Temporal server, with nothing in it: what a bridge meets that was connected to the wrong one. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findPrograms } from '../../local/binaries.js';
import { choosePorts } from '../../local/ports.js';
import { startDetached, stopProcess, waitReady } from '../../local/processes.js';
import type { ProcessSpec } from '../../local/processes.js';
import { checkTemporal } from '../../local/temporal-server.js';
import { recordServer } from './leftovers.js';
import { servers } from './servers.js';

export interface SecondTemporal {
  address: string;
  stop(): Promise<void>;
}

export async function startSecondTemporal(): Promise<SecondTemporal> {
  const { temporal } = await findPrograms({ names: ['temporal'], progress: () => undefined });
  const { port } = await choosePorts({ names: ['port'], remembered: {}, keep: () => false });
  const folder = await mkdtemp(join(tmpdir(), 'drover-second-temporal-'));
  const namespace = servers.temporalNamespace;
  const address = `127.0.0.1:${port}`;
  const spec: ProcessSpec = {
    name: 'temporal',
    command: temporal.path,
    args: ['server', 'start-dev', '--headless', '--ip', '127.0.0.1', '--port', String(port)].concat(
      ['DrCluster', 'DrNamespace', 'DrPlan', 'DrOperation', 'DrPhase'].flatMap((name) => [
        '--search-attribute',
        `${name}=Keyword`,
      ]),
      ['--namespace', namespace, '--log-level', 'error'],
    ),
    log: join(folder, 'temporal.log'),
    ready: async () => (await checkTemporal(address, namespace)) === undefined,
    readyTimeoutMs: 60_000,
  };
  const record = await startDetached(spec);
  await recordServer(folder, 'temporal', record);
  await waitReady(spec, record);
  return {
    address,
    async stop() {
      await stopProcess(record, 5000);
      await rm(folder, { recursive: true, force: true });
    },
  };
}
