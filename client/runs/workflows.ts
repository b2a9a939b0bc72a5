/** A handle on workflows of all kinds: what a controller asks of Temporal whatever its workflows do. */
import { WorkflowNotFoundError } from '@temporalio/client';
import type { Client } from '@temporalio/client';
import { WorkflowExecutionAlreadyStartedError } from '@temporalio/common';
import type { SignalResult, StartResult } from './runs.js';

/** What is kept beside a workflow in Temporal, so that it can be told whose it is without its history. */
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
  startTime: Date;
  closeTime?: Date;
}

/**
 * Starts, watches and signals workflows. Methods throw the client library's errors for a Temporal that is unreachable.
 *
 * Seam: Temporal Schedules that an entity owns are kept through this handle too.
 */
export interface Workflows {
  /** Starts a workflow; idempotent by its id: one that is there already, or was there, is not started again. */
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
  /** Result of a workflow that has completed. */
  result(workflowId: string): Promise<unknown>;
}

const CALL_TIMEOUT_MS = 10_000;

/** A handle over a client; the caller owns and closes its connection. */
export function createWorkflows(client: Client): Workflows {
  const call = <T>(work: () => Promise<T>): Promise<T> =>
    client.withDeadline(Date.now() + CALL_TIMEOUT_MS, work);
  return {
    async start({ type, workflowId, taskQueue, input, memo, summary }) {
      try {
        const handle = await call(() =>
          client.workflow.start(type, {
            workflowId,
            taskQueue,
            args: [input],
            workflowIdReusePolicy: 'REJECT_DUPLICATE',
            workflowIdConflictPolicy: 'USE_EXISTING',
            memo: { ...memo },
            ...(summary !== undefined && { staticSummary: summary }),
          }),
        );
        return { kind: 'running', runId: handle.firstExecutionRunId };
      } catch (error) {
        if (error instanceof WorkflowExecutionAlreadyStartedError) return { kind: 'closed' };
        throw error;
      }
    },
    async describe(workflowId, runId) {
      try {
        const found = await call(() => client.workflow.getHandle(workflowId, runId).describe());
        const { status, startTime, closeTime, raw } = found;
        return {
          runId: found.runId,
          firstRunId: raw.workflowExecutionInfo?.firstRunId ?? found.runId,
          state: status.name === 'RUNNING' ? 'Running' : status.name === 'COMPLETED' ? 'Completed' : 'Closed',
          startTime,
          ...(closeTime !== undefined && { closeTime }),
        };
      } catch (error) {
        if (error instanceof WorkflowNotFoundError) return undefined;
        throw error;
      }
    },
    async signal(workflowId, name, argument) {
      try {
        await call(() => client.workflow.getHandle(workflowId).signal(name, argument));
        return 'accepted';
      } catch (error) {
        if (error instanceof WorkflowNotFoundError) return 'notRunning';
        throw error;
      }
    },
    result: (workflowId) => call(() => client.workflow.getHandle(workflowId).result()),
  };
}
