/** A handle on workflows of all kinds: what a controller asks of Temporal, whatever its workflows do. */
import type { Client } from '@temporalio/client';
import { callsOf, orNone, startOnce, unlessGone } from './calls.js';
import { readInput } from './run-input.js';
import type { SignalResult, StartResult } from './calls.js';

/** What is kept beside a workflow in Temporal, so that its owner is known without its history. */
export interface ObjectMemo {
  namespace: string;
  name: string;
  uid: string;
}

/** What Temporal says about a workflow. */
export interface WorkflowDescription {
  /** Its present run. */
  runId: string;
  /** The run that it began with: continuing as new and a reset do not change it. */
  firstRunId: string;
  state: 'Running' | 'Completed' | 'Closed';
  type: string;
  taskQueue: string;
  startTime: Date;
  closeTime?: Date;
}

/**
 * Starts, watches and signals workflows. Methods throw the client library's errors for a Temporal that is unreachable.
 *
 * Seam: Temporal Schedules that an entity owns are kept through this handle too.
 */
export interface Workflows {
  /** Starts a workflow; idempotent by its id: one that runs, or has ended, is not started again. */
  start(request: {
    type: string;
    workflowId: string;
    taskQueue: string;
    input: unknown;
    memo: ObjectMemo;
    /** One line for the Web UI. */
    summary?: string;
  }): Promise<StartResult>;
  /**
   * Strongly consistent. Undefined when Temporal knows no workflow of that id (any more).
   *
   * @param runId of one run of the id; absent = the newest
   */
  describe(workflowId: string, runId?: string): Promise<WorkflowDescription | undefined>;
  signal(workflowId: string, name: string, argument?: unknown): Promise<SignalResult>;
  /** What a run was given; anybody may have started it. Undefined where Temporal does not know it. */
  input(workflowId: string, runId: string): Promise<unknown>;
  /** Result of a workflow that has completed. */
  result(workflowId: string): Promise<unknown>;
}

/** A handle over a client; the caller owns and closes its connection. */
export function createWorkflows(client: Client): Workflows {
  const call = callsOf(client);
  return {
    start: ({ type, workflowId, taskQueue, input, memo, summary }) =>
      startOnce(client, call, type, {
        workflowId,
        taskQueue,
        args: [input],
        memo: { ...memo },
        ...(summary !== undefined && { staticSummary: summary }),
      }),
    describe: (workflowId, runId) =>
      orNone(async () => {
        const found = await call(() => client.workflow.getHandle(workflowId, runId).describe());
        const { status, startTime, closeTime, raw, taskQueue, type } = found;
        return {
          runId: found.runId,
          firstRunId: raw.workflowExecutionInfo?.firstRunId ?? found.runId,
          state: status.name === 'RUNNING' ? 'Running' : status.name === 'COMPLETED' ? 'Completed' : 'Closed',
          startTime,
          taskQueue,
          type,
          ...(closeTime !== undefined && { closeTime }),
        };
      }),
    signal: (workflowId, name, argument) =>
      unlessGone(() => call(() => client.workflow.getHandle(workflowId).signal(name, argument))),
    input: (workflowId, runId) => readInput(client, { workflowId, runId }),
    result: (workflowId) => call(() => client.workflow.getHandle(workflowId).result()),
  };
}
