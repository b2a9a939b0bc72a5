import { API_VERSION } from '../../api/core/group.js';
import { drKinds, executionOf, planOf } from './dr-objects.js';
import { hasKind } from './peer.js';
import type { Peer } from './peer.js';

/** Drover itself. */
export function drover(options: { serviceAccount?: string }): Peer {
  const { serviceAccount } = options;
  return {
    ...drKinds,
    name: 'drover',
    title: 'Drover',
    async missing(kube) {
      return (await hasKind(kube, API_VERSION, 'DRPolicy'))
        ? []
        : ['its definitions are not installed: kubectl apply -f deploy/crds'];
    },
    run: (run) => executionOf(run, run.plan === undefined ? {} : { rerun: 'Allowed' }),
    plan: (run) => [planOf(run, serviceAccount === undefined ? {} : { serviceAccountName: serviceAccount })],
  };
}
