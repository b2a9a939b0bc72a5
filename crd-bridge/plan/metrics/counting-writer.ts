import type { Cacheable } from '../../../kube/informer.js';
import type { StatusWriter } from '../../core/status-writer.js';
import type { CachedExecution } from '../types.js';
import { endedBetween } from './ended-between.js';
import type { PlanMetrics } from './plan-metrics.js';

/**
 * A writer that tells the metrics what has ended with each written status of an execution, whoever writes it. Every write
 * is made under the version that it was computed from, so of all replicas and repetitions one tells each end.
 */
export function countingWriter(writer: StatusWriter, metrics: Pick<PlanMetrics, 'ended'>): StatusWriter {
  return {
    metadata: (informer, ref, project, options) => writer.metadata(informer, ref, project, options),
    async status(informer, ref, project, options) {
      if (informer.kind !== 'DRPlanExecution') return writer.status(informer, ref, project, options);
      let before: Cacheable['status'];
      const result = await writer.status(
        informer,
        ref,
        (object) => {
          before = object.status;
          return project(object);
        },
        options,
      );
      if (result.kind === 'written') {
        const { spec, status } = result.object as unknown as CachedExecution;
        metrics.ended(spec.operationType, endedBetween(before, status));
      }
      return result;
    },
  };
}
