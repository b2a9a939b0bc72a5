import { MockActivityEnvironment } from '@temporalio/testing';
import { describe, expect, it } from 'vitest';
import type { ActionTask } from '../../workflows/plan/contract-tasks.js';
import { sealedBody, sealedRun } from '../../workflows/plan/sealed.js';
import { ownSealer } from './testing/own-sealer.js';
import { createVouching } from './vouching.js';
import type { Vouching } from './vouching.js';

const sealer = ownSealer();
const AT = { stage: 0, workflow: 0, action: 0 };

function taskOf(sealedBy = sealer): ActionTask {
  const body = { action: { name: 'a', type: 'HTTP' as const }, params: {} };
  const run = {
    cluster: 'c',
    namespace: 'ns',
    name: 'e',
    uid: 'u',
    plan: { name: 'p', namespace: 'ns', uid: 'p' },
    operation: 'Execute' as const,
    runMode: 'Planned',
    snapshot: { name: 's', namespace: 'ns', digest: 'd', parts: 1 },
    workflowId: 'run',
    rollsBack: true as const,
  };
  return {
    run: { ...run, seal: sealedBy.seal('run', sealedRun(run)) },
    at: AT,
    direction: 'forward',
    round: 0,
    name: 'a',
    type: 'HTTP',
    timeoutMs: 1,
    retry: { limit: 0, intervalMs: 1, backoffMultiplier: 1, maxIntervalMs: 1 },
    body,
    seals: { body: sealedBy.seal('body', sealedBody({ uid: 'u', at: AT, direction: 'forward', body })) },
    outputs: {},
    phases: {},
  };
}

const unsealed = ({ run: { seal: _, ...run }, seals: __, ...task }: ActionTask): ActionTask => ({
  ...task,
  run,
});

/** Asks from an activity of a workflow. */
const from = (workflowId: string, vouching: Vouching, task: ActionTask): Promise<ActionTask> =>
  new MockActivityEnvironment({ workflowExecution: { workflowId, runId: 'r' } }).run(
    (given: ActionTask) => vouching.task(given),
    task,
  );

const vouching = createVouching({ sealer });

describe('[F17] what a worker does', () => {
  it('is what is sealed, from the run or its stage [S6.20]', async () => {
    for (const id of ['run', 'run/s0', 'run/s0/settle', 'run/r0/settle'])
      expect(await from(id, vouching, taskOf())).toEqual(taskOf());
    await expect(from('run/s1', vouching, taskOf())).rejects.toMatchObject({ name: 'NotVouched' });
  });

  it('around what a run rolls back it does in mode Rollback', async () => {
    expect((await from('run/r0', vouching, taskOf())).run.mode).toBe('Rollback');
  });

  it('waits for a key that it does not know', async () => {
    const task = taskOf(ownSealer(new Date('2020-01-01')));
    await expect(from('run', vouching, task)).rejects.toMatchObject({
      name: 'NotYetVouched',
      reason: 'SealKeyUnknown',
    });
  });

  it('for a run without seals it does only while the installation says so', async () => {
    const old = unsealed(taskOf());
    await expect(from('run', vouching, old)).rejects.toMatchObject({
      name: 'NotYetVouched',
      reason: 'NotSealed',
      message: expect.stringContaining('DROVER_ACCEPT_UNSEALED_UNTIL') as string,
    });
    const until = (ms: number): Vouching =>
      createVouching({ sealer, acceptUnsealedUntil: new Date(Date.now() + ms) });
    await expect(from('run', until(-1), old)).rejects.toMatchObject({ reason: 'NotSealed' });
    expect(await from('anything', until(60_000), old)).toEqual(old);
    // What has a seal is held to it all the same.
    const forged = {
      ...taskOf(),
      name: 'b',
      body: { action: { name: 'b', type: 'HTTP' as const }, params: {} },
    };
    await expect(from('run', until(60_000), forged)).rejects.toMatchObject({ name: 'NotVouched' });
  });

  it('it vouches for: what an action has left behind, and where', () => {
    const outcome = { phase: 'Succeeded', round: 0, retryCount: 0 } as const;
    expect(vouching.outcome(taskOf(), outcome)).toEqual(outcome);
    const created = [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'c', uid: 'c' }];
    const sealed = vouching.outcome(taskOf(), { ...outcome, outputs: { created } });
    expect(sealed).toHaveProperty('seal');
    const target = vouching.cluster(taskOf(), { cluster: 'ns/east', clusterId: 'e' });
    expect(target.seal).toBeDefined();
  });
});
