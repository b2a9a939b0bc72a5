/** Reads from its history what a stage, or its rollback, can no longer report itself. */
import type { Client } from '@temporalio/client';
import type { temporal } from '@temporalio/proto';
import { decodeFromPayloadsAtIndex } from '@temporalio/common/lib/internal-non-workflow/index.js';
import { ACTION_ACTIVITIES } from '../../api/plan/actions/activities.js';
import { wholeOutputs } from '../../api/plan/undo/lean-outputs.js';
import type { ActionOutcome, ActionTask } from '../../workflows/plan/contract-tasks.js';
import type { NestedTask, Unfinished } from '../../workflows/plan/contract-bridge.js';
import type { Settled } from '../../workflows/plan/contract-updates.js';
import { historyPages } from './history-pages.js';

type IPayload = temporal.api.common.v1.IPayload;

/** Activities that have an effect, by name. */
const EFFECTS = new Set<string>(ACTION_ACTIVITIES);
const NESTED = 'nestedPlan';
const SETTLE = 'settle';
/** Actions beyond this are left out, and so stay interrupted, of unknown effect. */
const MAX_CHARACTERS = 1_000_000;

/** A stage, or its rollback; without a run id, the newest of its workflow id. */
export interface StageRef {
  workflowId: string;
  runId?: string | undefined;
}

/** What was scheduled, and its result if it has completed. */
interface Scheduled {
  type: string;
  input: unknown;
  completed?: { result: () => Promise<unknown> };
}

/** What a stage has begun, and what became of it. */
export interface StageStory {
  /** Positions of every action that was begun, in the order of their beginning. */
  begun: { workflow: number; action: number }[];
  /** Outcomes of actions whose activity has completed; without those per cluster, which end as a whole. */
  ended: Settled[];
  /** Without the bodies of the actions: they are in the run's snapshot. */
  unfinished: Unfinished;
}

/**
 * Reads the history of a stage.
 *
 * @throws WorkflowNotFoundError
 */
export async function readStage(client: Client, stage: StageRef): Promise<StageStory> {
  const begun: StageStory['begun'] = [];
  const actions = new Map<string, ActionTask | undefined>();
  const plans = new Map<string, ActionTask | undefined>();
  const ended: Settled[] = [];
  const room = { tasks: MAX_CHARACTERS, outcomes: MAX_CHARACTERS };
  const fits = (what: keyof typeof room, value: unknown): boolean => {
    room[what] -= JSON.stringify(value).length;
    return room[what] >= 0;
  };
  const fitting = (task: ActionTask): ActionTask | undefined => {
    const lean = withoutBody(task);
    return fits('tasks', lean) ? lean : undefined;
  };
  for await (const { type, input, completed } of scheduledNewestFirst(client, stage)) {
    if (type === NESTED) {
      const { task } = input as NestedTask;
      if (!plans.has(keyOf(task))) plans.set(keyOf(task), fitting(task));
    } else if (EFFECTS.has(type) || type === SETTLE) {
      const task = input as ActionTask;
      if (type !== SETTLE) begun.push({ workflow: task.at.workflow, action: task.at.action });
      // What comes later of the same action is about the same effect: its settling, or a person's retry.
      if (actions.has(keyOf(task))) continue;
      actions.set(keyOf(task), completed === undefined ? fitting(task) : undefined);
      if (completed === undefined || task.at.cluster !== undefined || room.outcomes < 0) continue;
      const outcome = whole((await completed.result()) as ActionOutcome);
      const { workflow, action } = task.at;
      if (fits('outcomes', outcome)) ended.push({ workflow, action, outcome });
    }
  }
  return {
    begun: begun.reverse(),
    ended: ended.reverse(),
    unfinished: { actions: oldestFirst(actions), plans: oldestFirst(plans) },
  };
}

const oldestFirst = (tasks: ReadonlyMap<string, ActionTask | undefined>): ActionTask[] =>
  [...tasks.values()].filter((task) => task !== undefined).reverse();

const keyOf = ({ at }: ActionTask): string => `${at.workflow}/${at.action}/${at.cluster ?? ''}`;

function withoutBody({ body: _, ...task }: ActionTask): ActionTask {
  return task;
}

function whole(outcome: ActionOutcome): ActionOutcome {
  if (outcome.phase === 'Skipped' || outcome.outputs === undefined) return outcome;
  const { same, outputs, ...rest } = outcome;
  return { ...rest, outputs: wholeOutputs({ outputs, ...(same !== undefined && { same }) }) };
}

/**
 * Reads backwards: the end of an activity is known before its beginning is met, and only results of activities that ran at
 * the same time are held.
 */
async function* scheduledNewestFirst(client: Client, stage: StageRef): AsyncGenerator<Scheduled> {
  const decode = (payloads: IPayload[] | null | undefined): Promise<unknown> =>
    decodeFromPayloadsAtIndex<unknown>(client.options.loadedDataConverter, 0, payloads);
  const completed = new Map<string, IPayload[] | null | undefined>();
  for await (const events of historyPages(client, { ...stage, newestFirst: true })) {
    for (const { eventId, activityTaskCompletedEventAttributes: done, ...event } of events) {
      if (done) completed.set(String(done.scheduledEventId), done.result?.payloads);
      const scheduled = event.activityTaskScheduledEventAttributes;
      if (!scheduled) continue;
      const id = String(eventId);
      const isCompleted = completed.has(id);
      const payloads = completed.get(id);
      completed.delete(id);
      const type = scheduled.activityType?.name ?? '';
      if (!EFFECTS.has(type) && type !== NESTED && type !== SETTLE) continue;
      const input = await decode(scheduled.input?.payloads);
      yield { type, input, ...(isCompleted && { completed: { result: () => decode(payloads) } }) };
    }
  }
}
