import type { Command } from 'commander';
import type { OutputFormat } from '../../core/output-format.js';
import { addExamples, outputOption, type Perform } from '../../core/commands/shared.js';

/** `drover describe NAME`. */
export function addDescribe(program: Command, perform: Perform): void {
  const command = program
    .command('describe')
    .summary('show a run, a plan, a workflow or a policy')
    .description(
      'Shows an execution, a plan or a workflow: its state, and its stages, workflows and actions as a tree with phases, durations, reasons and messages. A name that several kinds have shows them all; KIND/NAME picks one, and policy/NAME shows a policy.',
    )
    .argument('<name>', 'NAME, execution/NAME, plan/NAME, workflow/NAME or policy/NAME')
    .addOption(outputOption())
    .action((name: string, options: { output?: OutputFormat }, self: Command) =>
      perform(self, async (context) =>
        (await import('../work/describe.js')).describe(context, name, options.output),
      ),
    );
  addExamples(command, [
    ['describe shop-switchover-x7k2p', 'a run'],
    ['describe plan/shop-switchover', 'a plan, and which of its stages could run together'],
  ]);
}
