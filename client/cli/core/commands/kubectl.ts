import type { Command } from 'commander';
import { addExamples, type Perform } from './shared.js';

/** `drover kubectl ARGS…`. */
export function addKubectl(program: Command, perform: Perform): void {
  const command = program
    .command('kubectl')
    .summary('kubectl, for the same cluster')
    .description(
      'Runs kubectl with the kubeconfig that the other commands would use. Everything after "kubectl" is for kubectl, but for --data-dir, which kubectl does not know; other options of this program go before it. The exit code is kubectl\'s.',
    )
    .argument('[args...]', 'arguments of kubectl')
    .action((args: string[], _options: unknown, self: Command) =>
      perform(self, async (context) => (await import('../work/kubectl.js')).passOn(context, args)),
    );
  addExamples(command, [
    ['kubectl get drpx -w', 'look at executions as kubectl shows them'],
    ['--data-dir /tmp/second kubectl apply -f plan.yaml', 'in another data dir'],
  ]);
}
