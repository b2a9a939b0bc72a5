import { API_VERSION } from '../../../api/core/group.js';
import { nestedPlans } from '../../../api/plan/order/nested-plans.js';
import type { WorkflowSpecLookup } from '../../../api/plan/order/nested-plans.js';
import type { DRPlan, DRPlanExecution, DRWorkflow } from '../../../api/plan/types.js';
import type { KubeClient } from '../../../kube/client.js';
import type { Cacheable, Informer } from '../../../kube/informer.js';
import { references } from '../kinds/plan-references.js';
import type { DrDeps } from '../types.js';

/**
 * Reads behind the caches. A cache may be a moment behind: what is missing in it is looked up, and nobody is refused
 * before the grounds for the refusal were read anew.
 */
export interface Lookups {
  /** A plan that exists and is not being deleted. */
  plan(namespace: string, name: string): Promise<DRPlan | undefined>;
  livePlan(namespace: string, name: string): Promise<DRPlan | undefined>;
  liveExecution(namespace: string, name: string): Promise<DRPlanExecution | undefined>;
  /** Takes into the cache those workflows of a plan that it lacks; with `all`, also those it has. */
  learnWorkflows(plan: DRPlan, all: boolean): Promise<void>;
  /** Reads anew the plans that a plan runs as parts of itself, and what those run in turn. */
  learnNestedPlans(plan: DRPlan): Promise<void>;
  isTerminating(namespace: string): Promise<boolean>;
}

const TIMEOUT_MS = 2000;
const MAX_READS = 30;

/** Lookups over caches and client. */
export function createLookups(deps: Pick<DrDeps, 'kube' | 'caches'>): Lookups {
  const { kube, caches } = deps;

  async function live<T extends Cacheable>(
    informer: Informer<T>,
    namespace: string,
    name: string,
  ): Promise<T | undefined> {
    const { kind } = informer;
    const object = await kube.get<T>(
      { apiVersion: API_VERSION, kind, namespace, name },
      { timeoutMs: TIMEOUT_MS },
    );
    if (object !== undefined) informer.learn(object);
    return object;
  }

  const usable = (plan: DRPlan | undefined): DRPlan | undefined =>
    plan?.metadata.deletionTimestamp === undefined ? plan : undefined;

  async function livePlan(namespace: string, name: string): Promise<DRPlan | undefined> {
    return usable(await live(caches.plans, namespace, name));
  }

  return {
    async plan(namespace, name) {
      return usable(caches.plans.get(namespace, name)) ?? livePlan(namespace, name);
    },
    livePlan,
    liveExecution: (namespace, name) => live(caches.executions, namespace, name),
    async learnWorkflows(plan, all) {
      const wanted = new Map(references(plan).map((ref) => [`${ref.namespace}/${ref.name}`, ref]));
      const reads = [...wanted.values()]
        .filter(({ namespace, name }) => all || caches.workflows.get(namespace, name) === undefined)
        .slice(0, MAX_READS);
      await Promise.all(
        reads.map(({ namespace, name }) => live<DRWorkflow>(caches.workflows, namespace, name)),
      );
    },
    async learnNestedPlans(plan) {
      const { namespace = 'default' } = plan.metadata;
      const seen = new Set([plan.metadata.name]);
      const spec: WorkflowSpecLookup = (at, name) => {
        const workflow = caches.workflows.get(at, name);
        return Array.isArray(workflow?.spec?.actions) ? workflow.spec : undefined;
      };
      const namesIn = (object: DRPlan): string[] =>
        nestedPlans(object, spec)
          .map(({ name }) => name)
          .filter((name) => !seen.has(name));
      const queue = namesIn(plan);
      for (let name = queue.shift(); name !== undefined && seen.size < MAX_READS; name = queue.shift()) {
        if (seen.has(name)) continue;
        seen.add(name);
        const found = await live<DRPlan>(caches.plans, namespace, name);
        if (found !== undefined) queue.push(...namesIn(found));
      }
    },
    async isTerminating(namespace) {
      return isGoing(kube, namespace);
    },
  };
}

async function isGoing(kube: KubeClient, name: string): Promise<boolean> {
  const namespace = await kube.get({ apiVersion: 'v1', kind: 'Namespace', name }, { timeoutMs: TIMEOUT_MS });
  return namespace === undefined || namespace.metadata.deletionTimestamp !== undefined;
}
