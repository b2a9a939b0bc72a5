/** What the history of a stage, or of its rollback, tells when the stage itself cannot any more. */
import type { Client } from '@temporalio/client';
import { decodeFromPayloadsAtIndex } from '@temporalio/common/lib/internal-non-workflow/index.js';
import { ACTION_ACTIVITIES } from '../../api/plan/actions/activities.js';
import type { ActionTask } from '../../workflows/plan/contract-tasks.js';
import type { NestedTask, Unfinished } from '../../workflows/plan/contract-bridge.js';
import { historyPages } from './history-pages.js';

/** Activities that have an effect, by name. */
const EFFECTS = new Set<string>(ACTION_ACTIVITIES);
const NESTED = 'nestedPlan';
const SETTLE = 'settle';
/** More than fits in one answer is left as it is: interrupted, of unknown effect. */
const MOST_CHARACTERS = 1_000_000;

/** What was scheduled, and whether it has completed. */
interface Scheduled {
  type: string;
  input: unknown;
  isCompleted: boolean;
}

/** What a stage has begun, and what of that has no outcome. */
export interface StageStory {
  /** Positions of every action that was begun, in the order of their beginning. */
  begun: { workflow: number; action: number }[];
  /** Without the bodies of the actions: they are in the run's snapshot. */
  unfinished: Unfinished;
}

/**
 * Reads the history of a stage.
 *
 * @throws WorkflowNotFoundError
 */
export async function readStage(client: Client, workflowId: string): Promise<StageStory> {
  const begun: StageStory['begun'] = [];
  const actions = new Map<string, ActionTask | undefined>();
  const plans = new Map<string, ActionTask | undefined>();
  let size = 0;
  const fitting = (task: ActionTask): ActionTask | undefined => {
    const lean = withoutBody(task);
    size += JSON.stringify(lean).length;
    return size <= MOST_CHARACTERS ? lean : undefined;
  };
  for await (const { type, input, isCompleted } of scheduledNewestFirst(client, workflowId)) {
    if (type === NESTED) {
      const { task } = input as NestedTask;
      if (!plans.has(keyOf(task))) plans.set(keyOf(task), fitting(task));
    } else if (EFFECTS.has(type) || type === SETTLE) {
      const task = input as ActionTask;
      if (type !== SETTLE) begun.push({ workflow: task.at.workflow, action: task.at.action });
      // What comes later of the same action is about the same effect: its settling, or a person's retry.
      if (!actions.has(keyOf(task))) actions.set(keyOf(task), isCompleted ? undefined : fitting(task));
    }
  }
  return {
    begun: begun.reverse(),
    unfinished: { actions: oldestFirst(actions), plans: oldestFirst(plans) },
  };
}

const oldestFirst = (tasks: ReadonlyMap<string, ActionTask | undefined>): ActionTask[] =>
  [...tasks.values()].filter((task) => task !== undefined).reverse();

const keyOf = ({ at }: ActionTask): string => `${at.workflow}/${at.action}/${at.cluster ?? ''}`;

function withoutBody({ body: _, ...task }: ActionTask): ActionTask {
  return task;
}

/** Backwards, so that the end of what was scheduled is known when it is met and nothing has to be kept. */
async function* scheduledNewestFirst(client: Client, workflowId: string): AsyncGenerator<Scheduled> {
  const { loadedDataConverter } = client.options;
  const completed = new Set<string>();
  for await (const events of historyPages(client, { workflowId, newestFirst: true })) {
    for (const { eventId, activityTaskCompletedEventAttributes: done, ...event } of events) {
      if (done) completed.add(String(done.scheduledEventId));
      const scheduled = event.activityTaskScheduledEventAttributes;
      if (!scheduled) continue;
      const isCompleted = completed.delete(String(eventId));
      const type = scheduled.activityType?.name ?? '';
      if (!EFFECTS.has(type) && type !== NESTED && type !== SETTLE) continue;
      const input = await decodeFromPayloadsAtIndex<unknown>(
        loadedDataConverter,
        0,
        scheduled.input?.payloads,
      );
      yield { type, input, isCompleted };
    }
  }
}
