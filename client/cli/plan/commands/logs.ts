import { type Command, Option } from 'commander';
import { addExamples, type Perform } from '../../core/commands/shared.js';
import type { LogsOptions } from '../work/logs.js';

/** `drover logs EXECUTION`. */
export function addLogs(program: Command, perform: Perform): void {
  const command = program
    .command('logs')
    .summary('what happened in a run, in the order of time')
    .description(
      "What happened in a run, in the order of time: from its status, its Events, Temporal's history (attempts, failures, signals) where Temporal can be reached, and the logs of bridge and worker where the data dir has them.",
    )
    .argument('<execution>', 'name of the execution')
    .option('-f, --follow', 'go on until the run ends')
    .addOption(new Option('-o, --output <format>', 'one JSON object a line').choices(['json']))
    .action((execution: string, options: LogsOptions, self: Command) =>
      perform(self, async (context) => (await import('../work/logs.js')).logs(context, execution, options)),
    );
  addExamples(command, [
    ['logs shop-switchover-x7k2p', 'all that is known'],
    ['logs shop-switchover-x7k2p --follow', 'go on until the run ends'],
  ]);
}
