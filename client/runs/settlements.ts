/** What is done about stages that were ended from outside with their run. */
import { WorkflowNotFoundError } from '@temporalio/client';
import type { Client } from '@temporalio/client';
import { taskQueues } from '../../workflows/core/contract.js';
import { QUERIES, settlementWorkflowId, WORKFLOW_TYPES } from '../../workflows/plan/contract.js';
import type { SettlementInput } from '../../workflows/plan/contract.js';
import type { Settled } from '../../workflows/plan/contract-updates.js';
import { isServiceError, startOnce } from './calls.js';
import type { Call } from './calls.js';
import { readInput } from './run-input.js';
import { failingTask, waitingTask } from './pending-tasks.js';
import type { WaitingTask } from './pending-tasks.js';

/** How far the settlement of a stage is. */
export type SettlementState =
  /** Nobody has started one. */
  | { kind: 'none' }
  /** Under its id is something that nobody vouches for. */
  | { kind: 'foreign' }
  | {
      kind: 'open';
      /** Whether a worker answers for it. */
      isAnswered: boolean;
      /** What it waits for, in the words of a worker. */
      waitsFor?: string;
      /** Its task that has waited longest for a worker. */
      waiting?: WaitingTask;
    }
  /** It has ended without a result, or workers cannot carry it out. */
  | { kind: 'failed'; message: string }
  | { kind: 'ended'; settled: Settled[] };

/** Starts and watches the settlements of stages, by the workflow id of the stage. */
export interface Settlements {
  /**
   * Starts one; idempotent: a stage is settled once.
   *
   * @param options.replaces ends what is under its id, which is somebody else's
   */
  start(input: SettlementInput, options?: { replaces?: boolean }): Promise<void>;
  /** @param vouch whether the bridge has asked for a settlement with this input */
  look(
    stage: { cluster: string; workflowId: string },
    vouch: (input: SettlementInput) => Promise<boolean>,
  ): Promise<SettlementState>;
}

const ANSWER_MS = 2_000;

/**
 * Settlements over a client.
 *
 * @param call bounds the time of a call
 */
export function createSettlements(client: Client, call: Call): Settlements {
  /** Undefined where nobody answers. */
  async function ask(workflowId: string): Promise<{ waitsFor?: string } | undefined> {
    try {
      const waitsFor = await call(
        () => client.workflow.getHandle(workflowId).query<string | null | undefined>(QUERIES.waitsFor),
        ANSWER_MS,
      );
      return typeof waitsFor === 'string' ? { waitsFor } : {};
    } catch (error) {
      if (isServiceError(error)) return undefined;
      throw error;
    }
  }

  return {
    async start(input, { replaces = false } = {}) {
      const options = {
        workflowId: settlementWorkflowId(input.workflowId),
        taskQueue: taskQueues(input.cluster).worker,
        args: [input],
        staticSummary: 'settles what an ended stage had begun',
      };
      if (!replaces) await startOnce(client, call, WORKFLOW_TYPES.stageSettlement, options);
      else
        await call(() =>
          client.workflow.start(WORKFLOW_TYPES.stageSettlement, {
            ...options,
            workflowIdReusePolicy: 'ALLOW_DUPLICATE',
            workflowIdConflictPolicy: 'TERMINATE_EXISTING',
          }),
        );
    },
    async look(stage, vouch) {
      const workflowId = settlementWorkflowId(stage.workflowId);
      try {
        const { raw, runId, status, taskQueue, type } = await call(() =>
          client.workflow.getHandle(workflowId).describe(),
        );
        const handle = client.workflow.getHandle(workflowId, runId);
        const isOfType =
          type === WORKFLOW_TYPES.stageSettlement && taskQueue === taskQueues(stage.cluster).worker;
        const input = isOfType ? await readInput<SettlementInput>(client, { workflowId, runId }) : undefined;
        if (input?.workflowId !== stage.workflowId || !(await vouch(input))) return { kind: 'foreign' };
        if (status.name === 'COMPLETED')
          return { kind: 'ended', settled: (await call(() => handle.result())) as Settled[] };
        if (status.name !== 'RUNNING')
          return { kind: 'failed', message: `its settlement "${workflowId}" is ${status.name}` };
        const failing = await call(() => failingTask(client, workflowId, raw));
        if (failing !== undefined) return { kind: 'failed', message: failing.message };
        const waiting = waitingTask(raw);
        const answer = await ask(workflowId);
        return {
          kind: 'open',
          isAnswered: answer !== undefined,
          ...answer,
          ...(waiting !== undefined && { waiting }),
        };
      } catch (error) {
        if (error instanceof WorkflowNotFoundError) return { kind: 'none' };
        throw error;
      }
    },
  };
}
