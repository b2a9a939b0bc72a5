/** Bridges and workers of several builds beside each other, started and stopped one by one as a rollout does it. */
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { choosePorts } from '../../../local/ports.js';
import { dataPaths } from '../../../local/paths.js';
import { startDetached, stopProcess, waitReady } from '../../../local/processes.js';
import type { ProcessSpec } from '../../../local/processes.js';
import type { ProcessRecord } from '../../../local/state.js';
import { recordServer } from '../../support/leftovers.js';
import { servers } from '../../support/servers.js';
import { unique } from '../../support/stack.js';
import type { Build } from './builds.js';

type Program = 'bridge' | 'worker';

interface Member {
  program: Program;
  build: Build;
  record: ProcessRecord;
}

/** Programs that run now. */
export interface Fleet {
  /** Starts one of each and waits until both are ready. */
  start(program: Program, build: Build): Promise<void>;
  /** Replaces the oldest program of another build: the new one is ready before the old one is told to stop. */
  replaceOne(program: Program, by: Build): Promise<void>;
  close(): Promise<void>;
}

const FILES = { bridge: 'crd-bridge', worker: 'worker' } as const;
/** A worker is given this long for attempts that are under way. */
const GRACE_SECONDS = 3;

/** An empty fleet on the servers of this file. */
export function createFleet(): Fleet {
  let members: Member[] = [];

  async function start(program: Program, build: Build): Promise<void> {
    const folder = join(dataPaths(servers.dataDir).root, unique(program));
    await mkdir(folder, { recursive: true });
    const { health } = await choosePorts({ names: ['health'], remembered: {}, keep: () => false });
    const spec: ProcessSpec = {
      name: program,
      command: process.execPath,
      args: [join(build.root, 'dist', 'programs', `${FILES[program]}.js`)],
      env: {
        DROVER_KUBECONFIG: servers.kubeconfig,
        DROVER_SEAL_RING: dataPaths(servers.dataDir).sealRing,
        DROVER_CONTROLLER_IDENTITY: 'true',
        DROVER_EGRESS_ALLOW_LOOPBACK: 'true',
        DROVER_HEALTH_PORT: String(health),
        DROVER_SHUTDOWN_GRACE_SECONDS: program === 'worker' ? String(GRACE_SECONDS) : undefined,
        DROVER_LAST_ATTEMPT: program === 'bridge' ? '3s' : undefined,
        TEMPORAL_ADDRESS: servers.temporal,
        TEMPORAL_NAMESPACE: servers.temporalNamespace,
      },
      log: join(folder, `${program}.log`),
      ready: async () => {
        const response = await fetch(`http://127.0.0.1:${health}/readyz`);
        if (!response.ok) throw new Error(await response.text());
        return true;
      },
      readyTimeoutMs: 90_000,
    };
    const record = await startDetached(spec);
    members.push({ program, build, record });
    await recordServer(folder, program, record);
    await waitReady(spec, record);
  }

  return {
    start,
    async replaceOne(program, by) {
      const old = members.find((member) => member.program === program && member.build !== by);
      if (old === undefined) throw new Error(`every ${program} is of build ${by.called} already`);
      await start(program, by);
      await stopProcess(old.record, (GRACE_SECONDS + 15) * 1000);
      members = members.filter((member) => member !== old);
    },
    async close() {
      await Promise.all(members.map(({ record }) => stopProcess(record, 0)));
      members = [];
    },
  };
}
