/** Two bridges and two workers as processes, looked after as a Deployment would: what dies is started again. */
import { join } from 'node:path';
import { childSpec } from '../../../local/children.js';
import { down, up } from '../../../local/index.js';
import { dataPaths } from '../../../local/paths.js';
import { choosePorts } from '../../../local/ports.js';
import type { PortName } from '../../../local/state.js';
import { superviseProcess } from '../../faults/supervised.js';
import type { Supervised } from '../../faults/supervised.js';
import { recordServer } from '../../support/leftovers.js';

export const ROLES = ['bridge', 'worker'] as const;
export type Role = (typeof ROLES)[number];

/** What is there to be killed. */
export interface Replicas {
  kubeconfig: string;
  temporal: string;
  of(role: Role): Supervised[];
  close(): Promise<void>;
}

/** Brings up a control plane, a Temporal, and `count` of each program. */
export async function startReplicas(options: {
  dataDir: string;
  count: number;
  log: (line: string) => void;
}): Promise<Replicas> {
  const { dataDir, count, log } = options;
  const paths = dataPaths(dataDir);
  // Admission has one address here, and would be away with its bridge: behind a Service it is not.
  const { endpoints, kubeconfig } = await up({
    dataDir,
    ephemeral: true,
    crdDir: 'deploy/crds',
    webhook: false,
    progress: () => undefined,
  });

  async function start(role: Role, index: number): Promise<Supervised> {
    const name = `${role}-${index + 1}`;
    const names = [`${role}Metrics`, `${role}Health`] as const;
    const ports = await choosePorts({ names, remembered: {}, keep: () => false });
    const program = role === 'bridge' ? 'crd-bridge' : 'worker';
    const spec = childSpec(
      role,
      { command: process.execPath, args: [`dist/programs/${program}.js`] },
      {
        kubeconfig: join(paths.pki, `${role}.kubeconfig`),
        temporal: endpoints.temporal,
        namespace: endpoints.temporalNamespace,
        embedded: true,
        webhook: false,
        paths,
        ports: ports as Record<PortName, number>,
      },
    );
    const supervised = superviseProcess(
      { ...spec, log: join(paths.logs, `${name}.log`) },
      {
        log,
        label: name,
        started: (record) =>
          void recordServer(join(paths.root, 'instances', name), role, record).catch(() => undefined),
      },
    );
    await supervised.whenReady();
    return supervised;
  }

  const started: Record<Role, Supervised[]> = { bridge: [], worker: [] };
  const close = async (): Promise<void> => {
    await Promise.all(ROLES.flatMap((role) => started[role].map((child) => child.stop())));
    await down({ dataDir, progress: () => undefined });
  };
  try {
    for (let index = 0; index < count; index += 1)
      for (const role of ROLES) started[role].push(await start(role, index));
  } catch (error) {
    await close();
    throw error;
  }
  return { kubeconfig, temporal: endpoints.temporal, of: (role) => started[role], close };
}
