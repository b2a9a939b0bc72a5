import { execFile } from 'node:child_process';
import { dirname, join } from 'node:path';
import { findPrograms } from '../../local/binaries.js';
import type { Progress } from '../../local/progress.js';

/** Longest time to open Helm: where it cannot be fetched, it is built the first time. */
export const MAX_OPEN_MS = 30 * 60_000;

/** How a command has ended. */
export interface Ended {
  code: number;
  stdout: string;
  stderr: string;
}

/** Runs Helm, which is found on the PATH, or fetched or built once. */
export interface Helm {
  /** Folder of the program. */
  folder: string;
  /** Runs it with these arguments, whatever it ends with. */
  run(args: readonly string[], options?: { cwd?: string }): Promise<Ended>;
  /**
   * Output of a command.
   *
   * @throws Error with what it said when it failed
   */
  output(args: readonly string[], options?: { cwd?: string }): Promise<string>;
}

/**
 * Opens Helm.
 *
 * @param options.home - folder of its caches and settings: those of the user are not read
 * @param options.kubeconfig - file of the cluster that it talks to; absent: it talks to none
 */
export async function openHelm(options: {
  home: string;
  kubeconfig?: string;
  progress: Progress;
}): Promise<Helm> {
  const { helm } = await findPrograms({ names: ['helm'], progress: options.progress });
  const env = {
    ...Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^(HELM|KUBE)/.test(name))),
    HELM_CACHE_HOME: join(options.home, 'cache'),
    HELM_CONFIG_HOME: join(options.home, 'config'),
    HELM_DATA_HOME: join(options.home, 'data'),
    KUBECONFIG: options.kubeconfig ?? join(options.home, 'none'),
  };
  const run: Helm['run'] = (args, { cwd } = {}) =>
    new Promise((resolve) => {
      execFile(helm.path, args, { cwd, env, maxBuffer: 64 << 20 }, (error, stdout, stderr) => {
        const code = error === null ? 0 : typeof error.code === 'number' ? error.code : 1;
        resolve({ code, stdout, stderr: stderr === '' && error !== null ? error.message : stderr });
      });
    });
  return {
    folder: dirname(helm.path),
    run,
    async output(args, settings) {
      const { code, stdout, stderr } = await run(args, settings);
      if (code !== 0) throw new Error(`helm ${args.join(' ')} ended with ${code}: ${stderr.trim()}`);
      return stdout;
    },
  };
}
