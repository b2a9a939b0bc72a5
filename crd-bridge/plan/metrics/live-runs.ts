/** What the executions and plans there are come to in numbers, read from the caches at each scrape. */
import { isTerminalExecution, PLAN_PHASES } from '../../../api/core/phase.js';
import { isActionType } from '../../../api/plan/actions/table.js';
import type { DRPlan } from '../../../api/plan/types.js';
import type { Informer } from '../../../kube/informer.js';
import { findCondition } from '../../core/conditions.js';
import { TROUBLES } from '../../core/trouble.js';
import { holds } from '../lock/plan-state.js';
import type { CachedExecution } from '../types.js';

/** How an execution that is not over stands. */
export const STANDINGS = [
  'Pending',
  'Running',
  'AwaitingApproval',
  'Paused',
  'Cancelling',
  'Stalled',
] as const;
/** One of {@link STANDINGS}. The last four are runs too; `Stalled` means that nothing can go on, and nobody was asked. */
export type Standing = (typeof STANDINGS)[number];

/** Reasons for which a run stalls. Others would be counted as `Other`, so that the label stays bounded. */
export const STALLS: ReadonlySet<string> = new Set([
  ...TROUBLES,
  'NoWorker',
  'WorkersBusy',
  'WorkflowTaskFailing',
  'SealKeyUnknown',
  'NotSealed',
  'Settling',
  'TemporalMismatch',
  'AdmissionNotReady',
  'PlanNotObserved',
]);

/** What the executions come to that are not over. */
export interface LiveRuns {
  standings: Map<Standing, number>;
  /** By reason of condition Progressing, of those that do not go on; a pause is no stall. */
  stalls: Map<string, number>;
  /** Actions that run, by type. */
  running: Map<string, number>;
}

/** Follows a cache and keeps those that are not over: of a hundred thousand that have ended none is looked at. */
export function watchLive(
  executions: Pick<Informer<CachedExecution>, 'onChange'>,
): () => Iterable<CachedExecution> {
  const live = new Map<string, CachedExecution>();
  executions.onChange(({ kind, object }) => {
    const uid = object.metadata.uid ?? '';
    if (kind === 'set' && !isTerminalExecution(object.status?.phase)) live.set(uid, object);
    else live.delete(uid);
  });
  return () => live.values();
}

/** Counts them. */
export function countLive(live: Iterable<CachedExecution>): LiveRuns {
  const counted: LiveRuns = { standings: new Map(), stalls: new Map(), running: new Map() };
  for (const standing of STANDINGS) counted.standings.set(standing, 0);
  for (const execution of live) {
    const types = runningTypes(execution);
    for (const type of types) add(counted.running, isActionType(type) ? type : 'unknown');
    const stall = stallOf(execution);
    if (stall !== undefined) add(counted.stalls, stall);
    add(counted.standings, standingOf(execution, types, stall));
  }
  return counted;
}

function standingOf(
  { status }: CachedExecution,
  types: readonly (string | undefined)[],
  stall: string | undefined,
): Standing {
  if (status?.temporal === undefined) return 'Pending';
  if (stall !== undefined) return 'Stalled';
  const reason = findCondition(status.conditions, 'Progressing')?.reason;
  if (reason === 'Paused') return 'Paused';
  if (reason === 'Cancelling') return 'Cancelling';
  return types.includes('Approval') ? 'AwaitingApproval' : 'Running';
}

function stallOf({ status }: CachedExecution): string | undefined {
  const progressing = findCondition(status?.conditions, 'Progressing');
  if (progressing?.status !== 'False' || progressing.reason === 'Paused') return undefined;
  return STALLS.has(progressing.reason) ? progressing.reason : 'Other';
}

const runningTypes = ({ status }: CachedExecution): (string | undefined)[] =>
  (status?.stageStatuses ?? []).flatMap((stage) =>
    stage.phase !== 'Running'
      ? []
      : (stage.workflowExecutions ?? []).flatMap((workflow) =>
          (workflow.actionStatuses ?? []).flatMap(({ phase, type }) => (phase === 'Running' ? [type] : [])),
        ),
  );

/** What the plans come to. */
export interface PlanCounts {
  /** By phase; `Unchecked` for those that nobody has looked at yet. */
  phases: Map<string, number>;
  /** Plans that an execution holds: one that goes on (run), or one that is over or gone (nobody). */
  held: Map<'run' | 'nobody', number>;
}

/** Counts plans, and by whom they are held. */
export function countPlans(
  plans: Iterable<DRPlan>,
  executions: Pick<Informer<CachedExecution>, 'get'>,
): PlanCounts {
  const counted: PlanCounts = {
    phases: new Map([...PLAN_PHASES, 'Unchecked'].map((phase) => [phase, 0])),
    held: new Map([
      ['run', 0],
      ['nobody', 0],
    ]),
  };
  for (const { metadata, status } of plans) {
    const phase = status?.phase ?? '';
    add(counted.phases, counted.phases.has(phase) ? phase : 'Unchecked');
    const holder = status?.currentExecution;
    if (holder === undefined) continue;
    const found = executions.get(metadata.namespace, holder.name);
    const isHeld =
      found !== undefined &&
      holds(holder, { name: found.metadata.name, uid: found.metadata.uid ?? '' }) &&
      !isTerminalExecution(found.status?.phase);
    add(counted.held, isHeld ? 'run' : 'nobody');
  }
  return counted;
}

const add = <K>(counts: Map<K, number>, key: K): void => {
  counts.set(key, (counts.get(key) ?? 0) + 1);
};
