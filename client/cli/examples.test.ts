/** What help and pages show is what works: every example is read by the command line itself. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { CommanderError } from 'commander';
import { parseAllDocuments } from 'yaml';
import { describe, expect, it } from 'vitest';
import type { DRPlan } from '../../api/plan/types.js';
import { guardPassThrough } from './core/arguments.js';
import { commandLine } from './testing/command-line.js';
import type { CommandLine } from './testing/command-line.js';

/** The command line without what it does. */
function build(): CommandLine & { performed: string[] } {
  const performed: string[] = [];
  const line = commandLine({
    perform: (command) => {
      performed.push(command.name());
      return Promise.resolve();
    },
  });
  return { ...line, performed };
}

/** What help says of a command and of all below it. */
async function helpOf(path: readonly string[]): Promise<string> {
  const { program, written } = build();
  await program.parseAsync([...path, '--help'], { from: 'user' }).catch((error: unknown) => {
    if (!(error instanceof CommanderError)) throw error;
  });
  return written.join('');
}

/** Lines of shell that call the command line, whole also where they go on in the next one. */
function linesOf(text: string): string[] {
  return text
    .replaceAll(/\\\n\s*/g, '')
    .split('\n')
    .map((line) => /^\s*(?:npx )?(?:drover|kubectl dr) (.*)$/.exec(line)?.[1])
    .filter((line) => line !== undefined);
}

/** Arguments of a line, as a shell makes them: quotes, no comment, no redirection. */
function argumentsOf(line: string): string[] {
  const words = [...line.matchAll(/"([^"]*)"|'([^']*)'|(\S+)/g)].map(
    ([, double, single, plain]) => double ?? single ?? plain ?? '',
  );
  const end = words.findIndex((word) => /^[#<>]/.test(word));
  return end === -1 ? words : words.slice(0, end);
}

const pages = ['README.md', ...readdirSync('docs').map((name) => join('docs', name))].filter((name) =>
  name.endsWith('.md'),
);
const shellBlocks = (page: string): string =>
  [...readFileSync(page, 'utf8').matchAll(/```(?:sh|shell|bash)\n([^]*?)```/g)]
    .map(([, text]) => text)
    .join('\n');

const commandPaths = build().program.commands.flatMap((command) => [
  [command.name()],
  ...command.commands.map((below) => [command.name(), below.name()]),
]);
const examples: [string, string][] = [];
for (const path of [[], ...commandPaths]) {
  const [, shown = ''] = (await helpOf(path)).split('Examples:');
  examples.push(...linesOf(shown).map((line): [string, string] => [`help of ${path.join(' ')}`, line]));
}
for (const page of pages) {
  examples.push(...linesOf(shellBlocks(page)).map((line): [string, string] => [page, line]));
}

const switchover = parseAllDocuments(readFileSync('examples/switchover/20-plan.yaml', 'utf8'))
  .map((document) => document.toJS() as DRPlan | null)
  .find((object) => object?.kind === 'DRPlan');

describe('[F23] an example', () => {
  it('stands in every help and on the pages', () => {
    expect(examples.length).toBeGreaterThan(60);
  });

  it.each(examples)('of %s is a command line that there is: drover %s', async (_, line) => {
    const { program, written, performed } = build();
    const words = argumentsOf(line);
    await program.parseAsync(guardPassThrough(program, words), { from: 'user' }).catch((error: unknown) => {
      throw new Error(`drover ${words.join(' ')}: ${String(error)}; ${written.join('')}`);
    });
    expect(performed).toHaveLength(1);
    for (const file of words.filter((word) => word.startsWith('examples/') || word.startsWith('deploy/')))
      expect(existsSync(file), file).toBe(true);
    if (!words.includes('shop-switchover')) return;
    const declared = (switchover?.spec.globalParams ?? []).map(({ name }) => name);
    const given = words.flatMap((word, at) => (words[at - 1] === '-p' ? [word.split('=')[0]] : []));
    for (const name of given) expect(declared).toContain(name);
  });
});
