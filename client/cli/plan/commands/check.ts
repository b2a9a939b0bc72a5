import { type Command, InvalidArgumentError } from 'commander';
import { addExamples, outputOption, type Perform, yesOption } from '../../core/commands/shared.js';
import type { ClusternetOptions } from '../work/check.js';

const DEFAULT_TIMEOUT_S = 60;

/** `drover check clusternet`. */
export function addCheck(program: Command, perform: Perform): void {
  const group = program
    .command('check')
    .summary('try out what plans rely on')
    .description('Tries out, on a cluster, what plans rely on.');
  const command = group
    .command('clusternet')
    .summary('whether a Clusternet installation does what Drover takes for granted')
    .description(
      'Deploys one ConfigMap to one or two member clusters, localizes it, moves it, and removes it again; tells of each thing whether it held. Makes a namespace, a Manifest, a Subscription and Localizations, all named drover-check-…, and the ConfigMap in namespace "default" of the member clusters; removes all of them at the end. Ends with 1 when something did not hold.',
    )
    .option(
      '--clusters <names>',
      'ManagedClusters to try with (default: the first two that are Ready)',
      namesOf,
    )
    .option('--timeout <seconds>', 'longest wait for one thing', secondsOf, DEFAULT_TIMEOUT_S)
    .option('--keep', 'leave what was made, to look at it')
    .addOption(yesOption())
    .addOption(outputOption())
    .action((options: ClusternetOptions, self: Command) =>
      perform(self, async (context) => (await import('../work/check.js')).checkClusternet(context, options)),
    );
  addExamples(command, [
    ['check clusternet --context parent', 'with the first two clusters that are Ready'],
    ['check clusternet --clusters site-a,site-b --yes -o json', 'for a program'],
  ]);
  addExamples(group, [['check clusternet', 'what Drover relies on where Clusternet deploys']]);
  command.copyInheritedSettings(group);
}

function namesOf(text: string): string[] {
  const names = text
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '');
  if (names.length === 1 || (names.length === 2 && names[0] !== names[1])) return names;
  throw new InvalidArgumentError('expected one or two different names, such as site-a,site-b.');
}

function secondsOf(text: string): number {
  const seconds = Number(text);
  if (Number.isInteger(seconds) && seconds >= 1 && seconds <= 3600) return seconds;
  throw new InvalidArgumentError('expected whole seconds, 1 to 3600.');
}
