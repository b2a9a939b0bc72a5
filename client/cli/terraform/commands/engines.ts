import type { Command } from 'commander';
import { buildOpenTofu, describeEngine, withBuiltEngine } from '../../../../local/index.js';
import { fileDigest, findEngines } from '../../../../runtime/engines.js';
import { addExamples, outputOption, type Perform } from '../../core/commands/shared.js';
import type { CommandContext } from '../../core/context.js';
import { EXIT } from '../../core/exit-codes.js';
import { printProgress } from '../../core/local-progress.js';
import { type OutputFormat, printValue } from '../../core/output.js';

/** `drover engines`. */
export function addEngines(program: Command, perform: Perform): void {
  const command = program
    .command('engines')
    .summary('the programs that carry out Terraform runs: list, build')
    .description(
      'Looks after terraform and tofu on this machine. They are looked for in the programs and folders that DROVER_ENGINES lists, then on the PATH. Drover downloads none.',
    );
  const list = command
    .command('list')
    .summary('which engines this machine has')
    .description('Lists the engines of this machine, in the order in which they are looked for.')
    .addOption(outputOption())
    .action((options: { output?: OutputFormat }, self: Command) =>
      perform(self, (context) => listEngines(context, options.output)),
    );
  addExamples(list, [
    ['engines list', 'what a workspace of version "latest" would get: the newest of its engine'],
  ]);
  const build = command
    .command('build')
    .summary('build OpenTofu from its source, once')
    .description(
      'Builds the version of OpenTofu that Drover is tested with into the cache, where "drover up" finds it. Needs Go 1.26 or newer and takes minutes the first time; after that it does nothing.',
    )
    .action((_: unknown, self: Command) => perform(self, buildEngine));
  addExamples(build, [['engines build', 'an engine where none is installed']]);
}

async function listEngines(context: CommandContext, format: OutputFormat | undefined): Promise<number> {
  const { terminal, environment } = context;
  const { engines } = await findEngines(await withBuiltEngine(environment.env));
  if (format !== undefined) {
    const withDigests = await Promise.all(
      engines.map(async (engine) => ({ ...engine, digest: await fileDigest(engine.path) })),
    );
    printValue(terminal, withDigests, format);
    return EXIT.ok;
  }
  for (const engine of engines) terminal.out(await describeEngine(engine));
  if (engines.length === 0) {
    terminal.note(
      'no terraform and no tofu here: install one, or build OpenTofu with "drover engines build"',
    );
  }
  return EXIT.ok;
}

async function buildEngine({ terminal, environment }: CommandContext): Promise<number> {
  const path = await buildOpenTofu({ progress: printProgress(terminal), env: environment.env });
  terminal.out(path);
  return EXIT.ok;
}
