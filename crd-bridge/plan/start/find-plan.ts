import { API_VERSION } from '../../../api/core/group.js';
import type { DRPlan } from '../../../api/plan/types.js';
import type { DrDeps } from '../types.js';

/** The plan of an execution, from the cache, or from the API server where the cache has none. */
export async function findPlan(
  deps: Pick<DrDeps, 'kube' | 'caches'>,
  namespace: string,
  name: string,
): Promise<DRPlan | undefined> {
  const cached = deps.caches.plans.get(namespace, name);
  if (cached !== undefined) return cached;
  // A plan that a late watch has not shown yet must not be taken for one that is gone.
  const live = await deps.kube.get<DRPlan>({ apiVersion: API_VERSION, kind: 'DRPlan', namespace, name });
  if (live !== undefined) deps.caches.plans.learn(live);
  return live;
}
