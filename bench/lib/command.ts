/** The command line as somebody has it who installed it, started again and again. */
import { spawn } from 'node:child_process';
import { copyFile, mkdir, mkdtemp, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import type { Readable } from 'node:stream';
import { packageRoot } from '../../runtime/package-root.js';

/** What a command took from its start to its end. */
export interface CommandUsage {
  ms: number;
  /** User and system time. */
  cpuSeconds: number;
  /** The most memory that it held. */
  peakMiB: number;
}

/** The command line without its sources: in a source tree each start looks first whether to build again. */
export interface InstalledCommands {
  /**
   * Runs one command.
   *
   * @throws Error with what it said when it failed
   */
  run(args: readonly string[]): Promise<CommandUsage>;
  close(): Promise<void>;
}

/** Lays the built command line out as a package. */
export async function installCommands(): Promise<InstalledCommands> {
  const root = packageRoot();
  const folder = await mkdtemp(join(tmpdir(), 'drover-bench-commands-'));
  const program = join(folder, 'bin', 'drover.js');
  await mkdir(join(folder, 'bin'));
  await copyFile(join(root, 'bin', 'drover.js'), program);
  for (const part of ['dist', 'deploy', 'node_modules', 'package.json'])
    await symlink(join(root, part), join(folder, part));
  return {
    run: (args) => runCommand(folder, [program, ...args]),
    close: () => rm(folder, { recursive: true }),
  };
}

/** Tells on a stream of its own, when the command ends, what it has used. */
const TELL_USAGE = `data:text/javascript,${encodeURIComponent(
  "import { writeSync } from 'node:fs'; process.on('exit', () => writeSync(3, JSON.stringify(process.resourceUsage())));",
)}`;

async function runCommand(cwd: string, args: readonly string[]): Promise<CommandUsage> {
  const begun = performance.now();
  const child = spawn(process.execPath, ['--import', TELL_USAGE, ...args], {
    cwd,
    stdio: ['ignore', 'ignore', 'pipe', 'pipe'],
  });
  const said = text(child.stderr as Readable);
  const told = text(child.stdio[3] as Readable);
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', resolve);
  });
  const ms = performance.now() - begun;
  if (code !== 0) throw new Error(`"${args.slice(1).join(' ')}" ended with ${code}: ${await said}`);
  const usage = JSON.parse(await told) as NodeJS.ResourceUsage;
  return {
    ms,
    cpuSeconds: (usage.userCPUTime + usage.systemCPUTime) / 1e6,
    peakMiB: usage.maxRSS / 1024,
  };
}
