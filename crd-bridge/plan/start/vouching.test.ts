import { describe, expect, it } from 'vitest';
import { runWorkflowId } from '../../../api/plan/naming.js';
import type { RunIdentity, RunInput } from '../../../workflows/plan/contract.js';
import { createReplica } from '../testing/replicas.js';
import { createWorld, NAMESPACE, populate } from '../testing/world.js';
import { sealBytes, sealInput } from './seal-input.js';
import { createBridgeVouching } from './vouching.js';

const RUN: RunIdentity = {
  cluster: 'c0ffee00',
  namespace: NAMESPACE,
  name: 'e',
  uid: 'execution-uid',
  plan: { name: 'p', namespace: NAMESPACE, uid: 'plan-uid' },
  operation: 'Execute',
  runMode: 'Planned',
  snapshot: { name: 's', namespace: NAMESPACE, digest: 'd', parts: 1 },
};
const ID = runWorkflowId(RUN);

/** A bridge that knows a run which a release without seals has begun, asked by some workflow. */
function asked(
  caller: { workflowId: string; runId: string } | undefined,
  more: { acceptUnsealedUntil?: Date; parent?: { workflowId: string; runId: string } } = {},
) {
  const world = createWorld();
  populate(world);
  const temporal = { workflowId: ID, runId: 'recorded' };
  world.put({ ...world.execution(), status: { phase: 'Running', temporal } });
  const { deps } = createReplica(world);
  return createBridgeVouching({
    ...deps,
    ...more,
    runs: {
      ...deps.runs,
      origins: {
        ...deps.runs.origins,
        of: ({ runId }) =>
          Promise.resolve({ firstRunId: runId, ...(more.parent !== undefined && { parent: more.parent }) }),
      },
    },
    caller: () => caller,
    show: () => Promise.resolve(),
  });
}

describe('[F17] a run without seals', () => {
  it('is known to the bridge by the run id that the status has', async () => {
    const known = asked({ workflowId: ID, runId: 'recorded' });
    await expect(known.run(RUN)).resolves.toBeUndefined();
    const parent = { workflowId: ID, runId: 'recorded' };
    const stage = asked({ workflowId: `${ID}/s0`, runId: 'stage' }, { parent });
    await expect(stage.run(RUN, 0)).resolves.toBeUndefined();
  });

  it.each([
    ['of another run id', { workflowId: ID, runId: 'other' }, undefined],
    ['of another workflow', { workflowId: 'forged', runId: 'recorded' }, undefined],
    [
      'that is a stage of another run',
      { workflowId: `${ID}/s0`, runId: 'x' },
      { workflowId: ID, runId: 'y' },
    ],
    ['that is a stage of nobody', { workflowId: `${ID}/s0`, runId: 'x' }, undefined],
    ['that no workflow speaks for', undefined, undefined],
  ])('%s is refused, and may try again', async (_, caller, parent) => {
    const acceptUnsealedUntil = new Date('2999-01-01');
    const vouching = asked(caller, { acceptUnsealedUntil, ...(parent !== undefined && { parent }) });
    await expect(vouching.run(RUN)).rejects.toMatchObject({ type: 'NotSealed', nonRetryable: false });
  });

  it('may end without its execution only while the installation says so', async () => {
    const gone = { ...RUN, uid: 'gone' };
    const caller = { workflowId: 'any', runId: 'any' };
    await expect(asked(caller).run(gone)).rejects.toMatchObject({ type: 'NotSealed' });
    const past = asked(caller, { acceptUnsealedUntil: new Date(Date.now() - 1) });
    await expect(past.run(gone)).rejects.toMatchObject({ type: 'NotSealed' });
    const soon = asked(caller, { acceptUnsealedUntil: new Date(Date.now() + 60_000) });
    await expect(soon.run(gone)).resolves.toBeUndefined();
  });
});

describe('[F17] what a stage had begun', () => {
  it('is told to its run, and to the workflow that settles it, and to no other', () => {
    const tells = (asking: string | undefined, stage = `${ID}/s0`) =>
      asked(asking === undefined ? undefined : { workflowId: asking, runId: 'r' }).ownsStage(stage);
    expect(tells(ID)).toBe(true);
    expect(tells(`${ID}/s0/settle`)).toBe(true);
    expect(tells(`${ID}/s1/settle`)).toBe(false);
    expect(tells('another')).toBe(false);
    expect(tells(undefined)).toBe(false);
  });
});

describe('[F17] the input of a run', () => {
  const input: RunInput = {
    run: RUN,
    startDeadline: '2026-11-29T10:00:00Z',
    failurePolicy: 'Stop',
    onFailure: 'Rollback',
    maxConcurrentStages: 1,
    stages: [],
    undo: [
      {
        index: 0,
        name: 's',
        status: { name: 's', phase: 'Pending' },
        steps: [
          {
            at: { stage: 0, workflow: 0, action: 0 },
            input: {
              name: 'a',
              type: 'Subscription',
              dependsOn: [],
              timeoutMs: 1,
              retry: { limit: 0, intervalMs: 1, backoffMultiplier: 1, maxIntervalMs: 1 },
              capture: false,
              interruptible: true,
              uses: [],
              body: { action: { name: 'a', type: 'Subscription' }, params: {} },
            },
            forward: {
              name: 'a',
              phase: 'Succeeded',
              clusterStatuses: [{ cluster: 'ns/east', clusterID: 'id', phase: 'Succeeded' }],
            },
            outputs: {},
          },
        ],
      },
    ],
    mirror: { debounceMs: 1, intervalMs: 1 },
    bounds: { undoStepMs: 1, settleMs: 1, pauseReminderMs: 1 },
    searchAttributes: false,
  };
  const sealed = sealInput(input, ID, createReplica(createWorld()).deps.sealer);

  it('says whether the run rolls back, where it may act, and what it is given to do', () => {
    expect(sealed.run).toMatchObject({ ...RUN, workflowId: ID, rollsBack: true });
    expect(sealed.run.inputDigest).toMatch(/^[0-9a-f]{64}$/);
    const { workflowId: _, inputDigest: __, rollsBack: ___, seal: ____, ...identity } = sealed.run;
    expect(identity).toEqual(RUN);
  });

  it('is no larger with its seals than it was taken for', () => {
    const sizeOf = ({ stages, undo }: RunInput): number => JSON.stringify({ stages, undo }).length;
    const grown = sizeOf(sealed) - sizeOf(input);
    expect(grown).toBeGreaterThan(0);
    expect(grown).toBeLessThanOrEqual(sealBytes(input));
  });
});
