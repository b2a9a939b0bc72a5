import { describe, expect, it } from 'vitest';
import { ANNOTATIONS, API_VERSION } from '../../../api/core/group.js';
import { idempotencyKey, nestedExecutionName } from '../../../api/plan/naming.js';
import type { DRPlanExecution, DRPlanExecutionStatus } from '../../../api/plan/types.js';
import type { ActionTask } from '../../../workflows/plan/contract-tasks.js';
import type { NestedState, NestedTask } from '../../../workflows/plan/contract-bridge.js';
import { lookAtInverse } from './inverse.js';
import type { NestedObjects } from './objects.js';

const AT = { stage: 0, workflow: 0, action: 0 };
const TARGET = { name: 'run', uid: 'run-uid' };
const REVERT = { name: 'revert', uid: 'revert-uid' };

/** Names under which the executions of a round are looked for. */
function named(run: { name: string; uid: string }, direction: 'forward' | 'undo', round: number) {
  const key = idempotencyKey({ uid: run.uid, at: AT, direction, round });
  return { name: nestedExecutionName({ executionName: run.name, actionName: 'sub', key }), key };
}

function execution(
  of: { name: string; uid: string },
  direction: 'forward' | 'undo',
  status: Partial<DRPlanExecutionStatus>,
  { round = 0, owner = of.uid }: { round?: number; owner?: string } = {},
): DRPlanExecution {
  const { name, key } = named(of, direction, round);
  return {
    apiVersion: API_VERSION,
    kind: 'DRPlanExecution',
    metadata: {
      name,
      namespace: 'ns',
      uid: `uid of ${name}`,
      annotations: { [ANNOTATIONS.key]: key },
      ownerReferences: [{ apiVersion: API_VERSION, kind: 'DRPlanExecution', name: of.name, uid: owner }],
    },
    spec: { planRef: 'inner', operationType: direction === 'undo' ? 'Revert' : 'Execute' },
    status: status,
  };
}

const DONE: Partial<DRPlanExecutionStatus> = {
  phase: 'Succeeded',
  stageStatuses: [
    {
      name: 's',
      phase: 'Succeeded',
      workflowExecutions: [
        {
          workflowRef: { name: 'w' },
          phase: 'Succeeded',
          actionStatuses: [{ name: 'a', phase: 'Succeeded' }],
        },
      ],
    },
  ],
};

/** Looks once, in a world where these executions are. */
async function look(
  there: DRPlanExecution[],
  {
    forward = {},
    ...more
  }: Partial<Omit<NestedTask, 'task'>> & { forward?: Partial<NonNullable<ActionTask['forward']>> } = {},
): Promise<{ state: NestedState; did: string[] }> {
  const did: string[] = [];
  const objects: NestedObjects = {
    find: (_, name) => Promise.resolve(there.find(({ metadata }) => metadata.name === name)),
    create: (_, { name, spec }) => {
      did.push(`create ${spec.operationType} of ${spec.revertExecutionRef ?? ''} by ${spec.runMode ?? ''}`);
      const made = { metadata: { name, namespace: 'ns', uid: 'made' }, spec };
      return Promise.resolve(made as DRPlanExecution);
    },
    cancel: (_, { metadata }, { force }) => {
      did.push(`cancel ${metadata.name}${force ? ' by force' : ''}`);
      return Promise.resolve();
    },
    isOpen: () => Promise.resolve(false),
    remembered: () => Promise.resolve(undefined),
  };
  const task = {
    run: { namespace: 'ns', ...REVERT, operation: 'Revert', target: TARGET, runMode: 'Emergency' },
    at: AT,
    direction: 'undo',
    name: 'sub',
    round: 0,
    forward: { phase: 'Succeeded', round: 0, ...forward },
  } as unknown as ActionTask;
  return { state: await lookAtInverse(objects, { task, ...more }), did };
}

const child = execution(TARGET, 'forward', DONE);
const own = (status: Partial<DRPlanExecutionStatus>): DRPlanExecution => execution(REVERT, 'undo', status);
const recorded = (name: string) => ({ outputs: { planExecutionRef: { name } } }) as never;

describe('the undo of a nested plan', () => {
  it('makes a Revert of what the target has made, in the manner of the whole, and waits for it', async () => {
    const { state, did } = await look([child]);
    expect(did).toEqual([`create Revert of ${child.metadata.name} by Emergency`]);
    expect(state).toMatchObject({ kind: 'waiting', ref: { name: named(REVERT, 'undo', 0).name } });
    expect(await look([child, own({ phase: 'Running' })])).toMatchObject({
      state: { kind: 'waiting', ref: { phase: 'Running' } },
      did: [],
    });
  });

  it('has succeeded with its Revert', async () => {
    const revert = own({ phase: 'Succeeded' });
    expect((await look([child, revert])).state).toMatchObject({
      kind: 'ended',
      outcome: { phase: 'Succeeded', outputs: { planExecutionRef: { name: revert.metadata.name } } },
    });
  });

  it('ends what still runs before it undoes it, by force where that is asked for', async () => {
    const running = execution(TARGET, 'forward', { ...DONE, phase: 'Running' });
    expect(await look([running])).toMatchObject({
      state: { kind: 'waiting' },
      did: [`cancel ${running.metadata.name}`],
    });
    expect((await look([running], { stop: true, force: true })).did).toEqual([
      `cancel ${running.metadata.name} by force`,
    ]);
  });

  it('says that part of it was not undone, and which', async () => {
    const conditions = [
      { type: 'FullyReverted', status: 'False', reason: 'Left', message: 'not undone: 0/0/1' },
    ];
    const partly = own({ phase: 'Succeeded', conditions: conditions as never });
    const { state } = await look([child, partly]);
    expect(state).toMatchObject({ outcome: { phase: 'Skipped', reason: 'NotFullyReverted' } });
    expect(JSON.stringify(state)).toContain('not undone: 0/0/1');
  });

  it('fails with its Revert, and says why and where to look', async () => {
    const { state } = await look([child, own({ phase: 'Failed', reason: 'UndoFailed', message: 'no way' })]);
    expect(state).toMatchObject({ outcome: { phase: 'Failed', reason: 'UndoFailed', effect: 'Unknown' } });
    expect(JSON.stringify(state)).toMatch(/ended Failed: UndoFailed: no way; see: drover describe/);
  });

  it('takes what somebody else has undone for undone', async () => {
    const by = execution(TARGET, 'forward', { ...DONE, revertedBy: { name: 'theirs', uid: 'x' } });
    const already = { kind: 'ended', outcome: { phase: 'Skipped', reason: 'AlreadyUndone' } };
    expect(await look([by])).toMatchObject({ state: already, did: [] });
    const raced = own({ phase: 'Failed', reason: 'AlreadyReverted', message: 'by theirs' });
    expect((await look([child, raced])).state).toMatchObject(already);
  });

  it('does nothing where nothing was done', async () => {
    const nothing = { kind: 'ended', outcome: { phase: 'Skipped', reason: 'NothingToUndo' } };
    expect(await look([])).toMatchObject({ state: nothing, did: [] });
    const idle = execution(TARGET, 'forward', { phase: 'Failed', stageStatuses: [] });
    expect(await look([idle])).toMatchObject({ state: nothing, did: [] });
    const raced = own({ phase: 'Failed', reason: 'NothingToUndo' });
    expect((await look([child, raced])).state).toMatchObject(nothing);
    // What was undone by an earlier rollback of its own does not count.
    const undone = execution(TARGET, 'forward', { ...DONE, phase: 'Failed', undone: ['0/0/0'] });
    expect(await look([undone])).toMatchObject({ state: nothing, did: [] });
  });

  it('says so when the execution is not there any more', async () => {
    const gone = { kind: 'ended', outcome: { phase: 'Skipped', reason: 'ExecutionGone' } };
    expect((await look([], { forward: recorded(child.metadata.name) })).state).toMatchObject(gone);
    expect((await look([], { forward: { effect: 'Done' } as never })).state).toMatchObject(gone);
  });

  it('undoes every round, the newest first, and one that nobody had recorded yet', async () => {
    const [first, second] = [0, 1].map((round) => execution(TARGET, 'forward', DONE, { round }));
    if (first === undefined || second === undefined) throw new Error('no rounds');
    expect((await look([first, second])).did).toEqual([
      `create Revert of ${second.metadata.name} by Emergency`,
    ]);
    const done = execution(REVERT, 'undo', { phase: 'Succeeded' }, { round: 1 });
    expect((await look([first, second, done])).did).toEqual([
      `create Revert of ${first.metadata.name} by Emergency`,
    ]);
    const both = await look([first, second, done, own({ phase: 'Succeeded' })]);
    expect(both.state).toMatchObject({ outcome: { phase: 'Succeeded' } });
    expect(JSON.stringify(both.state)).toContain(second.metadata.name);
    expect(JSON.stringify(both.state)).toContain(first.metadata.name);
  });

  it('leaves alone what has the name but was made by somebody else', async () => {
    const theirs = execution(TARGET, 'forward', DONE, { owner: 'other' });
    expect(await look([theirs])).toMatchObject({
      state: { outcome: { phase: 'Skipped', reason: 'NothingToUndo' } },
      did: [],
    });
    const taken = execution(REVERT, 'undo', { phase: 'Succeeded' }, { owner: 'other' });
    expect(await look([child, taken])).toMatchObject({
      state: { outcome: { phase: 'Failed', reason: 'NameTaken' } },
      did: [],
    });
  });

  it('that is to stop makes nothing new, and cancels its Revert', async () => {
    expect(await look([child], { stop: true })).toMatchObject({
      state: { outcome: { phase: 'Failed', reason: 'Cancelled' } },
      did: [],
    });
    const revert = own({ phase: 'Running' });
    expect(await look([child, revert], { stop: true })).toMatchObject({
      state: { kind: 'waiting' },
      did: [`cancel ${revert.metadata.name}`],
    });
  });
});
