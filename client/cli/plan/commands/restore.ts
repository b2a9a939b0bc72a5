import type { Command } from 'commander';
import { addExamples, type Perform, yesOption } from '../../core/commands/shared.js';
import type { RestoreOptions } from '../work/restore.js';

/** `drover restore FILE`. */
export function addRestore(program: Command, perform: Perform): void {
  const command = program
    .command('restore')
    .summary('put the objects of an archive back, into a control plane without any')
    .description(
      'Checks the whole archive, then restores what "backup" has written. Restored executions are records: they never start, and those that had ended can be reverted. Nothing that is there is changed; a cluster that has plans or executions already is refused, unless --merge is given. The definitions have to be installed before.',
    )
    .argument('<file>', 'the archive')
    .option('--dry-run', 'check everything and show what would be restored; change nothing')
    .option('--merge', 'restore only what is missing, into a cluster that has objects already')
    .option('--create-namespaces', 'make namespaces that are missing')
    .option(
      '--system-namespace <name>',
      'namespace of the installation (also: DROVER_NAMESPACE; default drover-system)',
    )
    .addOption(yesOption())
    .action((file: string, options: RestoreOptions, self: Command) =>
      perform(self, async (context) => (await import('../work/restore.js')).restore(context, file, options)),
    );
  addExamples(command, [
    ['restore drover.tar --dry-run --use-current-cluster', 'what is in the archive, and what would be made'],
    [
      'restore drover.tar --create-namespaces --use-current-cluster',
      'after the loss of a management cluster',
    ],
    [
      'restore drover.tar --merge --use-current-cluster',
      'go on after an interruption, or bring back what was deleted',
    ],
  ]);
}
