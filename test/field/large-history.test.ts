/** A stage whose history is as large as Temporal lets it become: whoever has to read it does so in fixed memory. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { canMeasure, resetPeak, usageOf } from '../../bench/lib/processes.js';
import { historyPages } from '../../client/runs/history-pages.js';
import { readStage } from '../../client/runs/stage-history.js';
import { stageWorkflowId } from '../../workflows/plan/contract.js';
import { readEndpoints } from '../../local/endpoints.js';
import { dataPaths } from '../../local/paths.js';
import { servers } from '../support/servers.js';
import { actionAt, openStack } from '../support/stack.js';
import type { Stack } from '../support/stack.js';

const MIB = 1024 * 1024;
const SIGNALS = 45;

let stack: Stack;
beforeAll(async () => {
  stack = await openStack('history');
});
afterAll(() => stack.close());

/** Bridge and worker as they are now: other tests may have started them anew. */
async function programs(): Promise<{ bridge: number; worker: number }> {
  const { bridge, worker } = (await readEndpoints(dataPaths(servers.dataDir).endpoints))?.pids ?? {};
  if (typeof bridge !== 'number' || typeof worker !== 'number') throw new Error('bridge and worker must run');
  return { bridge, worker };
}

it(
  '[F4] is ended and reverted although one of its stages has 45 MB of history, and the bridge hardly grows [S5.41] [S6.16]',
  { tags: ['nightly'] },
  async () => {
    const { bridge, worker } = await programs();
    const manifest = `{apiVersion: v1, kind: ConfigMap, metadata: {name: made}}`;
    await stack.simplePlan('long', [
      { name: 'made', type: 'KubernetesResource', resource: { operation: 'Create', manifest } },
      { name: 'wait', type: 'Wait', wait: { duration: '1h' } },
    ]);
    const execution = await stack.execute('long');
    const waiting = await stack.until(execution, (now) => actionAt(now, 0, 0, 1)?.phase === 'Running');
    const workflowId = stageWorkflowId(waiting.status?.temporal?.workflowId ?? '', 0);
    const stage = stack.temporal.workflow.getHandle(workflowId);
    // What the worker does not take up costs it nothing.
    process.kill(worker, 'SIGSTOP');
    let before: Awaited<ReturnType<typeof usageOf>> | undefined;
    try {
      const padding = 'x'.repeat(MIB);
      for (let count = 0; count < SIGNALS; count += 1) await stage.signal('nobody-listens', padding);
      const { historySize = 0 } = await stage.describe();
      expect(historySize).toBeGreaterThan(SIGNALS * MIB);
      if (canMeasure) await resetPeak(bridge);
      before = canMeasure ? await usageOf(bridge) : undefined;
      await stage.terminate('a test');
    } finally {
      process.kill(worker, 'SIGCONT');
    }
    const ended = await stack.ended(execution);
    expect(ended.status).toMatchObject({ phase: 'Failed' });
    expect(actionAt(ended, 0, 0, 1)).toMatchObject({ phase: 'Failed', reason: 'Interrupted' });
    expect(await readStage(stack.temporal, { workflowId })).toMatchObject({
      begun: [{ workflow: 0, action: 0 }],
      ended: [{ workflow: 0, action: 0, outcome: { phase: 'Succeeded' } }],
      unfinished: { actions: [], plans: [] },
    });
    let [pages, largest] = [0, 0];
    for await (const events of historyPages(stack.temporal, { workflowId, newestFirst: true })) {
      const inputs = events.map(
        (event) => event.workflowExecutionSignaledEventAttributes?.input?.payloads?.[0],
      );
      const bytes = inputs.reduce((sum, payload) => sum + (payload?.data?.length ?? 0), 0);
      [pages, largest] = [pages + 1, Math.max(largest, bytes)];
    }
    expect(pages).toBeGreaterThan(SIGNALS / 4);
    expect(largest).toBeLessThan(5 * MIB);
    const reverted = await stack.ended(await stack.revert(ended));
    expect(reverted.status, reverted.status?.message).toMatchObject({ phase: 'Succeeded' });
    if (before === undefined) return;
    const { peakMiB = 0 } = (await usageOf(bridge)) ?? {};
    // What was read is taken back after some tens of MB, however much more comes.
    expect(peakMiB - before.rssMiB).toBeLessThan(100);
  },
);
