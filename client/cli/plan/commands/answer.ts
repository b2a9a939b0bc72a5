import type { Command } from 'commander';
import { addExamples, type Perform, yesOption } from '../../core/commands/shared.js';
import type { AnswerOptions } from '../work/answer.js';

const ANSWERS = {
  approve: { summary: 'approve what a run waits for', effect: 'The approval counts for you.' },
  reject: { summary: 'reject what a run waits for', effect: 'The action ends Failed, Rejected.' },
} as const;

/**
 * `drover approve|reject EXECUTION`: answers an Approval. Who answers is whoever the kubeconfig logs in as: the API server
 * says so, not this program.
 */
export function addAnswer(program: Command, perform: Perform): void {
  for (const answer of ['approve', 'reject'] as const) {
    const { summary, effect } = ANSWERS[answer];
    const command = program
      .command(answer)
      .summary(summary)
      .description(`Answers an action of type Approval, as the user of the kubeconfig. ${effect}`)
      .argument('<execution>', 'name of the execution')
      .option('--stage <name>', 'only an approval in this stage')
      .option('--action <name>', 'name or position of the action, when several wait')
      .option('--comment <text>', 'what to say with it; kept in status')
      .addOption(yesOption())
      .action((execution: string, options: AnswerOptions, self: Command) =>
        perform(self, async (context) =>
          (await import('../work/answer.js')).give(context, answer, execution, options),
        ),
      );
    addExamples(command, [
      [`${answer} shop-switchover-x7k2p --comment "as agreed"`, summary],
      [
        `kubectl annotate drpx shop-switchover-x7k2p dr.bkbcs.tencent.com/${answer}="as agreed"`,
        'the same without this command',
      ],
    ]);
  }
}
