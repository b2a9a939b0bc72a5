import type { DRPlanExecution } from '../../../api/plan/types.js';
import type { TemporalIdentity } from '../../core/temporal-identity.js';
import type { ExecutionIdentity } from '../lock/plan-state.js';

/** An execution as its plan sees it. */
export function identityOf(execution: DRPlanExecution): ExecutionIdentity {
  const { name, namespace = 'default', uid = '' } = execution.metadata;
  const { operationType: operation, revertExecutionRef: target, mode } = execution.spec;
  return {
    name,
    namespace,
    uid,
    operation,
    ...(operation === 'Execute' && mode !== undefined && { mode }),
    ...(operation === 'Revert' && target !== undefined && { target: { name: target } }),
  };
}

/** A Temporal, for a person. */
export const nameOfTemporal = (temporal: (TemporalIdentity & { namespace?: string }) | undefined): string =>
  `Temporal namespace ${temporal?.namespaceId ?? ''}${temporal?.namespace === undefined ? '' : ` (${temporal.namespace})`}${temporal?.clusterId === undefined ? '' : ` of cluster ${temporal.clusterId}`}`;
