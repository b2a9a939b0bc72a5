import { type Command, Option } from 'commander';
import { addExamples, outputOption, type Perform, yesOption } from '../../core/commands/shared.js';
import type { CancelOptions } from '../work/cancel.js';

/** `drover cancel EXECUTION`. */
export function addCancel(program: Command, perform: Perform): void {
  const command = program
    .command('cancel')
    .summary('cancel a run')
    .description(
      'Cancels a run: nothing new starts, what runs is interrupted, the rest is skipped. What was done stays done and can be reverted.',
    )
    .argument('<execution>', 'name of the execution')
    .option('--reason <text>', 'why; recorded with the run when its Temporal can be reached')
    .option('--force', 'also abort a rollback that runs (needs Temporal)')
    .addOption(
      new Option(
        '--terminate',
        'the way out of a run that cannot go on: end it without asking it, settle what its actions had begun, and wait for that',
      ).conflicts(['force', 'reason']),
    )
    .addOption(
      new Option(
        '--temporal-lost',
        'end an execution whose run is in a Temporal that will not come back (TemporalMismatch); otherwise as without it',
      ).conflicts(['force', 'reason', 'terminate']),
    )
    .addOption(yesOption())
    .addOption(outputOption())
    .action((execution: string, options: CancelOptions, self: Command) =>
      perform(self, async (context) =>
        (await import('../work/cancel.js')).cancel(context, execution, options),
      ),
    );
  addExamples(command, [
    ['cancel shop-switchover-x7k2p --reason "wrong site"', 'stop a run and say why'],
    ['cancel shop-switchover-x7k2p --terminate', 'end a run whose code no worker can carry on'],
    ['cancel shop-switchover-x7k2p --temporal-lost', "end a run whose Temporal's data is gone"],
    [
      'kubectl annotate drpx shop-switchover-x7k2p dr.bkbcs.tencent.com/cancel=true',
      'the same without this command',
    ],
  ]);
}
