import { rm } from 'node:fs/promises';
import { withLock } from './lock.js';
import { dataPaths } from './paths.js';
import { stopProcess, type StopOutcome } from './processes.js';
import type { Progress } from './progress.js';
import { readState, writeJson, type ProcessName, type State } from './state.js';

/** What to take down. */
export interface DownOptions {
  dataDir: string;
  progress: Progress;
  /** How long a process may take to end by itself before it is killed. Default 10000 ms. */
  graceMs?: number;
}

/** What was done with each process of the data dir. */
export interface DownResult {
  /** False when this data dir was never brought up. */
  known: boolean;
  processes: Partial<Record<ProcessName, StopOutcome>>;
}

/** A process ends before those that it uses; those in one row end together. */
const order: readonly (readonly ProcessName[])[] = [
  ['worker', 'bridge'],
  ['temporal', 'clusternet', 'kwok', 'scheduler', 'controllerManager'],
  ['apiserver'],
  ['etcd'],
];

/**
 * Stops exactly the processes `up` started for a data dir, and returns when they
 * are gone. The data stays for the next `up`, except that of an ephemeral one.
 *
 * @throws Error when a process cannot be stopped.
 */
export async function down(options: DownOptions): Promise<DownResult> {
  const paths = dataPaths(options.dataDir);
  if ((await readState(paths.state)) === undefined) return { known: false, processes: {} };
  const onWait = (pid: number): void =>
    options.progress({
      kind: 'notice',
      subject: paths.root,
      message: `process ${pid} is working on this data dir; waiting for it`,
    });
  return withLock(paths.lock, { timeoutMs: 10 * 60 * 1000, onWait }, async () => {
    const state = await readState(paths.state);
    if (state === undefined) return { known: false, processes: {} };
    const processes = await stopInOrder(state.processes, options);
    const stopped: State = { ...state, processes: {} };
    await writeJson(paths.state, stopped);
    await rm(paths.endpoints, { force: true });
    // A copy of the user's own credentials must not be left lying about.
    if (state.mode.cluster !== 'embedded') await rm(paths.kubeconfig, { force: true });
    if (state.mode.ephemeral) {
      await rm(paths.etcdEphemeral, { recursive: true, force: true });
    }
    return { known: true, processes };
  });
}

/** Stops these processes, each before those that it uses. */
export async function stopInOrder(
  records: State['processes'],
  options: Pick<DownOptions, 'progress' | 'graceMs'>,
): Promise<Partial<Record<ProcessName, StopOutcome>>> {
  const outcomes: Partial<Record<ProcessName, StopOutcome>> = {};
  for (const row of order) {
    await Promise.all(
      row.map(async (name) => {
        const record = records[name];
        if (record === undefined) return;
        const started = Date.now();
        const outcome = await stopProcess(record, options.graceMs ?? 10_000);
        outcomes[name] = outcome;
        const elapsedSeconds = Math.round((Date.now() - started) / 100) / 10;
        const words = {
          stopped: 'stopped',
          killed: 'killed: it did not end by itself',
          'was-not-running': 'was not running',
        };
        options.progress({ kind: 'done', subject: name, message: words[outcome], elapsedSeconds });
      }),
    );
  }
  return outcomes;
}
