import { createInterface } from 'node:readline';
import { CliError } from './cli-error.js';
import { EXIT } from './exit-codes.js';
import type { Style } from './render/style.js';
import type { Terminal } from './terminal.js';

/** What a mutating command is about to do. */
export interface Intent {
  /** `Start this run?` */
  question: string;
  /** Name and value of what it touches, in order. */
  facts: readonly (readonly [string, string])[];
  /** What a person should think of before. */
  warnings?: readonly string[];
}

/**
 * Shows what is about to be done and asks. `--yes` answers beforehand.
 *
 * @throws CliError when the answer is no, or nobody can be asked.
 */
export async function confirmIntent(terminal: Terminal, intent: Intent, yes: boolean): Promise<void> {
  const width = Math.max(...intent.facts.map(([name]) => name.length));
  for (const [name, value] of intent.facts) {
    terminal.note(`  ${terminal.noteStyle.dim(name.padEnd(width))}  ${value}`);
  }
  for (const warning of intent.warnings ?? [])
    terminal.note(`  ${terminal.noteStyle.warn(`warning: ${warning}`)}`);
  if (yes) return;
  if (!terminal.interactive) {
    throw new CliError('this needs a confirmation, and there is no terminal to ask on', {
      hints: ['pass --yes to go ahead without being asked'],
      exitCode: EXIT.notConfirmed,
    });
  }
  const answer = await ask(intent.question, terminal.noteStyle, { output: process.stderr });
  if (!answer) throw new CliError('not confirmed; nothing was changed', { exitCode: EXIT.notConfirmed });
}

/** Where a question is asked. */
interface Streams {
  /** Default: standard input. */
  input?: NodeJS.ReadableStream;
  output: NodeJS.WritableStream;
}

/** Asks a question with yes and no. One that is interrupted, or that nobody is there to answer, is answered with no. */
export async function ask(question: string, style: Style, streams: Streams): Promise<boolean> {
  const { input = process.stdin, output } = streams;
  const lines = createInterface({ input, output });
  lines.once('SIGINT', () => {
    output.write('\n');
    lines.close();
  });
  try {
    return await new Promise<boolean>((resolve) => {
      lines.once('close', () => {
        resolve(false);
      });
      lines.question(`${style.active('?')} ${style.bold(question)} ${style.dim('(y/N)')} `, (answer) => {
        resolve(/^y(es)?$/i.test(answer.trim()));
      });
    });
  } finally {
    lines.close();
  }
}
