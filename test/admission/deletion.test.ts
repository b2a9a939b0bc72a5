/** What somebody still needs cannot be deleted by mistake, and a namespace can always go. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { API_VERSION } from '../../api/core/group.js';
import type { Kind } from '../../api/core/group.js';
import { startRecorder } from '../support/recorder.js';
import type { Recorder } from '../support/recorder.js';
import { http, openStack, poll, unique } from '../support/stack.js';
import type { Stack } from '../support/stack.js';

let stack: Stack;
let other: Stack;
let recorder: Recorder;
beforeAll(async () => {
  [stack, other, recorder] = await Promise.all([openStack('del'), openStack('del-other'), startRecorder()]);
});
afterAll(async () => {
  await recorder.close();
  await Promise.all([stack.close(), other.close()]);
});

const remove = (from: Stack, kind: Kind, name: string): Promise<boolean> =>
  from.kube.delete({ apiVersion: API_VERSION, kind, namespace: from.namespace, name });

it('a workflow stays while a plan uses it, from another namespace too [S5.37]', async () => {
  const name = unique('used');
  await stack.workflow(name, { actions: [http('a', `${recorder.url}/${name}`)] });
  const workflows = [{ workflowRef: { name, namespace: stack.namespace } }];
  await other.plan(name, { stages: [{ name: 's', workflows }] });
  await expect(remove(stack, 'DRWorkflow', name)).rejects.toThrow(
    `DRWorkflow "${stack.namespace}/${name}" is used by DRPlan "${other.namespace}/${name}"`,
  );
  await remove(other, 'DRPlan', name);
  // At once: what the bridge has not heard yet is looked up.
  expect(await remove(stack, 'DRWorkflow', name)).toBe(true);
});

it('a plan stays while somebody runs on it [S5.37]', async () => {
  const name = unique('runs');
  await stack.simplePlan(name, [http('a', `${recorder.url}/${name}?delay=1500`)]);
  const execution = await stack.execute(name);
  await stack.until(execution, (now) => now.status?.phase === 'Running');
  await expect(remove(stack, 'DRPlan', name)).rejects.toThrow(
    `DRPlan "${stack.namespace}/${name}" is in use: execution "${execution.metadata.name}" is Running`,
  );
  await stack.ended(execution);
  expect(await remove(stack, 'DRPlan', name)).toBe(true);
});

it('a namespace goes with everything that is in use in it, and with its running executions [S5.38]', async () => {
  const going = await openStack('going');
  const name = unique('gone');
  await going.simplePlan(name, [http('a', `${recorder.url}/${name}?delay=30000`)]);
  const execution = await going.execute(name);
  await going.until(execution, (now) => now.status?.phase === 'Running');
  await going.close();
  const gone = await poll(
    () => stack.kube.get({ apiVersion: 'v1', kind: 'Namespace', name: going.namespace }),
    (namespace) => namespace === undefined,
  );
  expect(gone).toBeUndefined();
});
