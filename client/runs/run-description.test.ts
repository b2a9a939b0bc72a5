import { WorkflowNotFoundError } from '@temporalio/client';
import type { Client } from '@temporalio/client';
import { expect, it } from 'vitest';
import { describeRun } from './run-description.js';

/** Temporal with a run that has started children, of which it knows some. */
function clientWith(known: readonly string[]): Client {
  const described = (workflowId: string) => ({
    workflowId,
    runId: `${workflowId}-run`,
    status: { name: 'RUNNING' },
    startTime: new Date(0),
    raw: {
      workflowExecutionInfo: { firstRunId: `${workflowId}-run` },
      ...(workflowId === 'run' && { pendingChildren: [{ workflowId: 's0' }, { workflowId: 's1' }] }),
      ...(workflowId === 's1' && {
        pendingActivities: [
          { state: 1, activityType: { name: 'http' }, scheduledTime: { seconds: 5, nanos: 0 } },
        ],
      }),
    },
  });
  const describe = (workflowId: string) =>
    known.includes(workflowId)
      ? Promise.resolve(described(workflowId))
      : Promise.reject(new WorkflowNotFoundError('not found', workflowId, undefined));
  return {
    workflow: { getHandle: (workflowId: string) => ({ describe: () => describe(workflowId) }) },
  } as unknown as Client;
}
const call = <T>(work: () => Promise<T>): Promise<T> => work();

it('a run is there although a stage that it has asked for is not started yet [S5.15]', async () => {
  const found = await describeRun(clientWith(['run', 's1']), call, 'run', { withStages: true });
  expect(found).toMatchObject({ workflowId: 'run', state: 'Running' });
  // The others are looked at all the same.
  expect(found?.waiting).toEqual({ what: 'activity', since: new Date(5000) });
});

it('a run that Temporal does not know is undefined', async () => {
  expect(await describeRun(clientWith(['s0', 's1']), call, 'run', { withStages: true })).toBeUndefined();
});
