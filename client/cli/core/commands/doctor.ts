import type { Command } from 'commander';
import type { OutputFormat } from '../output-format.js';
import { addExamples, outputOption, type Perform } from './shared.js';

/** `drover doctor`. */
export function addDoctor(program: Command, perform: Perform): void {
  const command = program
    .command('doctor')
    .summary('what is missing or unreachable, and what to do')
    .description(
      'Examines this machine, the data dir and, when one is chosen, your own cluster and Temporal. Changes nothing. The exit code is 3 when there is a problem.',
    )
    .addOption(outputOption())
    .action((options: { output?: OutputFormat }, self: Command) =>
      perform(self, async (context) => (await import('../work/doctor.js')).examine(context, options.output)),
    );
  addExamples(command, [
    ['doctor', 'before the first "up", or when something is odd'],
    ['doctor --use-current-cluster', 'whether your own cluster can be reached and has the definitions'],
  ]);
}
