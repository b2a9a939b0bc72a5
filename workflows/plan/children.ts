import {
  CancellationScope,
  ChildWorkflowFailure,
  getExternalWorkflowHandle,
  isCancellation,
  ParentClosePolicy,
  setHandler,
  startChild,
} from '@temporalio/workflow';
import type { ChildWorkflowHandle } from '@temporalio/workflow';
import { WorkflowExecutionAlreadyStartedError } from '@temporalio/common';
import type { StageStatus } from '../../api/plan/types.js';
import { cancelSignal } from '../core/cancel.js';
import type { CancelRecord, CancelRequest, MirrorPace } from '../core/contract.js';
import type { Resolution, StageResult, StageRollbackInput, StageRunInput } from './contract.js';
import { onceEarlierStageHasEnded } from './earlier-stages.js';
import { settleLeft } from './left-behind.js';
import { abortSignal, retrySignal, skipSignal } from './pause.js';
import type { RunContext } from './run-context.js';

type Child = (input: StageRunInput | StageRollbackInput) => Promise<StageResult>;

/** What child workflows need of their run. */
export interface ChildrenSetup {
  /** Name of the plan, for the Web UI. */
  plan: string;
  stages: readonly StageStatus[];
  /** A cancel reached a child only. */
  onCancelled: (record: CancelRecord) => void;
  /** The pace that the bridge last asked of a child. */
  onPace: (pace: MirrorPace) => void;
}

interface Extras {
  /** Workflow ids of all children that were asked for. */
  begun: ReadonlySet<string>;
  /** Tells children that a cancel is meant for rollbacks too: Temporal's own request cannot say so. */
  force: (record: CancelRecord | undefined) => void;
}

/** Starts stages as child workflows and passes a person's decisions on to them. */
export function createChildren(setup: ChildrenSetup): Pick<RunContext, 'runChild'> & Extras {
  const { stages } = setup;
  const begun = new Set<string>();
  const running = new Map<number, ChildWorkflowHandle<Child>>();
  for (const signal of [retrySignal, skipSignal, abortSignal]) {
    setHandler(signal, async (resolution?: Resolution) => {
      const targets = [...running].filter(
        ([index]) => resolution?.stage === undefined || stages[index]?.name === resolution.stage,
      );
      // A stage that has just ended refuses the signal: there is nothing left to decide.
      await Promise.allSettled(targets.map(([, child]) => child.signal(signal, resolution)));
    });
  }

  return {
    begun,
    force(record) {
      const { reason, requestedBy } = record ?? {};
      const request: CancelRequest = {
        ...(reason !== undefined && { reason }),
        ...(requestedBy !== undefined && { requestedBy }),
        force: true,
      };
      void CancellationScope.nonCancellable(() =>
        // One that has just ended has no nested plan any more.
        Promise.allSettled([...running.values()].map((child) => child.signal(cancelSignal, request))),
      );
    },
    async runChild({ type, workflowId, index, input }) {
      begun.add(workflowId);
      try {
        const child = await startFree(workflowId, () =>
          startChild<Child>(type, {
            workflowId,
            args: [input],
            parentClosePolicy: ParentClosePolicy.REQUEST_CANCEL,
            staticSummary: `${setup.plan}: ${stages[index]?.name ?? ''}`.slice(0, 200),
          }),
        );
        running.set(index, child);
        const ended = await child.result();
        // Whoever cancels one stage means the run (S5.30).
        if (ended.cancelled !== undefined) setup.onCancelled(ended.cancelled);
        if (ended.pace !== undefined) setup.onPace(ended.pace);
        return ended;
      } catch (error) {
        if (isCancellation(error)) return { interrupted: 'the run was cancelled' };
        if (error instanceof WorkflowExecutionAlreadyStartedError) {
          return {
            interrupted: `a workflow "${workflowId}" runs already; end it and create a new execution`,
          };
        }
        if (error instanceof ChildWorkflowFailure) {
          const cause = error.cause?.message ?? error.message;
          return {
            interrupted: `the stage's workflow was ended from outside: ${cause}`,
            settled: await settleLeft(workflowId, { ...input, cluster: input.run.cluster }),
          };
        }
        throw error;
      } finally {
        running.delete(index);
      }
    },
  };
}

/**
 * Starts a child whose id may be taken: after a reset of the run, the earlier stage goes on to its end. It is waited
 * for, so that the two never act at once; a cancel meanwhile reaches it too.
 */
async function startFree<T>(workflowId: string, start: () => Promise<T>): Promise<T> {
  let taken: WorkflowExecutionAlreadyStartedError | undefined;
  try {
    const started = await onceEarlierStageHasEnded(() =>
      start().catch((error: unknown) => {
        if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
        taken = error;
        return undefined;
      }),
    );
    if (started !== undefined) return started;
  } catch (error) {
    if (taken !== undefined && isCancellation(error)) {
      await CancellationScope.nonCancellable(() =>
        getExternalWorkflowHandle(workflowId)
          .cancel()
          .catch(() => undefined),
      );
    }
    throw error;
  }
  throw taken ?? new Error('a start without a child');
}
