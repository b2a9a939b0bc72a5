import { API_VERSION } from '../../../../api/core/group.js';
import { isAccountName } from '../../../../api/plan/authority.js';
import { isObject } from '../../../../api/core/json.js';
import { nestedPlans } from '../../../../api/plan/order/nested-plans.js';
import type { WorkflowSpecLookup } from '../../../../api/plan/order/nested-plans.js';
import type { DRPlan, DRWorkflow } from '../../../../api/plan/types.js';
import { feedKey, needsTarget } from '../../../../api/plan/actions/override-effect.js';
import type { OverrideSources } from '../../../../api/plan/actions/override-effect.js';
import { shapesIn } from '../../../../api/core/shape.js';
import { validatePlan, validateWorkflow, writtenOverrides } from '../../../../api/plan/validate/index.js';
import type { WrittenOverride } from '../../../../api/plan/validate/index.js';
import { errorsOf } from '../../../../api/core/problem.js';
import type { Problem } from '../../../../api/core/problem.js';
import type { KubeClient } from '../../../../kube/client.js';
import { KubeError } from '../../../../kube/error.js';
import { createOpenApi } from '../../../../kube/openapi.js';
import { readOverrideSources } from '../../../../kube/override-sources.js';
import { problemsByDefinitions } from '../../../runs/known-definitions.js';
import { missingAccount } from '../missing-account.js';
import { keyFor } from '../../core/resources.js';
import type { DrObject, Surroundings } from './check.js';
import { referencesOf } from './references.js';

/** Feeds that are looked up in a cluster. */
const MOST_FEEDS = 200;
const FEED_TIMEOUT_MS = 10_000;

/**
 * Gets from a cluster what the objects refer to and the files do not hold.
 *
 * @param accounts service accounts in the files, as `namespace/name`
 */
export async function surroundingsIn(
  kube: KubeClient,
  objects: readonly DrObject[],
  accounts: ReadonlySet<string> = new Set(),
): Promise<Surroundings> {
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
  const inFiles = <T>(kind: string, namespace: string, name: string): T | undefined =>
    objects.find((entry) => entry.kind === kind && entry.namespace === namespace && entry.name === name)
      ?.object as T | undefined;
  await findNested();
  const sources = await findOverrides();
  const fields = await findFieldProblems();
  return {
    fields: (object) => fields.get(object) ?? [],
    overrides: (override) => sources.get(sourceKey(override)),
    workflow: (namespace, name) => workflows.get(`${namespace}/${name}`),
    plan: (namespace, name) => plans.get(`${namespace}/${name}`),
    complete: true,
  };

  /** What the definitions of the cluster say against what the workflows write. */
  async function findFieldProblems(): Promise<Map<unknown, Problem[]>> {
    const openApi = createOpenApi(kube, shapesIn);
    const found = new Map<unknown, Problem[]>();
    for (const { kind, object, namespace } of objects) {
      if (kind === 'DRPlan') found.set(object, await findAccountProblems(object, namespace));
      if (kind !== 'DRWorkflow' || errorsOf(validateWorkflow(object)).length > 0) continue;
      const workflow = object as unknown as DRWorkflow;
      found.set(object, await problemsByDefinitions(workflow, openApi, FEED_TIMEOUT_MS));
    }
    return found;
  }

  async function findAccountProblems(object: DrObject['object'], namespace: string): Promise<Problem[]> {
    const name = isObject(object.spec) ? object.spec.serviceAccountName : undefined;
    if (typeof name !== 'string' || !isAccountName(name) || accounts.has(`${namespace}/${name}`)) return [];
    const message = await missingAccount(kube, { namespace, name });
    if (message === undefined) return [];
    return [{ severity: 'warning', path: 'spec.serviceAccountName', reason: 'AccountNotFound', message }];
  }

  /** What is there about the feeds of the overrides that the plans write. */
  async function findOverrides(): Promise<Map<string, OverrideSources>> {
    const workflow = (namespace: string, name: string): DRWorkflow | undefined =>
      inFiles<DRWorkflow>('DRWorkflow', namespace, name) ?? workflows.get(`${namespace}/${name}`);
    const given = objects.flatMap(({ kind, object }) =>
      kind === 'DRPlan' ? [object as unknown as DRPlan] : [],
    );
    const wanted = new Map<string, WrittenOverride>();
    for (const plan of [...given, ...plans.values()]) {
      if (errorsOf(validatePlan(plan, workflow)).length > 0) continue;
      for (const override of writtenOverrides(plan, workflow)) {
        const { feed } = override.spec;
        const matters = isObject(feed) && feed.kind !== 'HelmChart' && needsTarget(override.spec);
        if (matters) wanted.set(sourceKey(override), override);
      }
    }
    const found = new Map<string, OverrideSources>();
    for (const [key, { kind, namespace, spec }] of [...wanted].slice(0, MOST_FEEDS)) {
      const query = { kind, namespace, feed: spec.feed as Record<string, unknown>, target: true };
      const signal = AbortSignal.timeout(FEED_TIMEOUT_MS);
      // Who may read plans need not be allowed to read this; it is judged again when the action runs.
      const read = await readOverrideSources(kube, query, { signal }).catch((error: unknown) => {
        if (signal.aborted || error instanceof KubeError) return undefined;
        throw error;
      });
      if (read !== undefined) found.set(key, read);
    }
    return found;
  }

  /** Plans that the plans run as parts of themselves, with their workflows, and so on. */
  async function findNested(): Promise<void> {
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

const sourceKey = ({ kind, namespace, spec }: WrittenOverride): string =>
  JSON.stringify([kind, namespace, isObject(spec.feed) ? feedKey(spec.feed) : '']);
