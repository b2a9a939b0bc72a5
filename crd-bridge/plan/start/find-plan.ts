import { API_VERSION } from '../../../api/core/group.js';
import type { DRPlan } from '../../../api/plan/types.js';
import type { DrDeps } from '../types.js';

/** The plan of an execution: what the cache has, and what the API server has where the cache has none. */
export async function findPlan(
  deps: Pick<DrDeps, 'kube' | 'caches'>,
  namespace: string,
  name: string,
): Promise<DRPlan | undefined> {
  const cached = deps.caches.plans.get(namespace, name);
  if (cached !== undefined) return cached;
  // A watch that is late must not be taken for a plan that is gone.
  const live = await deps.kube.get<DRPlan>({ apiVersion: API_VERSION, kind: 'DRPlan', namespace, name });
  if (live !== undefined) deps.caches.plans.learn(live);
  return live;
}
