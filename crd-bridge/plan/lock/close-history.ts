import { isTerminalExecution } from '../../../api/core/phase.js';
import type { ReleaseCause } from '../../core/kind.js';
import { isElsewhere } from '../../core/temporal-identity.js';
import { findPlan } from '../start/find-plan.js';
import { refOf } from '../../core/object-ref.js';
import { identityOf } from '../start/identity.js';
import type { CachedExecution, DrDeps } from '../types.js';
import { recordRow, rowOf } from './history.js';
import { endOf } from './lock-holder.js';
import { endOnPlan, holds } from './plan-state.js';

/** The history row survives the record. The lock stays where the run may still be going on: the sweep frees it. */
export async function closeHistory(
  deps: Pick<DrDeps, 'caches' | 'kube' | 'mutex' | 'runs' | 'writer'>,
  execution: CachedExecution,
  cause: ReleaseCause,
): Promise<void> {
  const { caches, runs, writer } = deps;
  const identity = identityOf(execution);
  const plan = await findPlan(deps, identity.namespace, execution.spec.planRef);
  if (plan === undefined) return;
  const isHolder = holds(plan.status?.currentExecution, identity);
  const row = rowOf(plan.status?.executionHistory, identity.uid);
  const mayRun =
    cause === 'late' ||
    cause === 'forced' ||
    (cause === 'neverStarted' && isElsewhere(row?.temporal, await runs.where()));
  const end = endOf(execution) ?? { phase: 'Cancelled', completionTime: new Date().toISOString() };
  // A row that has ended is final, even in a cache that is behind.
  if (!isHolder && row !== undefined && isTerminalExecution(row.phase)) return;
  await deps.mutex.run(`DRPlan ${identity.namespace}/${plan.metadata.name}`, () =>
    writer.status(
      caches.plans,
      refOf(plan),
      ({ status }) => {
        if (status === undefined) return undefined;
        if (!mayRun) return endOnPlan(status, identity, end);
        const known = rowOf(status.executionHistory, identity.uid);
        if (known === undefined && !holds(status.currentExecution, identity)) return undefined;
        if (isTerminalExecution(known?.phase)) return undefined;
        return {
          ...status,
          executionHistory: recordRow(status.executionHistory, {
            name: identity.name,
            namespace: identity.namespace,
            uid: identity.uid,
            operationType: identity.operation,
            ...end,
          }),
        };
      },
      { confirm: true },
    ),
  );
}
