/** A run that may begin: starts it, and records it in the status of its execution. Both can be repeated. */
import { runWorkflowId } from '../../../api/plan/naming.js';
import { isTerminalExecution } from '../../../api/core/phase.js';
import type { RunDescription, RunMemo } from '../../../client/runs/runs.js';
import type { Refusal } from '../../../api/core/refusal.js';
import type { RunIdentity, SnapshotRef } from '../../../workflows/plan/contract.js';
import type { PreparedRun } from '../../core/kind.js';
import { refOf } from '../../core/object-ref.js';
import type { WriteResult } from '../../core/status-writer.js';
import { startDeadline } from './checks.js';
import { startedStatus } from '../status/projection.js';
import { memoOf, vouchedMemo } from './run-memo.js';
import { sealInput } from './seal-input.js';
import type { CachedExecution, DrDeps } from '../types.js';
import type { Work } from './work.js';

const LARGE_RUN_ACTIONS = 1000;

/** A run that may begin. */
export interface RunToBegin {
  execution: CachedExecution;
  run: RunIdentity;
  work: Work;
  /** Whether values of parameters were looked up: another replica may have started the run with other ones. */
  isLookedUp: boolean;
  /** Id of the key that the run is sealed under; absent for a run that a release without seals has begun. */
  sealKey: string | undefined;
  /** Ends the execution without a run. */
  refuse: (refusal: Refusal) => Promise<void>;
}

/** Puts the start of a run and its record together. */
export function prepareRun(deps: DrDeps, begin: RunToBegin): PreparedRun {
  const memo = memoOf(begin.run, begin.sealKey, deps.sealer);
  return {
    start: () => startRun(deps, begin, memo),
    adopt: (found) => adoptRun(deps, begin, found),
    record: ({ runId }) => recordRun(deps, begin, runId),
  };
}

function startRun(
  deps: DrDeps,
  { execution, run, work }: RunToBegin,
  memo: RunMemo,
): ReturnType<PreparedRun['start']> {
  const workflowId = runWorkflowId(run);
  const { searchAttributes } = deps.temporal;
  const { mirror, largeMirrorIntervalMs, bounds } = deps.settings;
  const intervalMs =
    work.actions > LARGE_RUN_ACTIONS ? Math.max(largeMirrorIntervalMs, mirror.intervalMs) : mirror.intervalMs;
  return deps.runs.start({
    workflowId,
    memo,
    summary: `${run.operation} ${run.plan.name}`.slice(0, 200),
    ...(searchAttributes && {
      attributes: {
        DrCluster: run.cluster,
        DrNamespace: run.namespace,
        DrPlan: run.plan.name,
        DrOperation: run.operation,
        DrPhase: 'Running',
      },
    }),
    input: sealInput(
      {
        run,
        startDeadline: startDeadline(execution).toISOString(),
        ...work.input,
        mirror: { ...mirror, intervalMs, envelope: true, pace: deps.pace() },
        bounds,
        searchAttributes,
      },
      workflowId,
      deps.sealer,
    ),
  });
}

/** Whoever reaches Temporal may start something under the id before the bridge does. */
async function adoptRun(
  { sealer }: Pick<DrDeps, 'sealer'>,
  { run, refuse }: RunToBegin,
  found: RunDescription,
): Promise<boolean> {
  if ((await vouchedMemo(found, run.uid, sealer)) !== undefined) return true;
  await refuse({
    reason: 'WorkflowIdTaken',
    message: `a workflow "${found.workflowId}" is there already, and no bridge has started it: nothing was done; look who may start workflows in this namespace of Temporal, then create a new execution`,
  });
  return false;
}

async function recordRun(deps: DrDeps, begin: RunToBegin, runId: string): Promise<void> {
  const { execution, run, isLookedUp, work, sealKey } = begin;
  const workflowId = runWorkflowId(run);
  const started = { ...run, snapshot: isLookedUp ? await startedSnapshot(deps, run) : run.snapshot };
  const result = await deps.writer.status(deps.caches.executions, refOf(execution), ({ status, metadata }) =>
    // Another replica was faster: its record is newer.
    status?.temporal !== undefined || isTerminalExecution(status?.phase)
      ? undefined
      : startedStatus(status, {
          // This time shows which run came later, whichever replica wrote it.
          startTime: new Date(deps.kube.now()).toISOString(),
          generation: metadata.generation,
          stages: work.statuses,
          run: started,
          temporal: {
            workflowId,
            runId,
            ...(sealKey !== undefined && { sealKey }),
            ...(deps.temporal.clusterId !== undefined && { clusterId: deps.temporal.clusterId }),
            namespaceId: deps.temporal.namespaceId,
            namespace: deps.temporal.namespace,
          },
          message: `run "${workflowId}" was started`,
        }),
  );
  await stopUnwanted(deps, workflowId, result);
  if (result.kind === 'written') tellStart(deps, execution, run);
}

/** Replicas that looked values up at different moments may have made different snapshots: this is the one that runs. */
async function startedSnapshot(
  { runs, sealer }: Pick<DrDeps, 'runs' | 'sealer'>,
  run: RunIdentity,
): Promise<SnapshotRef> {
  const memo = await vouchedMemo(await runs.describe(runWorkflowId(run)), run.uid, sealer);
  return memo === undefined || memo.snapshot.digest === run.snapshot.digest ? run.snapshot : memo.snapshot;
}

/** Cancels a run that was started while its execution was ended or deleted. */
async function stopUnwanted(
  { runs }: Pick<DrDeps, 'runs'>,
  workflowId: string,
  result: WriteResult<CachedExecution>,
): Promise<void> {
  if (result.kind === 'gone' || result.object.metadata.deletionTimestamp !== undefined) {
    // Another replica may have let the execution go, believing that it never started.
    await runs.signalCancel(workflowId, { via: 'Delete', reason: 'the execution was deleted' });
  } else if (result.kind === 'unchanged' && result.object.status?.temporal === undefined) {
    // Another replica has ended the execution while this one started its run.
    await runs.signalCancel(workflowId, { reason: `the execution is ${result.object.status?.phase ?? ''}` });
  }
}

function tellStart({ events }: Pick<DrDeps, 'events'>, execution: CachedExecution, run: RunIdentity): void {
  const isExecute = run.operation === 'Execute';
  const subject = isExecute
    ? `started plan "${run.plan.name}"`
    : `started to revert execution "${run.target?.name ?? ''}"`;
  events.record(execution, {
    type: 'Normal',
    reason: isExecute ? 'ExecutionStarted' : 'RevertStarted',
    action: 'Start',
    message: `${subject} as Temporal workflow "${runWorkflowId(run)}"`,
  });
}
