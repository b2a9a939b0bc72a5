import { API_VERSION } from '../../api/core/group.js';
import { drKinds, planOf } from './dr-objects.js';
import { hasKind } from './peer.js';
import type { Peer } from './peer.js';

/** The controller that the DR kinds come from, or any other that carries them out as it does. */
export function bcs(): Peer {
  return {
    ...drKinds,
    name: 'bcs',
    title: 'original controller of the DR kinds',
    async missing(kube) {
      const [original, ours] = await Promise.all([
        hasKind(kube, API_VERSION, 'DRPlanExecution'),
        hasKind(kube, API_VERSION, 'DRPolicy'),
      ]);
      return [
        ...(original
          ? []
          : ['the definitions of its kinds are not installed: apply those that come with it']),
        ...(ours
          ? [
              'Drover is installed in this cluster and would carry its executions out: use a cluster of its own',
            ]
          : []),
      ];
    },
    plan: (run) => [planOf(run)],
  };
}
