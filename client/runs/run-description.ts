/** What Temporal says about a run. */
import type { Client, WorkflowExecutionDescription } from '@temporalio/client';
import type { SnapshotRef } from '../../workflows/plan/contract.js';
import { orNone } from './calls.js';
import type { Call } from './calls.js';
import { failingTask, oldest, waitingTask } from './pending-tasks.js';
import type { FailingTask, WaitingTask } from './pending-tasks.js';
import { originOf } from './origin.js';
import type { RunRef } from './origin.js';
import { buildOf } from './run-build.js';
import type { RunBuild } from './run-build.js';

/** What is kept beside a run in Temporal, so that its owner is known without its history. */
export interface RunMemo {
  namespace: string;
  name: string;
  uid: string;
  snapshot: SnapshotRef;
  /** Version of the bridge that has begun it; absent of runs that bridges before 0.1.0 have begun. */
  release?: string;
  /** Id of the key that the bridge has sealed it under; absent of runs that a release without seals has begun. */
  sealKey?: string;
  /** The bridge's seal of all that. */
  seal?: string;
}

/** What Temporal says about a run. */
export interface RunDescription {
  workflowId: string;
  /** The newest run of the id: another one than was started when somebody reset it. */
  runId: string;
  /** The run that its chain began with: a reset does not change it. */
  firstRunId: string;
  /** The run that has started it as its child. */
  parent?: RunRef;
  state: 'Running' | 'Completed' | 'Failed' | 'Cancelled' | 'Terminated' | 'TimedOut';
  startTime: Date;
  closeTime?: Date;
  memo?: RunMemo;
  /** The task of the run, or of a stage that was looked at, that has waited longest for a worker. */
  waiting?: WaitingTask;
  /** A workflow task of the run, or of a stage that was looked at, that fails wherever it is tried. */
  failing?: FailingTask;
  /** The build of workers that carries the run on. */
  build?: RunBuild;
}

/** Enough to notice a missing worker. */
const MAX_STAGES_LOOKED_AT = 5;

/**
 * Describes a run. Undefined where Temporal knows none of that id.
 *
 * @param options.withStages also looks whether tasks of running stages wait for a worker or fail; one call for each of at
 * most five stages
 * @param options.runId of one run of the id; absent = the newest
 */
export function describeRun(
  client: Client,
  call: Call,
  workflowId: string,
  options?: { withStages?: boolean; runId?: string },
): Promise<RunDescription | undefined> {
  const look = (id: string, runId?: string): Promise<WorkflowExecutionDescription> =>
    call(() => client.workflow.getHandle(id, runId).describe());
  return orNone(async () => {
    const found = await look(workflowId, options?.runId);
    const running = options?.withStages === true ? (found.raw.pendingChildren ?? []) : [];
    const stages = running.slice(0, MAX_STAGES_LOOKED_AT).map(({ workflowId: id }) => id ?? '');
    // A child that is being started is listed before Temporal knows its workflow, and that says nothing of the run.
    const known = await Promise.all(stages.map((id) => orNone(() => look(id))));
    const seen = [found, ...known.filter((stage) => stage !== undefined)];
    const waits = seen.map(({ raw }) => waitingTask(raw)).filter((task) => task !== undefined);
    const failures = await Promise.all(
      seen.map(({ workflowId: id, raw }) => call(() => failingTask(client, id, raw))),
    );
    return toDescription(found, { waiting: oldest(waits), failing: failures.find(Boolean) });
  });
}

function toDescription(
  found: WorkflowExecutionDescription,
  tasks: { waiting: WaitingTask | undefined; failing: FailingTask | undefined },
): RunDescription {
  const memo = toMemo(found.memo);
  const build = buildOf(found.raw);
  return {
    workflowId: found.workflowId,
    runId: found.runId,
    ...originOf(found.raw, found.runId),
    state: toState(found.status.name),
    startTime: found.startTime,
    ...(found.closeTime !== undefined && { closeTime: found.closeTime }),
    ...(memo !== undefined && { memo }),
    // A task that fails is scheduled again and again: that is no want of workers.
    ...(tasks.waiting !== undefined && tasks.failing === undefined && { waiting: tasks.waiting }),
    ...(tasks.failing !== undefined && { failing: tasks.failing }),
    ...(build !== undefined && { build }),
  };
}

function toState(name: WorkflowExecutionDescription['status']['name']): RunDescription['state'] {
  switch (name) {
    case 'COMPLETED':
      return 'Completed';
    case 'FAILED':
      return 'Failed';
    case 'CANCELLED':
      return 'Cancelled';
    case 'TERMINATED':
      return 'Terminated';
    case 'TIMED_OUT':
      return 'TimedOut';
    default:
      return 'Running';
  }
}

/** The memo of a run; undefined where a workflow has none of ours. */
export const toMemo = (memo: Record<string, unknown> | undefined): RunMemo | undefined =>
  typeof memo?.uid === 'string' ? (memo as unknown as RunMemo) : undefined;
