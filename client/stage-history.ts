/** What the history of a stage, or of its rollback, tells when the stage itself cannot any more. */
import type { Client } from '@temporalio/client';
import { decodeFromPayloadsAtIndex } from '@temporalio/common/lib/internal-non-workflow/index.js';
import { ACTIVITY_BY_TYPE } from '../workflows/contract.js';
import type { ActionTask, NestedTask, Unfinished } from '../workflows/contract.js';

/** Activities that have an effect, by name. */
const EFFECTS = new Set<string>(Object.values(ACTIVITY_BY_TYPE));
const NESTED = 'nestedPlan';
const SETTLE = 'settle';
/** More than fits in one answer is left as it is: interrupted, of unknown effect. */
const MOST_CHARACTERS = 1_000_000;

/** What was scheduled, in order, and whether it has completed. */
interface Scheduled {
  type: string;
  input: unknown;
  isCompleted: boolean;
}

/**
 * Tasks of every action that was begun.
 *
 * @throws WorkflowNotFoundError
 */
export async function readBegun(client: Client, workflowId: string): Promise<ActionTask[]> {
  const scheduled = await readScheduled(client, workflowId);
  return scheduled.filter(({ type }) => EFFECTS.has(type)).map(({ input }) => input as ActionTask);
}

/**
 * What was begun and has no outcome. Without the bodies of the actions: they are in the run's snapshot.
 *
 * @throws WorkflowNotFoundError
 */
export async function readUnfinished(client: Client, workflowId: string): Promise<Unfinished> {
  const actions = new Map<string, ActionTask>();
  const plans = new Map<string, ActionTask>();
  for (const { type, input, isCompleted } of await readScheduled(client, workflowId)) {
    if (type === NESTED) {
      const { task } = input as NestedTask;
      plans.set(keyOf(task), withoutBody(task));
    } else if (EFFECTS.has(type) || type === SETTLE) {
      const task = input as ActionTask;
      // What comes later of the same action is about the same effect: its settling, or a person's retry.
      if (isCompleted) actions.delete(keyOf(task));
      else actions.set(keyOf(task), withoutBody(task));
    }
  }
  let size = 0;
  const fits = (task: ActionTask): boolean => (size += JSON.stringify(task).length) <= MOST_CHARACTERS;
  return { actions: [...actions.values()].filter(fits), plans: [...plans.values()].filter(fits) };
}

const keyOf = ({ at }: ActionTask): string => `${at.workflow}/${at.action}/${at.cluster ?? ''}`;

function withoutBody({ body: _, ...task }: ActionTask): ActionTask {
  return task;
}

async function readScheduled(client: Client, workflowId: string): Promise<Scheduled[]> {
  const { events } = await client.workflow.getHandle(workflowId).fetchHistory();
  const completed = new Set(
    (events ?? []).flatMap(({ activityTaskCompletedEventAttributes: done }) =>
      done ? [String(done.scheduledEventId)] : [],
    ),
  );
  const wanted = (events ?? []).flatMap(({ eventId, activityTaskScheduledEventAttributes: scheduled }) => {
    const type = scheduled?.activityType?.name ?? '';
    if (!EFFECTS.has(type) && type !== NESTED && type !== SETTLE) return [];
    return [{ type, payloads: scheduled?.input?.payloads, isCompleted: completed.has(String(eventId)) }];
  });
  return Promise.all(
    wanted.map(async ({ payloads, ...rest }) => ({
      ...rest,
      input: await decodeFromPayloadsAtIndex<unknown>(client.options.loadedDataConverter, 0, payloads),
    })),
  );
}
