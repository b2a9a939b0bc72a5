import { openOwnCluster } from '../open-cluster.js';
import { runSimulator } from './simulator.js';

const file = process.argv[2];
if (file === undefined) {
  process.stderr.write('usage: node clusternet.js KUBECONFIG\n');
  process.exit(2);
}
// On a full disk lines are lost, and nothing else.
process.stdout.on('error', () => undefined);
const controller = new AbortController();
for (const name of ['SIGTERM', 'SIGINT'] as const) process.once(name, () => controller.abort());
await runSimulator({
  kube: await openOwnCluster(file),
  signal: controller.signal,
  log: (line) => process.stdout.write(`${new Date().toISOString()} ${line}\n`),
});
