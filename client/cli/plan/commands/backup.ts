import { type Command, Option } from 'commander';
import { addExamples, type Perform } from '../../core/commands/shared.js';
import type { BackupOptions } from '../work/backup.js';

/** `drover backup FILE`. */
export function addBackup(program: Command, perform: Perform): void {
  const command = program
    .command('backup')
    .summary('write all objects of Drover, and what runs have kept, into one archive')
    .description(
      "Writes plans, workflows, executions and policies of all namespaces into a tar file (mode 0600), with the snapshots of runs, and with secrets the state that reverts restore and the keys of seals. Changes nothing. Temporal's database is not part of it: docs/backup.md says what belongs together.",
    )
    .argument('<file>', 'the archive; - for standard output')
    .addOption(
      new Option(
        '--with-secrets',
        'with the Secrets of prior state and the keys of seals: whoever reads the archive can forge runs',
      ).conflicts('withoutSecrets'),
    )
    .option('--without-secrets', 'without them: after a restore, live runs stand still and some reverts fail')
    .option(
      '--system-namespace <name>',
      'namespace of the installation (also: DROVER_NAMESPACE; default drover-system)',
    )
    .action((file: string, options: BackupOptions, self: Command) =>
      perform(self, async (context) => (await import('../work/backup.js')).backup(context, file, options)),
    );
  addExamples(command, [
    ['backup drover.tar --with-secrets --use-current-cluster', 'all that a restore needs of this cluster'],
    [
      'backup - --with-secrets --use-current-cluster > drover.tar',
      'through a pipe, such as to a program that encrypts',
    ],
  ]);
}
