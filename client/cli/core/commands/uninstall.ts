import type { Command } from 'commander';
import { addExamples, type Perform, yesOption } from './shared.js';
import type { UninstallOptions } from '../work/uninstall.js';

/** `drover uninstall`. */
export function addUninstall(program: Command, perform: Perform): void {
  const command = program
    .command('uninstall')
    .summary('take Drover out of a cluster, in an order in which nothing hangs')
    .description(
      'Takes Drover out of a cluster: bridge and worker, the webhooks, the finalizers, and the kinds with all plans, workflows and executions. What runs is refused unless it is to be cancelled. What an action has made stays.',
    )
    .option('--cancel-runs', 'cancel what runs, and wait for its end')
    .option('--abandon-runs', 'go on though runs have not ended: nobody looks after them any more')
    .option('--ignore-bridge', 'go on though a bridge still serves: it puts its webhooks back')
    .option('--keep-kinds', 'leave the kinds and all their objects, as another controller of them wants')
    .option('--timeout <seconds>', 'how long cancelled runs may take to end', '600')
    .addOption(yesOption())
    .action((options: UninstallOptions, self: Command) =>
      perform(self, async (context) => (await import('../work/uninstall.js')).uninstall(context, options)),
    );
  addExamples(command, [
    ['uninstall', 'show what would go, and ask'],
    ['uninstall --cancel-runs --yes', 'cancel what runs, and take all away'],
    ['uninstall --keep-kinds', 'hand plans over to another controller'],
  ]);
}
