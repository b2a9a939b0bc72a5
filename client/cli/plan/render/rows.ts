import type { DRPolicy } from '../../../../api/plan/schema/policy.js';
import type { DRPlan, DRPlanExecution, DRWorkflow } from '../../../../api/plan/types.js';
import type { Kind, ObjectOf } from '../../core/resources.js';
import { lastEnded } from './last-ended.js';
import { progressCell } from './run-progress.js';
import type { Style } from '../../core/render/style.js';
import { oneLine } from '../../core/render/text.js';
import { age, elapsed } from '../../core/render/time.js';

/** How objects of a kind stand in a table. */
interface Columns<T> {
  header: readonly string[];
  row(object: T, options: { style: Style; now: number }): string[];
}

const executions: Columns<DRPlanExecution> = {
  header: ['NAME', 'PLAN', 'OPERATION', 'PHASE', 'PROGRESS', 'DURATION', 'AGE', 'MESSAGE'],
  row: ({ metadata, spec, status }, { style, now }) => [
    metadata.name,
    spec.planRef,
    spec.operationType,
    style.phase(status?.phase ?? 'Pending'),
    progressCell(status),
    elapsed(status ?? {}, now),
    age(metadata.creationTimestamp, now),
    oneLine(status?.message ?? ''),
  ],
};

const plans: Columns<DRPlan> = {
  header: ['NAME', 'PHASE', 'STAGES', 'RUNNING', 'LAST EXECUTION', 'RESULT', 'ENDED', 'AGE', 'MESSAGE'],
  row: ({ metadata, spec, status }, { style, now }) => {
    const last = lastEnded(status);
    return [
      metadata.name,
      style.phase(status?.phase ?? 'Unknown'),
      String(spec.stages.length),
      status?.currentExecution?.name ?? '',
      last?.name ?? '',
      last === undefined ? '' : style.phase(last.phase),
      age(last?.completionTime, now),
      age(metadata.creationTimestamp, now),
      problemOf(status),
    ];
  },
};

const workflows: Columns<DRWorkflow> = {
  header: ['NAME', 'PHASE', 'ACTIONS', 'PARAMETERS', 'FAILURE POLICY', 'AGE', 'MESSAGE'],
  row: ({ metadata, spec, status }, { style, now }) => [
    metadata.name,
    style.phase(status?.phase ?? 'Unknown'),
    String(spec.actions.length),
    String(spec.parameters?.length ?? 0),
    spec.failurePolicy ?? 'FailFast',
    age(metadata.creationTimestamp, now),
    problemOf(status),
  ],
};

const policies: Columns<DRPolicy> = {
  header: ['NAME', 'NAMESPACES', 'ACCOUNTS', 'KINDS', 'HOSTS', 'ALLOW', 'AGE'],
  row: ({ metadata, spec }, { now }) => [
    metadata.name,
    spec.namespaces?.join(',') ?? 'all',
    spec.serviceAccounts?.join(',') ?? 'any',
    spec.kinds === undefined ? 'any' : String(spec.kinds.length),
    spec.hosts?.join(',') ?? 'any',
    spec.allow?.join(',') ?? '',
    age(metadata.creationTimestamp, now),
  ],
};

function problemOf(status: (DRPlan | DRWorkflow)['status']): string {
  const ready = status?.conditions?.find(({ type }) => type === 'Ready');
  return ready === undefined || ready.status === 'True' ? '' : oneLine(`${ready.reason}: ${ready.message}`);
}

const COLUMNS: { [K in Kind]: Columns<ObjectOf[K]> } = {
  DRPlan: plans,
  DRPlanExecution: executions,
  DRWorkflow: workflows,
  DRPolicy: policies,
};

/** Header and rows of a table of one kind; with namespaces in front when several are shown. */
export function rowsOf<K extends Kind>(
  kind: K,
  objects: readonly ObjectOf[K][],
  options: { style: Style; now: number; withNamespace: boolean },
): { header: string[]; rows: string[][] } {
  const columns = COLUMNS[kind];
  return {
    header: [...(options.withNamespace ? ['NAMESPACE'] : []), ...columns.header],
    rows: objects.map((object) => [
      ...(options.withNamespace ? [object.metadata.namespace ?? ''] : []),
      ...columns.row(object, options),
    ]),
  };
}
