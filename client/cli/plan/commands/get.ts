import type { Command } from 'commander';
import { addExamples, outputOption, type Perform } from '../../core/commands/shared.js';
import type { GetOptions } from '../work/get.js';

/** `drover get [plans|executions|workflows|policies]`. */
export function addGet(program: Command, perform: Perform): void {
  const command = program
    .command('get')
    .summary('list plans, executions and workflows')
    .description(
      'Lists executions (newest first), plans, workflows or policies; without a kind the first three. Policies have no namespace.',
    )
    .argument('[kind]', 'plans, executions, workflows or policies')
    .option('--plan <name>', 'executions of this plan only')
    .option('-A, --all-namespaces', 'look in all namespaces')
    .addOption(outputOption())
    .action((kind: string | undefined, options: GetOptions, self: Command) =>
      perform(self, async (context) => (await import('../work/get.js')).get(context, kind, options)),
    );
  addExamples(command, [
    ['get', 'all there is in the namespace'],
    ['get executions --plan shop-switchover', 'the runs of one plan'],
    ['get plans -A -o json', 'all plans of the cluster, for a program'],
  ]);
}
