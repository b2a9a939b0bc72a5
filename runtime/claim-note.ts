import { ScheduleAlreadyRunning, ScheduleNotFoundError } from '@temporalio/client';
import type { Client } from '@temporalio/client';
import type { ClaimNote } from './cluster-claim.js';

/**
 * The word of a cluster id, kept as the note of a paused Schedule, which never starts anything: a namespace has no other
 * place that can be read and written by name.
 *
 * @param cluster id of the cluster, as in ids of runs
 */
export function createClaimNote(
  client: Pick<Client, 'schedule' | 'workflowService' | 'options'>,
  cluster: string,
): ClaimNote {
  const { namespace } = client.options;
  const scheduleId = `drover-claim-${cluster}`;
  const handle = client.schedule.getHandle(scheduleId);
  return {
    async read() {
      const { namespaceInfo } = await client.workflowService.describeNamespace({ namespace });
      const place = namespaceInfo?.id ?? '';
      try {
        return { place, word: (await handle.describe()).state.note ?? '' };
      } catch (error) {
        if (error instanceof ScheduleNotFoundError) return { place, word: undefined };
        throw error;
      }
    },
    async write(word, isFirst) {
      if (!isFirst) {
        await handle.pause(word);
        return true;
      }
      try {
        await client.schedule.create({
          scheduleId,
          spec: {},
          action: {
            type: 'startWorkflow',
            workflowType: 'none',
            taskQueue: scheduleId,
            workflowId: scheduleId,
            args: [],
          },
          state: { paused: true, note: word },
        });
        return true;
      } catch (error) {
        if (error instanceof ScheduleAlreadyRunning) return false;
        throw error;
      }
    },
  };
}
