import type { Command } from 'commander';
import type { OutputFormat } from '../output-format.js';
import { addExamples, outputOption, type Perform } from './shared.js';

/** `drover status`. */
export function addStatus(program: Command, perform: Perform): void {
  const command = program
    .command('status')
    .summary('what of "up" runs and answers')
    .description(
      'Shows what "up" started for a data dir, whether it answers, and whether the kinds are installed. The exit code is 3 unless all is up.',
    )
    .addOption(outputOption())
    .action((options: { output?: OutputFormat }, self: Command) =>
      perform(self, async (context) => (await import('../work/status.js')).show(context, options.output)),
    );
  addExamples(command, [['status -o json', 'for a program']]);
}
