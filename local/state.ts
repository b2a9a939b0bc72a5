import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { processIdentity } from '../runtime/process-identity.js';
import { DATA_DIR_ADVICE, wordsFor } from './data-dir.js';

/** Every process the embedded default may run, in the order they are started. */
export const processNames = [
  'etcd',
  'apiserver',
  'controllerManager',
  'scheduler',
  'kwok',
  'clusternet',
  'temporal',
  'bridge',
  'worker',
] as const;

/** The name of one process of the embedded default. */
export type ProcessName = (typeof processNames)[number];

/** Every port the embedded default may listen on, all on 127.0.0.1. */
export const portNames = [
  'etcd',
  'etcdPeer',
  'apiserver',
  'temporal',
  'temporalUi',
  'temporalHttp',
  'temporalMetrics',
  'bridgeMetrics',
  'bridgeHealth',
  'bridgeWebhook',
  'workerMetrics',
  'workerHealth',
] as const;

/** The name of one port of the embedded default. */
export type PortName = (typeof portNames)[number];

/** One started process, recorded so that it is recognised later beyond its pid. */
export interface ProcessRecord {
  pid: number;
  /** See `processIdentity`. */
  identity: string;
  command: string[];
  startedAt: string;
  log: string;
  /** Size of the log, in bytes, when the process was started. */
  logFrom: number;
}

/** What a data dir was brought up as; it cannot change while anything of it runs. */
export interface Mode {
  ephemeral: boolean;
  /** `embedded`, or `user: <server url>` for the user's own cluster. */
  cluster: string;
  /** `embedded`, or the address of the user's own Temporal. */
  temporal: string;
}

/** The content of `state.json`: what `down`, `status` and the next `up` need to know. */
export interface State {
  version: 1;
  mode: Mode;
  ports: Partial<Record<PortName, number>>;
  processes: Partial<Record<ProcessName, ProcessRecord>>;
}

/** Reads `state.json`; undefined when there is none. @throws Error when it cannot be understood. */
export async function readState(path: string): Promise<State | undefined> {
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    // Below a file there is nothing either.
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined;
    throw new Error(`${path} cannot be read: ${wordsFor(error)}; ${DATA_DIR_ADVICE}`, { cause: error });
  }
  const fault = (why: string): Error =>
    new Error(
      `${path}: ${why}; if nothing of this data dir runs any more, delete the file and run "drover up" again`,
    );
  let value: State;
  try {
    value = JSON.parse(text) as State;
  } catch (error) {
    throw fault(`not JSON (${(error as Error).message})`);
  }
  if (value === null || typeof value !== 'object' || value.version !== 1) {
    throw fault('written by another version of drover');
  }
  return value;
}

/** Writes a JSON file so that readers see the old or the new content, never a part. */
export async function writeJson(path: string, value: unknown): Promise<void> {
  await writeWhole(path, `${JSON.stringify(value, null, 2)}\n`);
}

/** Writes a file, readable by its owner only, in one step. */
export async function writeWhole(path: string, content: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  const draft = `${path}.${process.pid}.tmp`;
  await writeFile(draft, content, { mode: 0o600 });
  await rename(draft, path);
}

/** True when the recorded process still runs and is not another one that got its pid. */
export async function isAlive(record: ProcessRecord | undefined): Promise<boolean> {
  return record !== undefined && (await processIdentity(record.pid)) === record.identity;
}
