import type { Command } from 'commander';
import { addExamples, outputOption, type Perform } from '../../core/commands/shared.js';
import type { OutputFormat } from '../../core/output-format.js';

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
      perform(self, async (context) =>
        (await import('../work/engines.js')).listEngines(context, options.output),
      ),
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
    .action((_: unknown, self: Command) =>
      perform(self, async (context) => (await import('../work/engines.js')).buildEngine(context)),
    );
  addExamples(build, [['engines build', 'an engine where none is installed']]);
  addExamples(command, [['engines list', 'which terraform and tofu this machine has, and where']]);
}
