/** The traffic manager as a process of its own, so that it stays when the demo is told to keep everything. */
import { spawn } from 'node:child_process';
import { mkdir, open, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { packageRoot } from '../../runtime/package-root.js';
import { choosePorts } from '../../local/ports.js';
import { processIdentity } from '../../runtime/process-identity.js';

/** A traffic manager that runs. */
export interface TrafficProcess {
  url: string;
  pid: number;
  log: string;
}

interface Started extends TrafficProcess {
  identity: string | undefined;
}

const READY_MS = 10_000;
const recordFile = (dataDir: string): string => join(dataDir, 'traffic-manager.json');

/** Starts it on a free port. @throws Error when it does not answer within 10 s. */
export async function startTrafficProcess(dataDir: string): Promise<TrafficProcess> {
  const logs = join(dataDir, 'logs');
  await mkdir(logs, { recursive: true });
  const log = join(logs, 'traffic-manager.log');
  const { port } = await choosePorts({ names: ['port'], remembered: {}, keep: () => false });
  const url = `http://127.0.0.1:${port}`;
  const output = await open(log, 'a');
  const program = join(packageRoot(), 'dist', 'examples', 'traffic-manager', 'server.js');
  const child = spawn(process.execPath, [program, '--port', String(port)], {
    detached: true,
    stdio: ['ignore', output.fd, output.fd],
  });
  await new Promise<void>((resolve, reject) => {
    child.once('spawn', resolve);
    child.once('error', reject);
  });
  child.unref();
  await output.close();
  const pid = child.pid ?? 0;
  const record: Started = { url, pid, log, identity: await processIdentity(pid) };
  await writeFile(recordFile(dataDir), JSON.stringify(record));
  const deadline = Date.now() + READY_MS;
  while (!(await answers(url))) {
    if (Date.now() > deadline)
      throw new Error(`the traffic manager does not answer at ${url}; its log is ${log}`);
    await sleep(50);
  }
  return record;
}

/** Stops the one that was started for a data dir, if it still runs. */
export async function stopTrafficProcess(dataDir: string): Promise<void> {
  const text = await readFile(recordFile(dataDir), 'utf8').catch(() => undefined);
  if (text === undefined) return;
  const { pid, identity } = JSON.parse(text) as Started;
  // A pid is used again; only the very process that was started may be stopped.
  if (identity !== undefined && (await processIdentity(pid)) === identity) process.kill(pid, 'SIGTERM');
  await rm(recordFile(dataDir), { force: true });
}

const answers = (url: string): Promise<boolean> =>
  fetch(`${url}/healthz`, { signal: AbortSignal.timeout(1000) }).then(
    (response) => response.ok,
    () => false,
  );
