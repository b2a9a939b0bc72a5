import type { Command } from 'commander';
import type { OutputFormat } from '../output-format.js';
import { addExamples, outputOption, type Perform } from './shared.js';

/** `drover down`. */
export function addDown(program: Command, perform: Perform): void {
  const command = program
    .command('down')
    .summary('stop what "up" started')
    .description(
      'Stops exactly the processes that "up" started for a data dir. The data stays, and the next "up" goes on with every run; only that of an --ephemeral one is gone.',
    )
    .addOption(outputOption())
    .action((options: { output?: OutputFormat }, self: Command) =>
      perform(self, async (context) => (await import('../work/down.js')).takeDown(context, options.output)),
    );
  addExamples(command, [['down --data-dir /tmp/second', 'stop another one']]);
}
