import { spawn } from 'node:child_process';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import type { RunnerOrder } from '../api/terraform/runner-order.js';
import { packageRoot } from '../runtime/package-root.js';
import { folderPaths } from './folder.js';
import { PRIVATE_FILE, makePrivate, writeOnce } from '../runtime/durable-files.js';

/** Variables of the worker that a runner gets, besides those that it passes on to engines. */
const NEEDED = ['PATH', 'DROVER_ENGINES', 'LANG', 'SSL_CERT_FILE', 'SSL_CERT_DIR', 'NODE_EXTRA_CA_CERTS'];

/** The program, as the build leaves it. */
export const runnerProgram = (): string => join(packageRoot(), 'dist', 'programs', 'runner.js');

/** Puts an order into a folder, unless one is there already, which then counts. */
export async function writeOrder(folder: string, order: RunnerOrder): Promise<void> {
  await makePrivate(folder);
  await writeOnce(folderPaths(folder).order, JSON.stringify(order));
}

/**
 * Starts a runner for a folder, in a session of its own, so that it outlives whoever starts it. Repeating it does no harm:
 * of several runners the first takes the folder, and the others end.
 *
 * @param options.program default {@link runnerProgram}
 * @returns its pid
 * @throws Error where it cannot be started
 */
export async function startRunner(options: {
  folder: string;
  order: Pick<RunnerOrder, 'passEnvironment'>;
  env: NodeJS.ProcessEnv;
  program?: string;
}): Promise<number> {
  const { folder, order, env, program = runnerProgram() } = options;
  const log = await open(folderPaths(folder).log, 'a', PRIVATE_FILE);
  try {
    const names = order.passEnvironment.includes('*')
      ? Object.keys(env)
      : [...NEEDED, ...order.passEnvironment];
    const child = spawn(process.execPath, ['--max-semi-space-size=1', program, folder], {
      cwd: folder,
      env: Object.fromEntries(names.flatMap((name) => (env[name] === undefined ? [] : [[name, env[name]]]))),
      detached: true,
      stdio: ['ignore', log.fd, log.fd],
    });
    await new Promise<void>((resolve, reject) => {
      child.once('spawn', resolve);
      child.once('error', reject);
    });
    child.unref();
    return child.pid!;
  } finally {
    await log.close();
  }
}
