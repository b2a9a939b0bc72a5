import { API_VERSION } from '../../api/group.js';
import { isObject } from '../../api/json.js';
import { nestedPlans } from '../../api/nested-plans.js';
import type { WorkflowSpecLookup } from '../../api/nested-plans.js';
import type { DRPlan, DRWorkflow } from '../../api/types.js';
import type { KubeClient } from '../../kube/client.js';
import { keyFor } from '../resources.js';
import type { DrObject, Surroundings } from './check.js';

/** Gets from a cluster what the objects refer to and the files do not hold. */
export async function surroundingsIn(kube: KubeClient, objects: readonly DrObject[]): Promise<Surroundings> {
  const here = new Set(objects.map(({ kind, namespace, name }) => `${kind}/${namespace}/${name}`));
  const plans = new Map<string, DRPlan>();
  const workflows = new Map<string, DRWorkflow>();
  for (const { kind, namespace, object } of objects) {
    const spec = isObject(object.spec) ? object.spec : {};
    if (kind !== 'DRPlanExecution' || typeof spec.planRef !== 'string' || spec.planRef === '') continue;
    const key = `${namespace}/${spec.planRef}`;
    if (here.has(`DRPlan/${key}`) || plans.has(key)) continue;
    const found = await kube.get<DRPlan>(keyFor('DRPlan', namespace, spec.planRef));
    if (found !== undefined) plans.set(key, { apiVersion: API_VERSION, kind: 'DRPlan', ...found });
  }
  const users: { namespace: string; spec: unknown }[] = [
    ...objects
      .filter(({ kind }) => kind === 'DRPlan')
      .map(({ namespace, object }) => ({ namespace, spec: object.spec })),
    ...[...plans.values()].map(({ metadata, spec }) => ({
      namespace: metadata.namespace ?? 'default',
      spec,
    })),
  ];
  for (const reference of users.flatMap(referencesOf)) {
    const key = `${reference.namespace}/${reference.name}`;
    if (here.has(`DRWorkflow/${key}`) || workflows.has(key)) continue;
    const found = await kube.get<DRWorkflow>(keyFor('DRWorkflow', reference.namespace, reference.name));
    if (found !== undefined) workflows.set(key, found);
  }
  await findNested();
  return {
    workflow: (namespace, name) => workflows.get(`${namespace}/${name}`),
    plan: (namespace, name) => plans.get(`${namespace}/${name}`),
    complete: true,
  };

  /** Plans that the plans run as parts of themselves, with their workflows, and so on. */
  async function findNested(): Promise<void> {
    const inFiles = <T>(kind: string, namespace: string, name: string): T | undefined =>
      objects.find((entry) => entry.kind === kind && entry.namespace === namespace && entry.name === name)
        ?.object as T | undefined;
    const spec: WorkflowSpecLookup = (namespace, name) => {
      const key = `${namespace}/${name}`;
      const found = inFiles<DRWorkflow>('DRWorkflow', namespace, name) ?? workflows.get(key);
      return Array.isArray(found?.spec?.actions) ? found.spec : undefined;
    };
    const queue = [
      ...objects.flatMap(({ kind, namespace, name, object }) =>
        kind === 'DRPlan' ? [{ metadata: { namespace, name }, spec: object.spec } as DRPlan] : [],
      ),
      ...plans.values(),
    ];
    for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
      const { namespace = 'default' } = next.metadata;
      for (const { name } of nestedPlans(next, spec)) {
        const key = `${namespace}/${name}`;
        if (here.has(`DRPlan/${key}`) || plans.has(key)) continue;
        const found = await kube.get<DRPlan>(keyFor('DRPlan', namespace, name));
        if (found === undefined) continue;
        plans.set(key, { apiVersion: API_VERSION, kind: 'DRPlan', ...found });
        for (const ref of referencesOf({ namespace, spec: found.spec })) {
          const used = `${ref.namespace}/${ref.name}`;
          if (here.has(`DRWorkflow/${used}`) || workflows.has(used)) continue;
          const workflow = await kube.get<DRWorkflow>(keyFor('DRWorkflow', ref.namespace, ref.name));
          if (workflow !== undefined) workflows.set(used, workflow);
        }
        queue.push(found);
      }
    }
  }
}

/** Workflows that a plan refers to; tolerates a spec of any shape. */
export function referencesOf(plan: {
  namespace: string;
  spec: unknown;
}): { namespace: string; name: string }[] {
  const list = (value: unknown): unknown[] => (Array.isArray(value) ? (value as unknown[]) : []);
  const stages = isObject(plan.spec) ? list(plan.spec.stages) : [];
  return stages
    .flatMap((stage) => (isObject(stage) ? list(stage.workflows) : []))
    .flatMap((use) => {
      const ref = isObject(use) && isObject(use.workflowRef) ? use.workflowRef : {};
      if (typeof ref.name !== 'string' || ref.name === '') return [];
      const namespace =
        typeof ref.namespace === 'string' && ref.namespace !== '' ? ref.namespace : plan.namespace;
      return [{ namespace, name: ref.name }];
    });
}
