import { describe, expect, it } from 'vitest';
import type { RunDescription } from '../../../client/runs/runs.js';
import { lookAtRun } from './standstill.js';

const NOW = Date.parse('2030-01-01T00:10:00Z');
const AT = { now: NOW, taskWaitMs: 30_000 };
const run: RunDescription = {
  workflowId: 'dr/c/ns/x/1',
  runId: 'r',
  firstRunId: 'r',
  state: 'Running',
  startTime: new Date(0),
};
const waiting = (seconds: number, what: 'workflow' | 'wait' | 'activity' = 'workflow'): RunDescription => ({
  ...run,
  waiting: { since: new Date(NOW - seconds * 1000), what },
});
const yes = () => Promise.resolve(true);
const no = () => Promise.resolve(false);

describe('a run whose task waits [S5.50]', () => {
  it('is looked at again when the 30 s are full, counted from the first scheduling [F0]', async () => {
    expect(await lookAtRun(waiting(20), no, AT)).toEqual({ kind: 'moves', againMs: 11_000 });
    expect(await lookAtRun(run, no, AT)).toEqual({ kind: 'moves' });
  });

  it('has no worker where nobody answers for it [F0]', async () => {
    expect(await lookAtRun(waiting(30), no, AT)).toMatchObject({
      kind: 'stands',
      standstill: { reason: 'NoWorker', message: expect.stringContaining('2030-01-01T00:09:30') },
    });
  });

  it('that is pinned to a build which nobody runs names the build, and how to move the run [S5.50] [S6.22]', async () => {
    const build = { deploymentName: 'drover-c', buildId: '1.2.3-abc', isPinned: true };
    const said = async (isPinned: boolean): Promise<string> => {
      const look = await lookAtRun({ ...waiting(30), build: { ...build, isPinned } }, no, AT);
      return look.kind === 'stands' && look.standstill.reason === 'NoWorker' ? look.standstill.message : '';
    };
    expect(await said(true)).toMatch(
      /pinned to build "1\.2\.3-abc".*temporal workflow update-options .*"dr\/c\/ns\/x\/1".* drover-c .*--terminate/,
    );
    expect(await said(false)).toMatch(/check that the worker runs.*--terminate/);
  });

  it.each([
    ['wait', /DROVER_MAX_WAITS/],
    ['activity', /DROVER_MAX_ACTIVITIES/],
  ] as const)(
    'stands in line where workers are there and full: a task of sort %s [F10] [S5.52]',
    async (what, words) => {
      expect(await lookAtRun(waiting(31, what), yes, AT)).toMatchObject({
        kind: 'stands',
        standstill: { reason: 'WorkersBusy', message: expect.stringMatching(words) },
      });
    },
  );
});

describe('a run whose code does not fit any more', () => {
  it('says so, with the message, and what a person can do [F14] [S5.51]', async () => {
    const failing = { workflowId: 'dr/c/ns/x/1/s0', since: new Date(NOW), message: 'nondeterminism' };
    const memo = { name: 'x', namespace: 'ns' } as NonNullable<RunDescription['memo']>;
    expect(await lookAtRun({ ...run, failing, memo }, no, AT)).toMatchObject({
      kind: 'stands',
      standstill: {
        reason: 'WorkflowTaskFailing',
        message: expect.stringMatching(/s0.*nondeterminism.*no effect.*"drover cancel x -n ns --terminate"/),
      },
    });
  });
});
