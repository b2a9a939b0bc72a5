import type { Logger } from 'pino';
import { secretsOf } from '../api/core/redact.js';
import { followEngine } from '../api/terraform/apply-progress.js';
import type { RunnerIdentity } from '../api/terraform/operation-terms.js';
import { RUNNER_TIMES } from '../api/terraform/runner-order.js';
import { bootId, processStart } from '../runtime/process-identity.js';
import { ServerAway } from './deliver.js';
import { folderPaths, readOrder } from './folder.js';
import { writeOnce } from '../runtime/durable-files.js';
import { createInterruption, interruptOnSignals } from './interruption.js';
import { startPulse } from './pulse.js';
import { runOperation } from './run-operation.js';
import { createServerClient } from './server-client.js';

/** What a runner is started with. */
export interface RunOptions {
  folder: string;
  log: Logger;
  env: NodeJS.ProcessEnv;
  process: NodeJS.Process;
}

/**
 * Takes the folder of an operation and carries it out (T7.3). A folder that has a runner, dead or alive, is left alone.
 *
 * @returns the exit code of the process
 */
export async function run({ folder, log, env, process }: RunOptions): Promise<0 | 1> {
  const paths = folderPaths(folder);
  const order = await readOrder(paths);
  const runner = await identityOf(order.hostId, process.pid);
  if (!(await writeOnce(paths.lock, JSON.stringify(runner)))) {
    log.info('another runner has this operation');
    return 0;
  }
  const interruption = createInterruption();
  interruptOnSignals(interruption, process);
  const times = { ...RUNNER_TIMES, ...order.times };
  const client = await createServerClient(order);
  const secrets = secretsOf();
  const progress = followEngine();
  const pulse = startPulse({
    ...{ client, runner, paths, progress, interruption },
    redact: (text) => secrets.redact(text),
    everyMs: times.sync,
    onFailure: (error, inARow) => {
      if (inARow === 1) log.warn({ err: error }, 'the server does not answer; it is tried again each second');
      if (inARow === 0) log.info('the server answers again');
    },
  });
  try {
    await runOperation({
      order,
      times,
      paths,
      runner,
      client,
      interruption,
      pulse,
      progress,
      secrets,
      log,
      env,
    });
    return 0;
  } catch (error) {
    if (!(error instanceof ServerAway)) throw error;
    log.error({ err: error }, 'the server was away for too long; what there is stays in the folder');
    return 1;
  } finally {
    await pulse.stop();
    client.close();
  }
}

async function identityOf(hostId: string, pid: number): Promise<RunnerIdentity> {
  const [boot, startTime] = await Promise.all([bootId(), processStart(pid)]);
  return { hostId, bootId: boot, pid, startTime: startTime ?? '' };
}
