import type { Command } from 'commander';
import { addExamples, collect, outputOption, type Perform } from '../../core/commands/shared.js';
import type { ValidateOptions } from '../work/validate.js';

/** `drover validate FILE…`. */
export function addValidate(program: Command, perform: Perform): void {
  const command = program
    .command('validate')
    .summary('check files of plans, workflows, executions and policies')
    .description(
      'Checks YAML or JSON files as admission would, without a cluster: workflows, plans against the workflows in the files, executions against their plans, policies. Each problem is told with file, line and column. Ends with 1 when there are errors.',
    )
    .argument('[file...]', 'files, folders, or - for standard input')
    .option('-f, --file <path>', 'the same, as kubectl takes it; more than once for several', collect)
    .option('--strict', 'end with 1 on warnings too')
    .option('--cluster', 'look up in the cluster what the files do not hold')
    .addOption(outputOption())
    .action((files: string[], options: ValidateOptions, self: Command) =>
      perform(self, async (context) =>
        (await import('../work/validate.js')).validate(context, files, options),
      ),
    );
  addExamples(command, [
    ['validate plans/', 'a folder, before it is committed'],
    ['validate plan.yaml --cluster --context site-a', 'a plan that uses workflows of a cluster'],
    ['validate - -o json < plan.yaml', 'for a program'],
  ]);
}
