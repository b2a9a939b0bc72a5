/** Workflow code of an attacker, who runs a worker of his own: asks for whatever it is told to, under an id of his choice. */
import {
  ActivityCancellationType,
  ActivityFailure,
  ChildWorkflowFailure,
  executeChild,
  proxyActivities,
} from '@temporalio/workflow';
import type { ApplicationFailure } from '@temporalio/workflow';

/** Something to ask for: an activity of Drover's, or a child of a workflow type of Drover's. */
export type Forgery =
  | { kind: 'activity'; queue: string; name: string; input: unknown }
  | { kind: 'child'; queue: string; type: string; workflowId: string; input: unknown };

/** What became of it. */
export type Forged = { result: unknown } | { failure: string; message: string };

export function forge(forgeries: readonly Forgery[]): Promise<Forged[]> {
  return Promise.all(forgeries.map(ask));
}

/** Ends at once with what it was given, as its result. */
export const say = (result: unknown): Promise<unknown> => Promise.resolve(result);

async function ask(forgery: Forgery): Promise<Forged> {
  try {
    if (forgery.kind === 'child') {
      const { type, queue: taskQueue, workflowId, input } = forgery;
      return { result: await executeChild(type, { taskQueue, workflowId, args: [input] }) };
    }
    const activities = proxyActivities<Record<string, (input: unknown) => Promise<unknown>>>({
      taskQueue: forgery.queue,
      startToCloseTimeout: '20s',
      heartbeatTimeout: '8s',
      cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
      retry: { maximumAttempts: 1 },
    });
    return { result: await activities[forgery.name]?.(forgery.input) };
  } catch (error) {
    if (!(error instanceof ActivityFailure) && !(error instanceof ChildWorkflowFailure)) throw error;
    const cause = error.cause as ApplicationFailure | undefined;
    return { failure: cause?.type ?? '', message: cause?.message ?? '' };
  }
}
