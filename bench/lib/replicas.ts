/** More bridges and workers beside those of an embedded default. */
import { join } from 'node:path';
import { childSpec } from '../../local/children.js';
import { readEndpoints } from '../../local/endpoints.js';
import type { ChildCommand } from '../../local/options.js';
import type { DataPaths } from '../../local/paths.js';
import { choosePorts } from '../../local/ports.js';
import { startDetached, stopProcess, waitReady } from '../../local/processes.js';
import { readState } from '../../local/state.js';
import type { ProcessRecord } from '../../local/state.js';

/** What an ended process may still take, in milliseconds. */
const STOP_MS = 15_000;
const ROLES = ['bridge', 'worker'] as const;
type Role = (typeof ROLES)[number];

/** Replicas of one embedded default. */
export interface Replicas {
  /** Starts as many more of each; resolves to what ends these. */
  add(count: number): Promise<() => Promise<void>>;
  /** Those that run, by name, such as `worker-2`. */
  pids(): Record<string, number>;
}

/** @param commands how bridge and worker are started; absent: there are none to add */
export function createReplicas(
  paths: DataPaths,
  commands: Partial<Record<Role, ChildCommand | undefined>>,
): Replicas {
  const running = new Map<string, ProcessRecord>();

  async function start(role: Role, name: string): Promise<void> {
    const [state, endpoints] = [await readState(paths.state), await readEndpoints(paths.endpoints)];
    const command = commands[role];
    if (state === undefined || endpoints === undefined || command === undefined)
      throw new Error(`there is no ${role} to add one to`);
    const own = await choosePorts({
      names: [`${role}Metrics`, `${role}Health`],
      remembered: {},
      keep: () => false,
    });
    const spec = childSpec(role, command, {
      kubeconfig: join(paths.pki, `${role}.kubeconfig`),
      temporal: endpoints.temporal,
      namespace: endpoints.temporalNamespace,
      embedded: true,
      webhook: false,
      paths,
      ports: { ...(state.ports as Parameters<typeof childSpec>[2]['ports']), ...own },
    });
    const named = { ...spec, log: join(paths.logs, `${name}.log`) };
    const record = await startDetached(named);
    running.set(name, record);
    await waitReady(named, record);
  }

  async function stop(name: string): Promise<void> {
    const record = running.get(name);
    if (record !== undefined) await stopProcess(record, STOP_MS);
    running.delete(name);
  }

  return {
    async add(count) {
      const names: string[] = [];
      const end = async (): Promise<void> => {
        await Promise.all(names.map(stop));
      };
      try {
        for (let left = count; left > 0; left -= 1) {
          const number = running.size / ROLES.length + 2;
          names.push(...ROLES.map((role) => `${role}-${number}`));
          await Promise.all(ROLES.map((role) => start(role, `${role}-${number}`)));
        }
      } catch (error) {
        await end();
        throw error;
      }
      return end;
    },
    pids: () => Object.fromEntries([...running].map(([name, { pid }]) => [name, pid])),
  };
}
