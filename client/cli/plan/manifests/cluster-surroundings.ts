import type { DRPlan } from '../../../../api/plan/types.js';
import type { KubeClient } from '../../../../kube/client.js';
import { findFieldProblems } from './cluster-fields.js';
import { findOverrideSources } from './cluster-overrides.js';
import type { FileObject } from './objects.js';
import { fetchReferenced } from './referenced.js';
import type { Surroundings } from './surroundings.js';

/**
 * Gets from a cluster what the objects refer to and the files do not hold.
 *
 * @param accounts service accounts in the files, as `namespace/name`
 */
export async function surroundingsIn(
  kube: KubeClient,
  objects: readonly FileObject[],
  accounts: ReadonlySet<string> = new Set(),
): Promise<Surroundings> {
  const { plans, workflows, workflow } = await fetchReferenced(kube, objects);
  const written = objects.flatMap(({ kind, object }) =>
    kind === 'DRPlan' ? [object as unknown as DRPlan] : [],
  );
  const overrides = await findOverrideSources(kube, [...written, ...plans.values()], workflow);
  const fields = await findFieldProblems(kube, objects, accounts);
  return {
    fields: (object) => fields.get(object) ?? [],
    overrides,
    workflow: (namespace, name) => workflows.get(`${namespace}/${name}`),
    plan: (namespace, name) => plans.get(`${namespace}/${name}`),
    complete: true,
  };
}
