import type { Command } from 'commander';
import { addExamples, collect, outputOption, type Perform } from '../../core/commands/shared.js';
import type { UpgradeOptions } from '../work/upgrade.js';

/** `drover upgrade --check`. */
export function addUpgrade(program: Command, perform: Perform): void {
  const command = program
    .command('upgrade')
    .summary('whether an upgrade is safe now')
    .description(
      'Looks what runs: programs and their versions, definitions, live runs by build and phase. Says whether bridge and worker can be replaced now by those of this release, or by those of an older one. Changes nothing. Ends with 1 when it is not safe.',
    )
    .option('--check', 'look, and say so')
    .option(
      '--to <version>',
      'the release that is gone to, for the way back (default: that of this command line)',
    )
    .option('--keep <build>', 'a build whose workers go on afterwards; may be given several times', collect)
    .addOption(outputOption())
    .action((options: UpgradeOptions, self: Command) =>
      perform(self, async (context) => (await import('../work/upgrade.js')).upgrade(context, options)),
    );
  addExamples(command, [
    ['upgrade --check', 'with the command line of the new release, before its programs are installed'],
    ['upgrade --check --to 0.0.9', 'whether there is a way back while these runs are under way'],
    ['upgrade --check --keep 0.1.0-3f9a60c2b7d1 -o json', 'for a program; workers of that build go on'],
  ]);
}
