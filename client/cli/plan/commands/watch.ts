import type { Command } from 'commander';
import type { CommandContext } from '../../core/context.js';
import type { OutputFormat } from '../../core/output.js';
import { getObject } from '../../core/resources.js';
import { watchExecution } from '../watch-execution.js';
import { addExamples, executionArgument, outputOption, type Perform } from '../../core/commands/shared.js';

/** `drover watch EXECUTION`. */
export function addWatch(program: Command, perform: Perform): void {
  const command = program
    .command('watch')
    .summary('watch a run until it ends')
    .description(
      'Watches a run until it ends: on a terminal a picture that is redrawn, else a line for every change. Ctrl-C stops watching, never the run. The exit code is 0, 1 or 2 for Succeeded, Failed or Cancelled.',
    )
    .argument('<execution>', 'name of the execution')
    .addOption(outputOption())
    .action((execution: string, options: { output?: OutputFormat }, self: Command) =>
      perform(self, (context) => watch(context, executionArgument(execution), options.output)),
    );
  addExamples(command, [
    ['watch shop-switchover-x7k2p', 'look on'],
    ['watch shop-switchover-x7k2p -o json >result.json', 'wait for the end and keep the final object'],
  ]);
}

async function watch(
  context: CommandContext,
  name: string,
  format: OutputFormat | undefined,
): Promise<number> {
  const { kube, namespace } = await context.openCluster();
  const { metadata } = await getObject(kube, 'DRPlanExecution', namespace, name, context.say);
  return watchExecution(
    context,
    kube,
    { namespace, name, ...(metadata.uid !== undefined && { uid: metadata.uid }) },
    format,
  );
}
