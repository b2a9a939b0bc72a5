import { execFile } from 'node:child_process';
import { findPrograms } from '../../local/binaries.js';

/** Prometheus' tool for checks of metrics and rules. */
export interface Promtool {
  /** Runs it. @param input what it reads from standard input */
  run(args: readonly string[], input?: string): Promise<{ code: number; text: string }>;
}

/** Finds promtool, or has it fetched or built. @throws Error of one line where it cannot be had */
export async function openPromtool(): Promise<Promtool> {
  const { promtool } = await findPrograms({ names: ['promtool'], progress: () => undefined });
  return {
    run: (args, input = '') =>
      new Promise((resolve, reject) => {
        const child = execFile(promtool.path, args, { maxBuffer: 64 << 20 }, (error, stdout, stderr) => {
          const code = error === null ? 0 : error.code;
          if (typeof code === 'number') resolve({ code, text: stdout + stderr });
          else reject(error ?? new Error('promtool did not end'));
        });
        child.stdin?.on('error', () => undefined).end(input);
      }),
  };
}
