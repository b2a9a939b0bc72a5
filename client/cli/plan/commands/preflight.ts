import { type Command, Option } from 'commander';
import { addExamples, collect, outputOption, type Perform } from '../../core/commands/shared.js';
import type { PreflightOptions } from '../work/preflight.js';

/** `drover preflight PLAN`. */
export function addPreflight(program: Command, perform: Perform): void {
  const command = program
    .command('preflight')
    .summary('try a plan by server-side dry run')
    .description(
      'Renders every action of a plan and has the API server try it, as the service account that will act, without storing, sending or starting anything: what would be forbidden, invalid, in conflict with other managers, or of a kind that is not there. Ends with 1 when there are problems.',
    )
    .argument('<plan>', 'name of the plan')
    .option('-p, --param <name=value>', 'parameter; may be given several times', collect)
    .option(
      '-f, --file <path>',
      'take the plan or workflows from a file or folder, when they are there',
      collect,
    )
    .addOption(
      new Option('--run-mode <mode>', 'what kind of run this is').choices(['Planned', 'Emergency', 'Drill']),
    )
    .option('--service-account <name>', 'account to act as, for a plan that names none')
    .option('--render', 'also show what would be written, secrets redacted')
    .option('--strict', 'end with 1 on warnings and on what could not be tried, too')
    .addOption(outputOption())
    .action((plan: string, options: PreflightOptions, self: Command) =>
      perform(self, async (context) => (await import('../work/preflight.js')).check(context, plan, options)),
    );
  addExamples(command, [
    ['preflight shop-switchover -p to=site-b', 'would this failover go through as things are now?'],
    ['preflight shop-switchover -f plans/ --render', 'a plan that is not in the cluster yet'],
    ['preflight shop-switchover -o json', 'for a program'],
  ]);
}
