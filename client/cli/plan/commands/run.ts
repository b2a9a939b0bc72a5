import { type Command, Option } from 'commander';
import { MODES } from '../../../../api/plan/order/hooks.js';
import { addExamples, collect, outputOption, type Perform, yesOption } from '../../core/commands/shared.js';
import type { RunOptions } from '../work/run.js';

/** `drover run PLAN`. */
export function addRun(program: Command, perform: Perform): void {
  const command = program
    .command('run')
    .summary('execute a plan')
    .description('Executes a plan: creates a DRPlanExecution, shows what will run and asks first.')
    .argument('<plan>', 'name of the plan')
    .option('-p, --param <name=value>', 'parameter of this run; may be given several times', collect)
    .option('-w, --watch', 'watch the run until it ends')
    .addOption(
      new Option('--run-mode <mode>', 'what kind of run this is (conditions can read it)').choices([
        'Planned',
        'Emergency',
        'Drill',
      ]),
    )
    .addOption(
      new Option('--mode <mode>', 'what the run is for (conditions and hooks go by it)').choices([...MODES]),
    )
    .option('--name <name>', 'name of the execution (default: the plan and five characters)')
    .option('--rerun', 'execute an executed plan again without a revert in between')
    .option('--preflight', 'try every action by server-side dry run first, and stop when one would fail')
    .addOption(yesOption())
    .addOption(outputOption())
    .action((plan: string, options: RunOptions, self: Command) =>
      perform(self, async (context) => (await import('../work/run.js')).run(context, plan, options)),
    );
  addExamples(command, [
    ['run shop-switchover --watch', 'execute a plan and look on'],
    ['run shop-switchover -p to=site-b -p from=site-a --run-mode Drill', 'with parameters, as a drill'],
    ['run shop-switchover --yes -o json', 'from a script: no question, the object on standard output'],
  ]);
}
