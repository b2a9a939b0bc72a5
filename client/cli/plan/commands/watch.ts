import type { Command } from 'commander';
import type { OutputFormat } from '../../core/output-format.js';
import { addExamples, outputOption, type Perform } from '../../core/commands/shared.js';

/** `drover watch EXECUTION`. */
export function addWatch(program: Command, perform: Perform): void {
  const command = program
    .command('watch')
    .summary('watch a run until it ends')
    .description(
      'Watches a run until it ends: on a terminal a picture that is redrawn, else a line for every change. Ctrl-C stops watching, never the run. The exit code is 0, 1 or 2 for Succeeded, Failed or Cancelled.',
    )
    .argument('<execution>', 'name of the execution')
    .addOption(outputOption())
    .action((execution: string, options: { output?: OutputFormat }, self: Command) =>
      perform(self, async (context) =>
        (await import('../work/watch.js')).watch(context, execution, options.output),
      ),
    );
  addExamples(command, [
    ['watch shop-switchover-x7k2p', 'look on'],
    ['watch shop-switchover-x7k2p -o json >result.json', 'wait for the end and keep the final object'],
  ]);
}
