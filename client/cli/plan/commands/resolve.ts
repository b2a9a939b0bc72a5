import type { Command } from 'commander';
import { addExamples, type Perform, yesOption } from '../../core/commands/shared.js';
import { PAUSE_ANSWERS } from '../pause-answers.js';
import type { ResolveOptions } from '../work/resolve.js';

/** `drover retry|skip|abort EXECUTION`: answers a run that waits for a person (onFailure: Pause). */
export function addResolve(program: Command, perform: Perform): void {
  for (const answer of ['retry', 'skip', 'abort'] as const) {
    const { summary, effect } = PAUSE_ANSWERS[answer];
    const command = program
      .command(answer)
      .summary(summary)
      .description(`Answers a run that waits for a person (onFailure: Pause). ${effect}`)
      .argument('<execution>', 'name of the execution')
      .option('--stage <name>', 'only this stage (default: every stage that waits)')
      .option('--reason <text>', 'why; recorded with the run')
      .addOption(yesOption())
      .action((execution: string, options: ResolveOptions, self: Command) =>
        perform(self, async (context) =>
          (await import('../work/resolve.js')).resolve(context, answer, execution, options),
        ),
      );
    addExamples(command, [[`${answer} shop-switchover-x7k2p --stage promote`, summary]]);
  }
}
