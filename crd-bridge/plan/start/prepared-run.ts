/** A run that may begin: starts it, and records it in the status of its execution. Both can be repeated. */
import { runWorkflowId } from '../../../api/plan/naming.js';
import { isTerminalExecution } from '../../../api/core/phase.js';
import type { RunIdentity, SnapshotRef } from '../../../workflows/plan/contract.js';
import type { Admission } from '../../core/kind.js';
import { startDeadline } from './gates.js';
import { refOf } from '../../core/object-ref.js';
import { startedStatus } from '../status/projection.js';
import { memoOf, vouchedMemo } from './run-memo.js';
import { sealInput } from './seal-input.js';
import type { CachedExecution, DrDeps } from '../types.js';
import type { Work } from './work.js';

const LARGE_RUN_ACTIONS = 1000;

/** What a run is begun with. */
export interface RunToBegin {
  execution: CachedExecution;
  run: RunIdentity;
  work: Work;
  /** Whether values of parameters were looked up: another replica may have started the run with other ones. */
  isLookedUp: boolean;
  /** Id of the key that the run is sealed under; absent for a run that a release without seals has begun. */
  sealKey: string | undefined;
}

async function startedSnapshot(
  { runs, sealer }: Pick<DrDeps, 'runs' | 'sealer'>,
  run: RunIdentity,
): Promise<SnapshotRef> {
  const memo = await vouchedMemo(await runs.describe(runWorkflowId(run)), run.uid, sealer);
  return memo === undefined || memo.snapshot.digest === run.snapshot.digest ? run.snapshot : memo.snapshot;
}

/** Puts the start of a run and its record together. */
export function prepareRun(
  deps: DrDeps,
  { execution, run, work, isLookedUp, sealKey }: RunToBegin,
): Extract<Admission, { kind: 'start' }>['prepared'] {
  const workflowId = runWorkflowId(run);
  const memo = memoOf(run, sealKey, deps.sealer);
  const { caches, settings } = deps;
  const { searchAttributes } = deps.temporal;
  const intervalMs =
    work.actions > LARGE_RUN_ACTIONS
      ? Math.max(settings.largeMirrorIntervalMs, settings.mirror.intervalMs)
      : settings.mirror.intervalMs;
  return {
    start: () =>
      deps.runs.start({
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
            mirror: { ...settings.mirror, intervalMs, envelope: true, pace: deps.pace() },
            bounds: settings.bounds,
            searchAttributes,
          },
          workflowId,
          deps.sealer,
        ),
      }),
    record: async ({ runId }) => {
      const started = { ...run, snapshot: isLookedUp ? await startedSnapshot(deps, run) : run.snapshot };
      const result = await deps.writer.status(caches.executions, refOf(execution), ({ status, metadata }) =>
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
      if (result.kind === 'gone' || result.object.metadata.deletionTimestamp !== undefined) {
        // Another replica may have let the execution go, believing that it never started.
        await deps.runs.signalCancel(workflowId, { via: 'Delete', reason: 'the execution was deleted' });
      } else if (result.kind === 'unchanged' && result.object.status?.temporal === undefined) {
        // Another replica has ended the execution while this one started its run.
        await deps.runs.signalCancel(workflowId, {
          reason: `the execution is ${result.object.status?.phase ?? ''}`,
        });
      }
      if (result.kind !== 'written') return;
      deps.events.record(execution, {
        type: 'Normal',
        reason: run.operation === 'Execute' ? 'ExecutionStarted' : 'RevertStarted',
        action: 'Start',
        message:
          run.operation === 'Execute'
            ? `started plan "${run.plan.name}" as Temporal workflow "${workflowId}"`
            : `started to revert execution "${run.target?.name ?? ''}" as Temporal workflow "${workflowId}"`,
      });
    },
  };
}
