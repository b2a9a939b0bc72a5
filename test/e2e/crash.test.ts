/**
 * Bridge, worker and API server are killed while a run is under way. The endpoint outside counts what reached it: every action's
 * effect exactly once, by its key.
 */
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { DRPlanExecution } from '../../api/plan/types.js';
import { heal, kill, mend } from '../support/parts.js';
import { startRecorder } from '../support/recorder.js';
import type { Recorder } from '../support/recorder.js';
import { http, openStack, poll } from '../support/stack.js';
import type { Stack } from '../support/stack.js';

let stack: Stack;
/** Where nobody is needed to let an execution in. */
let unreviewed: Stack;
let recorder: Recorder;
beforeAll(async () => {
  [stack, unreviewed, recorder] = await Promise.all([
    openStack('crash'),
    openStack('crash-unreviewed', { admission: 'disabled' }),
    startRecorder(),
  ]);
});
afterEach(mend);
afterAll(async () => {
  await recorder.close();
  await Promise.all([stack.close(), unreviewed.close()]);
});

/** Nine actions in three stages, each of which takes a while. */
async function nine(name: string, delayMs: number): Promise<DRPlanExecution> {
  for (const stage of [1, 2, 3]) {
    await stack.workflow(`${name}-${stage}`, {
      actions: [1, 2, 3].map((action) =>
        http(`a${action}`, `${recorder.url}/${name}/s${stage}a${action}?delay=${delayMs}`),
      ),
    });
  }
  await stack.plan(name, {
    stages: [1, 2, 3].map((stage) => ({
      name: `s${stage}`,
      workflows: [{ workflowRef: { name: `${name}-${stage}` } }],
    })),
  });
  return stack.execute(name);
}

function expectOnce(name: string): void {
  for (const stage of [1, 2, 3]) {
    for (const action of [1, 2, 3])
      expect(recorder.effects(`/${name}/s${stage}a${action}`), `s${stage}a${action}`).toBe(1);
  }
}

describe('a run', () => {
  it('goes on while the bridge is away, and status catches up [S5.53]', async () => {
    const execution = await nine('bridge', 400);
    await poll(
      () => Promise.resolve(recorder.requests.length),
      (count) => count >= 2,
    );
    await kill('bridge');
    await poll(
      () => Promise.resolve(recorder.of('/bridge/s3a3').length),
      (count) => count >= 1,
    );
    await heal();
    const ended = await stack.ended(execution);
    expect(ended.status?.phase).toBe('Succeeded');
    expect(ended.status?.summary).toMatchObject({ completedStages: 3, completedWorkflows: 3 });
    expectOnce('bridge');
  });

  it('goes on while the API server is away, and status catches up [S5.53]', async () => {
    const execution = await nine('hub', 400);
    await poll(
      () => Promise.resolve(recorder.of('/hub/s1a2').length),
      (count) => count >= 1,
    );
    await kill('apiserver');
    await poll(
      () => Promise.resolve(recorder.of('/hub/s2a1').length),
      (count) => count >= 1,
    );
    await heal();
    const ended = await stack.ended(execution);
    expect(ended.status?.phase).toBe('Succeeded');
    expect(ended.status?.summary).toMatchObject({ completedStages: 3, completedWorkflows: 3 });
    expectOnce('hub');
    expect((await stack.getPlan('hub')).status).toMatchObject({ phase: 'Executed' });
  });

  it(
    'of a nested plan is made once and waited for while the bridge is killed',
    { tags: ['nightly'] },
    async () => {
      await stack.simplePlan('crash-inner', [
        http('slow', `${recorder.url}/crash-inner?delay=4000`),
        http('last', `${recorder.url}/crash-inner-last`),
      ]);
      await stack.simplePlan('crash-outer', [
        { name: 'inner', type: 'Plan', plan: { name: 'crash-inner' } },
        http('after', `${recorder.url}/crash-outer-after`),
      ]);
      const execution = await stack.execute('crash-outer');
      await poll(
        () => Promise.resolve(recorder.of('/crash-inner').length),
        (count) => count >= 1,
      );
      await kill('bridge');
      await poll(
        () => Promise.resolve(recorder.of('/crash-inner-last').length),
        (count) => count >= 1,
      );
      await heal();
      expect((await stack.ended(execution)).status?.phase).toBe('Succeeded');
      expect((await stack.getPlan('crash-inner')).status?.executionHistory).toHaveLength(1);
      for (const path of ['/crash-inner', '/crash-inner-last', '/crash-outer-after'])
        expect(recorder.effects(path), path).toBe(1);
    },
  );

  it('created while the bridge is away starts when it is back [S5.53]', { tags: ['nightly'] }, async () => {
    await unreviewed.simplePlan('later', [http('a', `${recorder.url}/later`)]);
    await kill('bridge');
    const execution = await unreviewed.execute('later');
    await heal();
    expect((await unreviewed.ended(execution)).status?.phase).toBe('Succeeded');
    expect(recorder.of('/later')).toHaveLength(1);
  });

  it('goes on where it was when the worker is killed, and repeats nothing that was done [S5.53]', async () => {
    const execution = await nine('worker', 700);
    await poll(
      () => Promise.resolve(recorder.of('/worker/s2a1').length),
      (count) => count >= 1,
    );
    await kill('worker');
    await heal();
    const ended = await stack.ended(execution);
    expect(ended.status?.phase).toBe('Succeeded');
    expectOnce('worker');
    // Only the call in flight may have been sent again, with its key.
    expect(
      recorder.requests.filter((request) => request.path.startsWith('/worker/')).length,
    ).toBeLessThanOrEqual(10);
  });

  it(
    'survives kills of bridge and worker at ten random moments [S5.53]',
    { tags: ['nightly'], timeout: 240_000 },
    async () => {
      const execution = await nine('chaos', 300);
      for (let round = 0; round < 10; round += 1) {
        await new Promise((resolve) => setTimeout(resolve, Math.random() * 1500));
        await kill(
          ...(round % 3 === 0
            ? (['bridge', 'worker'] as const)
            : round % 3 === 1
              ? (['worker'] as const)
              : (['bridge'] as const)),
        );
        await heal();
      }
      const ended = await stack.ended(execution, 90_000);
      expect(ended.status?.phase).toBe('Succeeded');
      expectOnce('chaos');
      expect((await stack.getPlan('chaos')).status?.currentExecution).toBeUndefined();
    },
  );
});
