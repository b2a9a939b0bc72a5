import { API_VERSION } from '../../../../api/core/group.js';
import { isObject } from '../../../../api/core/json.js';
import { nestedPlans } from '../../../../api/plan/order/nested-plans.js';
import type { WorkflowSpecLookup } from '../../../../api/plan/order/nested-plans.js';
import type { DRPlan, DRWorkflow } from '../../../../api/plan/types.js';
import type { KubeClient } from '../../../../kube/client.js';
import { keyFor } from '../../core/resources.js';
import { createFileSet } from './file-set.js';
import type { FileObject } from './objects.js';
import { referencesOf } from './references.js';

/** What a cluster has of what files refer to. */
export interface Referenced {
  /** Plans and workflows that no file holds, by `namespace/name`. */
  plans: ReadonlyMap<string, DRPlan>;
  workflows: ReadonlyMap<string, DRWorkflow>;
  /** A workflow of the files, else of the cluster. */
  workflow: (namespace: string, name: string) => DRWorkflow | undefined;
}

/**
 * Gets the plans of executions, the plans that plans run as parts of themselves, and the workflows of all of them, as far
 * as the files do not hold them.
 */
export async function fetchReferenced(kube: KubeClient, objects: readonly FileObject[]): Promise<Referenced> {
  const plans = new Map<string, DRPlan>();
  const workflows = new Map<string, DRWorkflow>();
  const known = createFileSet(objects, {
    plan: (namespace, name) => plans.get(`${namespace}/${name}`),
    workflow: (namespace, name) => workflows.get(`${namespace}/${name}`),
  });
  const specOf: WorkflowSpecLookup = (namespace, name) => {
    const found = known.workflow(namespace, name);
    return Array.isArray(found?.spec?.actions) ? found.spec : undefined;
  };

  /** @returns undefined where the plan is known already, or does not exist */
  async function fetchPlan(namespace: string, name: string): Promise<DRPlan | undefined> {
    if (known.plan(namespace, name) !== undefined) return undefined;
    const found = await kube.get<DRPlan>(keyFor('DRPlan', namespace, name));
    if (found === undefined) return undefined;
    const plan: DRPlan = { apiVersion: API_VERSION, kind: 'DRPlan', ...found };
    plans.set(`${namespace}/${name}`, plan);
    return plan;
  }

  async function fetchWorkflows(user: { namespace: string; spec: unknown }): Promise<void> {
    for (const { namespace, name } of referencesOf(user)) {
      if (known.workflow(namespace, name) !== undefined) continue;
      const found = await kube.get<DRWorkflow>(keyFor('DRWorkflow', namespace, name));
      if (found !== undefined) workflows.set(`${namespace}/${name}`, found);
    }
  }

  for (const { kind, namespace, object } of objects) {
    const planRef = isObject(object.spec) ? object.spec.planRef : undefined;
    if (kind !== 'DRPlanExecution' || typeof planRef !== 'string' || planRef === '') continue;
    await fetchPlan(namespace, planRef);
  }
  const queue = [...plansAmong(objects), ...plans.values()];
  for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
    const { namespace = 'default' } = next.metadata;
    await fetchWorkflows({ namespace, spec: next.spec });
    for (const { name } of nestedPlans(next, specOf)) {
      const nested = await fetchPlan(namespace, name);
      if (nested !== undefined) queue.push(nested);
    }
  }
  return { plans, workflows, workflow: known.workflow };
}

const plansAmong = (objects: readonly FileObject[]): DRPlan[] =>
  objects.flatMap(({ kind, namespace, name, object }) =>
    kind === 'DRPlan' ? [{ metadata: { namespace, name }, spec: object.spec } as DRPlan] : [],
  );
