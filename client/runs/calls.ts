/** How handles on workflows call Temporal. */
import { isGrpcServiceError, WorkflowNotFoundError } from '@temporalio/client';
import type { Client, WorkflowStartOptions } from '@temporalio/client';
import { WorkflowExecutionAlreadyStartedError } from '@temporalio/common';

/** What a start came to. */
export type StartResult =
  /** It was started by this call. */
  | { kind: 'started'; runId: string }
  /** A workflow of that id runs or has ended: an earlier call's, or anybody's. */
  | { kind: 'exists' };

/** How a request to a workflow ended. */
export type SignalResult = 'accepted' | 'notRunning';

/** Bounds the time of a call, in milliseconds (default 10 s). */
export type Call = <T>(work: () => Promise<T>, timeoutMs?: number) => Promise<T>;

const CALL_TIMEOUT_MS = 10_000;

/** Calls of a client. */
export const callsOf =
  (client: Client): Call =>
  (work, timeoutMs = CALL_TIMEOUT_MS) =>
    client.withDeadline(Date.now() + timeoutMs, work);

/** Starts a workflow; idempotent by its id: one that runs, or has ended, is not started again. */
export async function startOnce(
  client: Client,
  call: Call,
  type: string,
  options: WorkflowStartOptions,
): Promise<StartResult> {
  try {
    const handle = await call(() =>
      client.workflow.start(type, {
        ...options,
        workflowIdReusePolicy: 'REJECT_DUPLICATE',
        workflowIdConflictPolicy: 'FAIL',
      }),
    );
    return { kind: 'started', runId: handle.firstExecutionRunId };
  } catch (error) {
    if (error instanceof WorkflowExecutionAlreadyStartedError) return { kind: 'exists' };
    throw error;
  }
}

/** Whether an error is the server's own, bare or as the cause of what the client library throws. */
export const isServiceError = (error: unknown): boolean =>
  isGrpcServiceError(error) || isGrpcServiceError((error as Error).cause);

/** Undefined where Temporal knows no such workflow. */
export async function orNone<T>(work: () => Promise<T>): Promise<T | undefined> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return undefined;
    throw error;
  }
}

/** Whether a workflow was there to take a request. */
export const unlessGone = async (work: () => Promise<unknown>): Promise<SignalResult> =>
  (await orNone(async () => {
    await work();
    return 'accepted' as const;
  })) ?? 'notRunning';
