import { describe, expect, it } from 'vitest';
import type { StageStatus } from '../../../api/plan/types.js';
import type { RunDescription } from '../../../client/runs/runs.js';
import type { SettlementState } from '../../../client/runs/settlements.js';
import type { SettlementInput } from '../../../workflows/plan/contract.js';
import type { Unfinished } from '../../../workflows/plan/contract-bridge.js';
import type { ActionOutcome } from '../../../workflows/plan/contract-tasks.js';
import { createTestSealer } from '../testing/sealer.js';
import { endStages } from './end-stages.js';
import type { EndStagesDeps } from './end-stages.js';

const sealer = createTestSealer();
const FIELDS = { execution: 'ns/e', plan: 'p' };
const CLOSED = Date.parse('2030-01-01T00:00:00Z');
const SECOND = 1000;
const run: RunDescription = {
  workflowId: 'id',
  runId: 'r',
  firstRunId: 'r',
  state: 'Terminated',
  startTime: new Date(0),
  closeTime: new Date(CLOSED),
};
const stage = (phase: string): StageStatus => ({
  name: phase,
  phase,
  workflowExecutions: [{ workflowRef: { name: 'w' }, phase, actionStatuses: [{ name: 'a', phase }] }],
});
const outcome: ActionOutcome = { phase: 'Succeeded', round: 0, retryCount: 0 };
const ended = [{ workflow: 0, action: 0, outcome }];
const begun = [{ workflow: 0, action: 0 }];

/** A Temporal in which workflows end when they are terminated, and settlements are as the test says. */
function temporal(workflows: Record<string, Partial<RunDescription>>, unfinished: Partial<Unfinished> = {}) {
  const world = {
    workflows: new Map(Object.entries(workflows)),
    settlement: { kind: 'none' } as SettlementState,
    terminated: [] as string[],
    started: [] as SettlementInput[],
  };
  const silent = (): void => undefined;
  const deps: EndStagesDeps = {
    cluster: 'c',
    sealer,
    bounds: { undoStepMs: 1, settleMs: 1, pauseReminderMs: 1 },
    taskWaitMs: 30_000,
    log: { debug: silent, info: silent, warn: silent, error: silent },
    runs: {
      describeChild: (_run, workflowId) => {
        const found = world.workflows.get(workflowId);
        return Promise.resolve(found && { ...run, closeTime: undefined as never, ...found, workflowId });
      },
      stageResult: () => Promise.resolve({ status: stage('Succeeded') }),
      terminate: (workflowId) => {
        world.terminated.push(workflowId);
        world.workflows.set(workflowId, { state: 'Terminated' });
        return Promise.resolve('accepted');
      },
      told: () => Promise.resolve({ begun, ended }),
      unfinished: () => Promise.resolve({ actions: [], plans: [], ...unfinished }),
      settlements: {
        look: () => Promise.resolve(world.settlement),
        start: (input, { replaces = false } = {}) => {
          world.started.push({ ...input, ...(replaces && { replaces }) });
          return Promise.resolve();
        },
      },
    },
  };
  const look = (seconds: number, stages = [stage('Running')]) =>
    endStages(deps, run, { operation: 'Execute', stages, fields: FIELDS }, CLOSED + seconds * SECOND);
  return { world, look };
}

/** Something that the stage had begun and not ended. */
const ACTION = {} as Unfinished['actions'][number];

describe('stages of a run that was ended from outside', () => {
  it('may cancel themselves for two minutes, and are ended then [S5.59]', async () => {
    const { world, look } = temporal({ 'id/s0': { state: 'Running' } });
    expect(await look(119)).toEqual({ kind: 'acting', message: 'stages that still act: id/s0' });
    expect(world.terminated).toEqual([]);
    expect(await look(120)).toMatchObject({ kind: 'acting' });
    expect(world.terminated).toEqual(['id/s0']);
    expect(await look(122)).toMatchObject({ kind: 'over', stages: [{ index: 0, interrupted: true }] });
  });

  it.each([
    ['their code cannot go on', { failing: { workflowId: 'id/s0', since: new Date(CLOSED), message: 'x' } }],
    ['nobody runs them', { waiting: { what: 'workflow' as const, since: new Date(CLOSED - 30 * SECOND) } }],
  ])('are ended at once where %s', async (_, state) => {
    const { world, look } = temporal({ 'id/s0': { state: 'Running', ...state } });
    await look(0);
    expect(world.terminated).toEqual(['id/s0']);
  });

  it('that wait for a slot are not ended', async () => {
    const waiting = { what: 'activity' as const, since: new Date(CLOSED - 60 * SECOND) };
    const { world, look } = temporal({ 'id/s0': { state: 'Running', waiting } });
    await look(0);
    expect(world.terminated).toEqual([]);
  });

  it('need no settling where nothing was left half done: their histories tell the rest', async () => {
    const { world, look } = temporal({ 'id/s0': { state: 'Terminated' } });
    const found = await look(0);
    expect(world.started).toEqual([]);
    expect(found).toMatchObject({
      kind: 'over',
      unsettled: [],
      stages: [
        { index: 0, interrupted: true, begun, ended, status: { phase: 'Failed', reason: 'Interrupted' } },
      ],
    });
  });

  it('are settled once, and the run is not over before that [S5.59]', async () => {
    const { world, look } = temporal({ 'id/s0': { state: 'Terminated' } }, { actions: [ACTION] });
    expect(await look(0)).toMatchObject({ kind: 'acting' });
    expect(world.started).toMatchObject([{ cluster: 'c', workflowId: 'id/s0' }]);
    world.settlement = { kind: 'open', isAnswered: true, waitsFor: 'pods of Job x' };
    expect(await look(600)).toMatchObject({
      kind: 'acting',
      message: expect.stringContaining('pods of Job x'),
    });
    world.settlement = { kind: 'ended', settled: ended };
    expect(await look(601)).toMatchObject({ kind: 'over', stages: [{ settled: ended }], unsettled: [] });
    expect(world.started).toHaveLength(1);
  });

  it('are settled in place of what somebody else has put under the id of the settlement [F17]', async () => {
    const { world, look } = temporal({ 'id/s0': { state: 'Terminated' } }, { actions: [ACTION] });
    world.settlement = { kind: 'foreign' };
    expect(await look(0)).toMatchObject({ kind: 'acting' });
    expect(world.started).toMatchObject([{ workflowId: 'id/s0', runId: 'r', replaces: true }]);
  });

  it('that no worker settles within 30 s are not waited for, and that is said [S5.59]', async () => {
    const { world, look } = temporal({ 'id/s0': { state: 'Terminated' } }, { plans: [ACTION] });
    const waiting = { what: 'workflow' as const, since: new Date(CLOSED) };
    world.settlement = { kind: 'open', isAnswered: false, waiting };
    expect(await look(29)).toMatchObject({ kind: 'acting' });
    expect(await look(30)).toMatchObject({
      kind: 'over',
      stages: [{ index: 0, settled: [] }],
      unsettled: ['no worker settles what "id/s0" had begun'],
    });
    // Workers that are there and full take it in a while.
    world.settlement = { kind: 'open', isAnswered: true, waiting };
    expect(await look(60)).toMatchObject({ kind: 'acting' });
    world.settlement = { kind: 'failed', message: 'no such workflow type' };
    expect(await look(0)).toMatchObject({ unsettled: [expect.stringContaining('no such workflow type')] });
  });

  it('a rollback inside the run is settled too, and is no stage of its own', async () => {
    const { world, look } = temporal({ 'id/r0': { state: 'Running' } }, { actions: [ACTION] });
    await look(120, [stage('Failed')]);
    expect(world.terminated).toEqual(['id/r0']);
    await look(122, [stage('Failed')]);
    expect(world.started).toMatchObject([{ workflowId: 'id/r0' }]);
    world.settlement = { kind: 'ended', settled: ended };
    expect(await look(124, [stage('Failed')])).toEqual({
      kind: 'over',
      stages: [],
      undone: [],
      unsettled: [],
    });
  });
});
