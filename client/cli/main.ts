import { readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { CommanderError } from 'commander';
import { packageRoot } from '../../runtime/package-root.js';
import { guardPassThrough } from './core/arguments.js';
import { EXIT } from './core/exit-codes.js';
import { describeFailure } from './core/failure.js';
import { buildProgram } from './program.js';
import { processTerminal } from './core/terminal.js';

/** Runs the command line of a process; the exit code is left in `process.exitCode`. */
export async function main(process: NodeJS.Process): Promise<void> {
  const asKubectlPlugin = basename(process.argv[1] ?? '').startsWith('kubectl-dr');
  // A reader that has seen enough, such as head, is no failure.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit(EXIT.ok);
    throw error;
  });
  const program = buildProgram({
    version: versionOf(packageRoot()),
    environment: { env: process.env, asKubectlPlugin },
    terminal: (options) => processTerminal(process, options),
    exit: (code) => {
      process.exitCode = code;
    },
  });
  try {
    await program.parseAsync(guardPassThrough(program, process.argv.slice(2)), { from: 'user' });
  } catch (error) {
    if (error instanceof CommanderError) {
      process.exitCode = error.exitCode === 0 ? EXIT.ok : EXIT.usage;
      return;
    }
    const { note, noteStyle } = processTerminal(process, program.opts<{ color?: boolean }>());
    const failure = describeFailure(error, {
      program: program.name(),
      verbose: process.env['DROVER_DEBUG'] === '1',
    });
    note(`${noteStyle.bad('error:')} ${failure.message}`);
    for (const hint of failure.hints) note(`  ${hint}`);
    process.exitCode = failure.exitCode;
    // What still goes on, such as a download, has lost its reader.
    if (failure.exitCode === EXIT.interrupted) process.exit();
  }
}

function versionOf(root: string): string {
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string };
  return version;
}
