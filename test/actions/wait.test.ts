import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createWaitHandler } from '../../activities/actions/wait/wait.js';
import { createWatchPool } from '../../kube/watch-pool.js';
import type { WaitAction } from '../../api/plan/types.js';
import type { KubeObject } from '../../kube/object.js';
import { openBench, startLife } from '../support/attempts.js';
import type { Bench } from '../support/attempts.js';
import { servers } from '../support/servers.js';

const waitHandler = createWaitHandler(createWatchPool());

let bench: Bench;
beforeAll(async () => {
  bench = await openBench(servers.kubeconfig);
});
afterAll(() => bench.close());

const key = (name: string) => ({ apiVersion: 'v1', kind: 'ConfigMap', namespace: bench.namespace, name });
const write = (name: string, data: Record<string, string>): Promise<KubeObject> =>
  bench.kube.create({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name, namespace: bench.namespace },
    data,
  });
const patch = (name: string, data: Record<string, string>) =>
  bench.kube.patch(key(name), { data }, { kind: 'merge' });

const wait = (name: string, rest: Partial<WaitAction>, timeoutMs = 20_000) =>
  startLife(
    bench,
    waitHandler,
    {
      type: 'Wait',
      wait: { for: { apiVersion: 'v1', kind: 'ConfigMap', name: '{{ .params.name }}' }, ...rest },
    },
    { timeoutMs, params: { name, ready: 'yes' } },
  );
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

describe('a wait for an object', () => {
  it('goes on when the condition holds: the object comes, changes, and goes [S3.55]', async () => {
    const appears = wait('one', { condition: 'object.data.state == "ready"' }).run();
    await pause(200);
    await write('one', { state: 'starting' });
    await pause(200);
    await patch('one', { state: 'ready' });
    expect(await appears).toMatchObject({
      kind: 'succeeded',
      message: `ConfigMap ${bench.namespace}/one: object.data.state == "ready"`,
    });
    const goes = wait('one', { condition: 'object == null' }).run();
    await pause(200);
    await bench.kube.delete(key('one'));
    expect(await goes).toMatchObject({ kind: 'succeeded' });
  });

  it('compares what a path finds', async () => {
    await write('two', { state: 'no' });
    const waiting = wait('two', { jsonPath: '{.data.state}', value: '{{ .params.ready }}' }).run();
    await pause(200);
    await patch('two', { state: 'yes' });
    expect(await waiting).toMatchObject({ kind: 'succeeded' });
  });

  it('fails when the time is up, without another attempt, and says what it saw', async () => {
    await write('three', { state: 'no' });
    expect(await wait('three', { jsonPath: '.data.state', value: 'yes' }, 1000).run()).toMatchObject({
      kind: 'failed',
      reason: 'Timeout',
      message: `ConfigMap ${bench.namespace}/three was not as it should be within 1s: .data.state is "yes" (it is "no")`,
      effect: 'None',
    });
    expect(await wait('four', { condition: 'object.data.x == "1"' }, 1000).run()).toMatchObject({
      kind: 'failed',
      reason: 'Timeout',
      message: expect.stringContaining('(it is not there; '),
    });
  });

  it('stops at once with a cancel', async () => {
    const controller = new AbortController();
    const life = wait('five', { condition: 'object != null' });
    const running = waitHandler.run(life.attempt({ signal: controller.signal }));
    await pause(500);
    const asked = Date.now();
    controller.abort('cancelled');
    expect(await running).toMatchObject({ kind: 'interrupted', effect: 'None' });
    expect(Date.now() - asked).toBeLessThan(10_000);
  });
});
