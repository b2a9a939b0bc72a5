import type { Command } from 'commander';
import { addExamples, outputOption, type Perform, yesOption } from './shared.js';
import type { UpFlags } from '../work/up.js';

/** `drover up`. */
export function addUp(program: Command, perform: Perform): void {
  const command = program
    .command('up')
    .summary('bring up a control plane, Temporal, bridge and worker on this machine')
    .description(
      'Brings up etcd, kube-apiserver and its controllers, a fake node that runs Jobs, Temporal with its Web UI, the bridge and the worker, all on 127.0.0.1 and without a container engine. Returns when all is ready. What runs already is left alone; what has died is started again. The first time programs are fetched or built, which may take minutes.',
    )
    .option('--ephemeral', 'keep Temporal in memory and skip fsync: faster, and gone after "down"')
    .option('--foreground', 'stay, restart what dies, and take all down on Ctrl-C')
    .option('--temporal-namespace <name>', 'Temporal namespace (default "default")')
    .addOption(yesOption())
    .addOption(outputOption())
    .action((flags: UpFlags, self: Command) =>
      perform(self, async (context) => (await import('../work/up.js')).bringUp(context, flags)),
    );
  addExamples(command, [
    ['up', 'everything, in ./.drover'],
    ['up --data-dir /tmp/second --ephemeral', 'another one beside it, kept in memory'],
    ['up --use-current-cluster', "use kubectl's current cluster; Temporal, bridge and worker run here"],
    ['up --kubeconfig prod.yaml --temporal temporal.example:7233', 'your own cluster and your own Temporal'],
  ]);
}
