/**
 * Latency of one run at a time, from the answer to `create` to the terminal phase seen by a watch.
 *
 *   npm run bench:latency -- --data-dir .drover [--runs 50] [--shape 1x1|3x3]
 *
 * Needs an embedded default that is up. Prints milliseconds: minimum, median, 90th percentile, maximum.
 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { API_VERSION } from '../api/group.js';
import { isTerminalExecution } from '../api/phase.js';
import type { DRPlan, DRPlanExecution } from '../api/types.js';
import { createKubeClient } from '../kube/client.js';
import { loadKubeConfig } from '../kube/config.js';

const { values } = parseArgs({
  options: {
    'data-dir': { type: 'string', default: '.drover' },
    runs: { type: 'string', default: '50' },
    shape: { type: 'string', default: '1x1' },
  },
});
const [stages, actions] = values.shape.split('x').map(Number);
if (!stages || !actions) throw new Error(`--shape ${values.shape}: give STAGESxACTIONS, such as 3x3`);

const kube = createKubeClient(loadKubeConfig({ file: join(values['data-dir'], 'kubeconfig') }));
const server = createServer((_, response) => response.end('{"ok":true}'));
await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
const namespace = `bench-${Date.now()}`;
await kube.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } });
const dr = (kind: string, name: string, spec: unknown) =>
  kube.create({ apiVersion: API_VERSION, kind, metadata: { name, namespace }, spec });

await dr('DRWorkflow', 'wf', {
  actions: Array.from({ length: actions }, (_, index) => ({
    name: `a${index}`,
    type: 'HTTP',
    http: { url: `${url}/${index}` },
  })),
});
await dr('DRPlan', 'plan', {
  stages: Array.from({ length: stages }, (_, index) => ({
    name: `s${index}`,
    workflows: [{ workflowRef: { name: 'wf' } }],
  })),
});
const key = { apiVersion: API_VERSION, kind: 'DRPlan', namespace, name: 'plan' };
while ((await kube.get<DRPlan>(key))?.status?.phase !== 'Ready')
  await new Promise((resolve) => setTimeout(resolve, 50));

const type = { apiVersion: API_VERSION, kind: 'DRPlanExecution' };
const { metadata } = await kube.list(type, { namespace });
const ended = new Map<string, (phase: string) => void>();
const stop = new AbortController();
const watching = (async () => {
  for await (const event of kube.watch<DRPlanExecution>(type, {
    namespace,
    resourceVersion: metadata.resourceVersion,
    signal: stop.signal,
  })) {
    if (event.type === 'BOOKMARK' || !isTerminalExecution(event.object.status?.phase)) continue;
    ended.get(event.object.metadata.name)?.(event.object.status?.phase ?? '');
  }
})().catch((error: unknown) => {
  if (!stop.signal.aborted) throw error;
});

const times: number[] = [];
const runs = Number(values.runs);
for (let run = 0; run < runs + 3; run += 1) {
  const name = `run-${run}`;
  const done = new Promise<string>((resolve) => ended.set(name, resolve));
  await dr('DRPlanExecution', name, { planRef: 'plan', operationType: 'Execute', rerun: 'Allowed' });
  const begun = performance.now();
  const phase = await done;
  if (phase !== 'Succeeded') throw new Error(`${name} ended ${phase}`);
  // The first ones warm caches and compilers.
  if (run >= 3) times.push(performance.now() - begun);
}
stop.abort();
await watching;
server.close();
await kube.delete({ apiVersion: 'v1', kind: 'Namespace', name: namespace });

times.sort((a, b) => a - b);
const at = (share: number): string =>
  (times[Math.min(times.length - 1, Math.floor(times.length * share))] ?? 0).toFixed(0);
console.log(
  `${values.shape}, ${runs} runs one at a time, ms: min ${at(0)}, median ${at(0.5)}, p90 ${at(0.9)}, max ${at(1)}`,
);
