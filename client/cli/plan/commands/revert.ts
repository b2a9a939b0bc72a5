import type { Command } from 'commander';
import { addExamples, outputOption, type Perform, yesOption } from '../../core/commands/shared.js';
import type { RevertOptions } from '../work/revert.js';

/** `drover revert EXECUTION`. */
export function addRevert(program: Command, perform: Perform): void {
  const command = program
    .command('revert')
    .summary('undo a run')
    .description(
      'Undoes a run that has ended: creates a DRPlanExecution with operationType Revert. Stages are undone in reverse order; it stops at the first undo that fails and can be run again.',
    )
    .argument('<execution>', 'name of the execution to undo')
    .option('-w, --watch', 'watch the revert until it ends')
    .option('--force', 'undo it although it is not the newest run that was not reverted')
    .option('--name <name>', 'name of the new execution')
    .addOption(yesOption())
    .addOption(outputOption())
    .action((execution: string, options: RevertOptions, self: Command) =>
      perform(self, async (context) =>
        (await import('../work/revert.js')).revert(context, execution, options),
      ),
    );
  addExamples(command, [['revert shop-switchover-x7k2p --watch', 'undo a run and look on']]);
}
