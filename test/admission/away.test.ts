/** With the bridge killed nothing unchecked comes in, and nobody is kept from deleting, cancelling or writing status. */
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { ANNOTATIONS, API_VERSION } from '../../api/core/group.js';
import type { Kind } from '../../api/core/group.js';
import { findServingBridge } from '../../client/cli/core/serving-bridge.js';
import type { Endpoints } from '../../local/endpoints.js';
import { lookup } from '../../local/index.js';
import { startRecorder } from '../support/recorder.js';
import type { Recorder } from '../support/recorder.js';
import { servers } from '../support/servers.js';
import { http, openStack, poll, unique } from '../support/stack.js';
import type { Stack } from '../support/stack.js';
import { heal, mend } from '../support/parts.js';

let stack: Stack;
let recorder: Recorder;
beforeAll(async () => {
  [stack, recorder] = await Promise.all([openStack('away'), startRecorder()]);
});
afterEach(mend);
afterAll(async () => {
  await recorder.close();
  await stack.close();
});

const key = (kind: Kind, name: string) => ({
  apiVersion: API_VERSION,
  kind,
  namespace: stack.namespace,
  name,
});

it('creates are refused, all else passes, and up heals [S5.56]', async () => {
  const [name, spare] = [unique('away'), unique('spare')];
  await stack.simplePlan(name, [http('a', `${recorder.url}/${name}?delay=4000`)]);
  await stack.simplePlan(spare, [http('a', `${recorder.url}/${spare}`)]);
  const execution = await stack.execute(name);
  await stack.until(execution, (now) => now.status?.phase === 'Running');

  // What an uninstall goes by: its claim to the cluster id is left out of account.
  const serving = (): Promise<string | undefined> => findServingBridge(stack.kube, { claimLivesMs: 0 });
  expect(await serving()).toBe('a bridge answers for the webhooks');
  const { pids } = JSON.parse(await readFile(join(servers.dataDir, 'endpoints.json'), 'utf8')) as Endpoints;
  process.kill(pids.bridge ?? 0, 'SIGKILL');
  expect(await serving()).toBeUndefined();
  const unavailable = /failed calling webhook/;
  await expect(stack.workflow(unique('new'), { actions: [http('a', 'http://x/')] })).rejects.toThrow(
    unavailable,
  );
  await expect(stack.execute(spare)).rejects.toThrow(unavailable);
  const changed = stack.kube.patch(key('DRPlan', spare), { spec: { description: 'x' } }, { kind: 'merge' });
  await expect(changed).rejects.toThrow(unavailable);
  // Nobody forges a stamp in the meantime.
  const forged = { metadata: { annotations: { [ANNOTATIONS.requestedBy]: 'root' } } };
  const executionKey = key('DRPlanExecution', execution.metadata.name);
  await expect(stack.kube.patch(executionKey, forged, { kind: 'merge' })).rejects.toThrow(unavailable);

  await stack.kube.patch(
    key('DRPlan', spare),
    { status: { lastExecutionRef: 'x' } },
    { kind: 'merge', subresource: 'status' },
  );
  await stack.kube.patch(key('DRPlan', spare), { metadata: { labels: { a: 'b' } } }, { kind: 'merge' });
  await stack.kube.patch(
    executionKey,
    { metadata: { annotations: { [ANNOTATIONS.cancel]: 'true' } } },
    { kind: 'merge' },
  );
  expect(await stack.kube.delete(key('DRPlan', spare))).toBe(true);
  expect(await stack.kube.delete(key('DRWorkflow', spare))).toBe(true);

  await heal();
  const ended = await stack.ended(execution);
  expect(['Cancelled', 'Succeeded']).toContain(ended.status?.phase);
  await stack.simplePlan(unique('back'), [http('a', 'http://x/')]);
});

it('a namespace goes even then [S5.56]', { tags: ['nightly'] }, async () => {
  const going = await openStack('away-going');
  await going.simplePlan('p', [http('a', 'http://x/')]);
  const { pids } = JSON.parse(await readFile(join(servers.dataDir, 'endpoints.json'), 'utf8')) as Endpoints;
  process.kill(pids.bridge ?? 0, 'SIGKILL');
  await going.close();
  const gone = await poll(
    () => stack.kube.get({ apiVersion: 'v1', kind: 'Namespace', name: going.namespace }),
    (namespace) => namespace === undefined,
  );
  expect(gone).toBeUndefined();
  await heal();
});

it('kubectl shows the message of a refusal as it is', async () => {
  const { found } = await lookup(['kubectl'], process.env);
  const manifest = JSON.stringify({
    apiVersion: API_VERSION,
    kind: 'DRWorkflow',
    metadata: { name: 'x', namespace: stack.namespace },
    spec: { actions: [{ name: 'a', type: 'HTTP', http: { url: 'http://x/' }, hookType: 'Magic' }] },
  });
  const kubectl = promisify(execFile)(found.kubectl?.path ?? 'kubectl', [
    '--kubeconfig',
    servers.kubeconfig,
    'create',
    '-f',
    '-',
  ]);
  kubectl.child.stdin?.end(manifest);
  const { stderr } = (await kubectl.catch((error: unknown) => error)) as { stderr: string };
  expect(stderr).toContain(
    'The DRWorkflow "x" is invalid: spec.actions[0].hookType: is "Magic"; allowed are pre-install, ',
  );
});
