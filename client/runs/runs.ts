/**
 * A typed handle on runs: all that Drover asks of Temporal about them goes through here.
 */
import { QueryNotRegisteredError, WorkflowNotFoundError } from '@temporalio/client';
import type { ApprovalAnswer } from '../../api/plan/actions/approval-answers.js';
import type { Client } from '@temporalio/client';
import { defineSearchAttributeKey } from '@temporalio/common';
import { listOpen } from './list-open.js';
import { describeRun } from './run-description.js';
import type { RunDescription, RunMemo } from './run-description.js';
import { createOrigins } from './origin.js';
import type { Origins, RunRef } from './origin.js';
import { readInput, readInputEncoding } from './run-input.js';
import { createSettlements } from './settlements.js';
import type { Settlements } from './settlements.js';
import { callsOf, isServiceError, orNone, startOnce, unlessGone } from './calls.js';
import type { SignalResult, StartResult } from './calls.js';
import { findPollers } from './pollers.js';
import type { Pollers } from './pollers.js';
import { createStageStories } from './stage-stories.js';
import type { StageRef } from './stage-history.js';
import type { StageActions } from './stage-stories.js';
import { readTemporalIdentity } from './temporal-identity.js';
import type { TemporalIdentity } from './temporal-identity.js';
import { SIGNALS, taskQueues } from '../../workflows/core/contract.js';
import {
  PLAN_SIGNALS,
  QUERIES,
  SEARCH_ATTRIBUTES,
  stageWorkflowId,
  WORKFLOW_TYPES,
} from '../../workflows/plan/contract.js';
import type { CancelRequest } from '../../workflows/core/contract.js';
import type {
  Resolution,
  RunInput,
  RunProgress,
  RunResult,
  StageResult,
} from '../../workflows/plan/contract.js';
import type { Unfinished } from '../../workflows/plan/contract-bridge.js';

export type { Pollers } from './pollers.js';
export type { RunBuild } from './run-build.js';
export type { RunDescription, RunMemo } from './run-description.js';

/** Values of the search attributes of a run. */
export type RunAttributes = Partial<Record<(typeof SEARCH_ATTRIBUTES)[number], string>>;

/** Starts, watches and stops runs. Every method throws the client library's errors for a Temporal that is unreachable. */
export interface Runs {
  /** Starts a run; idempotent by its id: one that runs, or has ended, is not started again. */
  start(request: {
    workflowId: string;
    input: RunInput;
    memo: RunMemo;
    attributes?: RunAttributes;
    /** One line for the Web UI. */
    summary?: string;
  }): Promise<StartResult>;
  /**
   * Strongly consistent. Undefined when Temporal knows no run of that id (any more).
   *
   * @param options.withStages also looks whether tasks of running stages wait for a worker or fail; one call for each
   * of at most five stages
   * @param options.runId of one run of the id; absent = the newest
   */
  describe(
    workflowId: string,
    options?: { withStages?: boolean; runId?: string },
  ): Promise<RunDescription | undefined>;
  /**
   * Describes a workflow that a run has started, such as a stage. Somebody else's workflow under its id is not taken for it:
   * then the newest that the history of the run shows. Undefined where the run has started none.
   *
   * @param run without a run id: the run that is open under the workflow id
   */
  describeChild(run: StageRef, workflowId: string): Promise<RunDescription | undefined>;
  /** Sends signal `cancel`: the run stops, settles what runs and ends Cancelled. */
  signalCancel(workflowId: string, request: CancelRequest): Promise<SignalResult>;
  /** Asks Temporal to cancel: the same end by the platform's own way. */
  requestCancel(workflowId: string): Promise<SignalResult>;
  /**
   * Ends a run, or a stage, without asking it. Temporal asks the stages of a run to cancel; nobody settles what a stage had
   * begun: see {@link Runs.settlements}.
   *
   * @param reason shown in Temporal
   */
  terminate(workflowId: string, reason: string): Promise<SignalResult>;
  /** Answers a stage that waits for a person. */
  resolve(
    workflowId: string,
    signal: 'retry' | 'skip' | 'abort',
    resolution: Resolution,
  ): Promise<SignalResult>;
  /** Hands a person's answer to the stage whose approval it is for. */
  answer(workflowId: string, answer: ApprovalAnswer): Promise<SignalResult>;
  /** Tells a stage, or its rollback, to look at its nested executions. */
  look(workflowId: string): Promise<SignalResult>;
  /**
   * Asks the run itself how far it is; needs a worker, for a closed run too. Undefined when none answers in time.
   *
   * @param options.timeoutMs default 5 s
   * @param options.runId of one run of the id; absent = the newest
   */
  progress(
    workflowId: string,
    options?: { timeoutMs?: number; runId?: string },
  ): Promise<RunProgress | undefined>;
  /** Waits for the end of a run. Rejects when it was terminated, timed out or failed by a bug. */
  result(workflowId: string, runId?: string): Promise<RunResult>;
  /** Result of a stage, or of its rollback, that has completed. */
  stageResult(stage: StageRef): Promise<StageResult>;
  /**
   * Actions that a stage, or its rollback, has begun, and how those that have ended did, by its history: all that is left of
   * one that was ended from outside before it could report. Empty where Temporal knows no such workflow.
   */
  told(stage: StageRef): Promise<StageActions>;
  /**
   * What a stage, or its rollback, has begun and not ended, by its history. Without the bodies of the actions: they are in
   * the run's snapshot. Empty where Temporal knows no such workflow.
   */
  unfinished(stage: StageRef): Promise<Unfinished>;
  /** What a run was given. Undefined where Temporal knows no such run. */
  input(workflowId: string, runId?: string): Promise<RunInput | undefined>;
  /** How that is written, such as `json/plain` or `binary/zlib`. Undefined where Temporal knows no such run. */
  inputEncoding(workflowId: string): Promise<string | undefined>;
  /** Who takes tasks for a cluster, by its id. */
  pollers(cluster: string): Promise<Pollers[]>;
  /** What is done about stages that were ended from outside with their run. */
  settlements: Settlements;
  /** Where workflows come from. */
  origins: Origins;
  /** Which Temporal answers now: that it does not know a run means something only for runs started in it. */
  where(): Promise<TemporalIdentity>;
  /** Open runs of a workflow type whose id begins with the prefix. Eventually consistent. */
  listOpen(of: {
    workflowType: string;
    idPrefix: string;
  }): AsyncIterable<{ workflowId: string; memo: RunMemo | undefined }>;
}

const QUERY_TIMEOUT_MS = 5_000;

/** A handle over a client; the caller owns and closes its connection. */
export function createRuns(client: Client): Runs {
  const call = callsOf(client);
  const stories = createStageStories(client, call);
  const origins = createOrigins(client, call);

  async function send(workflowId: string, signal: string, argument: unknown): Promise<SignalResult> {
    return unlessGone(() => call(() => client.workflow.getHandle(workflowId).signal(signal, argument)));
  }

  return {
    start: ({ workflowId, input, memo, attributes, summary }) =>
      startOnce(client, call, WORKFLOW_TYPES.execution, {
        workflowId,
        taskQueue: taskQueues(input.run.cluster).worker,
        args: [input],
        memo: { ...memo },
        ...(summary !== undefined && { staticSummary: summary }),
        ...(attributes !== undefined && {
          typedSearchAttributes: SEARCH_ATTRIBUTES.flatMap((name) => {
            const value = attributes[name];
            return value === undefined ? [] : [{ key: defineSearchAttributeKey(name, 'KEYWORD'), value }];
          }),
        }),
      }),
    describe: (workflowId, options) => describeRun(client, call, workflowId, options),
    async describeChild(run, workflowId) {
      const found = await describeRun(client, call, workflowId);
      if (found === undefined || (await isChild(origins, run, found.parent))) return found;
      const { runId } = run;
      const own = await orNone(() => origins.newestChild({ ...run, runId }, workflowId));
      return own && describeRun(client, call, workflowId, { runId: own.runId });
    },
    signalCancel: (workflowId, request) => send(workflowId, SIGNALS.cancel, request),
    requestCancel: (workflowId) =>
      unlessGone(() => call(() => client.workflow.getHandle(workflowId).cancel())),
    terminate: (workflowId, reason) =>
      unlessGone(() => call(() => client.workflow.getHandle(workflowId).terminate(reason))),
    input: (workflowId, runId) => readInput<RunInput>(client, { workflowId, runId }),
    inputEncoding: (workflowId) => readInputEncoding(client, { workflowId }),
    pollers: (cluster) => findPollers(client, cluster),
    settlements: createSettlements(client, call),
    resolve: (workflowId, signal, resolution) => send(workflowId, PLAN_SIGNALS[signal], resolution),
    answer: (workflowId, answer) =>
      send(stageWorkflowId(workflowId, Number(answer.at.split('/', 1)[0])), PLAN_SIGNALS.answer, answer),
    look: (workflowId) => send(workflowId, SIGNALS.look, undefined),
    async progress(workflowId, options) {
      try {
        return await call(
          () => client.workflow.getHandle(workflowId, options?.runId).query<RunProgress>(QUERIES.progress),
          options?.timeoutMs ?? QUERY_TIMEOUT_MS,
        );
      } catch (error) {
        if (error instanceof WorkflowNotFoundError || error instanceof QueryNotRegisteredError)
          return undefined;
        if (isServiceError(error)) return undefined;
        throw error;
      }
    },
    result: (workflowId, runId) =>
      client.workflow.getHandle(workflowId, runId).result() as Promise<RunResult>,
    stageResult: ({ workflowId, runId }) =>
      call(() => client.workflow.getHandle(workflowId, runId).result() as Promise<StageResult>),
    told: (stage) => stories.actions(stage),
    unfinished: (stage) => stories.unfinished(stage),
    origins,
    where: () =>
      call(() => readTemporalIdentity(client.connection.workflowService, client.options.namespace)),
    listOpen: (of) => listOpen(client, call, of),
  };
}

/** Whether a workflow was started by a run, or by one of which the run is a reset. */
async function isChild(origins: Origins, run: StageRef, parent: RunRef | undefined): Promise<boolean> {
  if (parent?.workflowId !== run.workflowId) return false;
  const { workflowId, runId } = run;
  return runId === undefined || origins.areOneChain(parent, { workflowId, runId });
}
