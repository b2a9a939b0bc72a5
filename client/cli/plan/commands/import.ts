import type { Command } from 'commander';
import { addExamples, outputOption, type Perform } from '../../core/commands/shared.js';
import type { ImportOptions } from '../work/import.js';

/** `drover import [FILE…]`. */
export function addImport(program: Command, perform: Perform): void {
  const command = program
    .command('import')
    .summary("move over from the original controller's plans")
    .description(
      'Reads workflows, plans and executions of the original controller, from files or a cluster, tells what would behave differently here, and with --to or --write converts them. Changes nothing in a cluster. Ends with 1 when an object is refused.',
    )
    .argument('[file...]', 'files, folders, or - for standard input')
    .option('--cluster', 'read the objects of the cluster')
    .option('-A, --all-namespaces', 'with --cluster: of all namespaces')
    .option('--to <dir>', 'write the converted objects into this folder; nothing is overwritten')
    .option('--write', 'change the files in place')
    .option('--service-account <name>', 'for plans that name no ServiceAccount')
    .option('--job-timeout <duration>', 'for Jobs whose timeout is the stored default, such as 1h')
    .option('--drop-stored-defaults', "drop values that equal the original's stored defaults")
    .addOption(outputOption())
    .action((files: string[], options: ImportOptions, self: Command) =>
      perform(self, async (context) =>
        (await import('../work/import.js')).importAll(context, files, options),
      ),
    );
  addExamples(command, [
    ['import --cluster -A --use-current-cluster', 'what would be different, for all plans of a cluster'],
    ['import --cluster -n shop --to converted --service-account dr-runner --job-timeout 1h', 'convert'],
    ['import plans/ --write', 'convert files in place'],
  ]);
}
