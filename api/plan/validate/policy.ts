import { isObject } from '../../core/json.js';
import { objectsIn } from '../../core/manifest.js';
import { policyFor } from '../policy.js';
import type { Policy } from '../policy.js';
import type { Problem } from '../../core/problem.js';
import { renderDocuments, renderString, renderValue } from '../template/render.js';
import type { DRPolicySpec } from '../schema/policy.js';
import type { Action, DRPlan, DRWorkflow } from '../types.js';
import { error } from './fields.js';
import { isSample, textsOf, trySample } from './sample.js';

type Body = Pick<Action, 'type' | 'job' | 'resource' | 'http' | 'notify'>;

/**
 * What the policies for a plan's namespace refuse of it, as far as it is written down: what placeholders stand for is
 * judged when an action runs. Reason `PolicyRefused`. Of a plan that was validated.
 */
export function checkPolicy(
  plan: DRPlan,
  lookup: (namespace: string, name: string) => DRWorkflow | undefined,
  policies: readonly DRPolicySpec[],
  /** Account that the plan acts as; undefined = the controller. */
  account: string | undefined,
): Problem[] {
  const { namespace = 'default' } = plan.metadata;
  const policy = policyFor(namespace, policies, isSample);
  const problems: Problem[] = [];
  const refuse = (path: string, why: string | undefined): void => {
    if (why !== undefined) problems.push(error(path, 'PolicyRefused', why));
  };
  refuse('spec.serviceAccountName', policy.refuseAccount(account));
  const seen = new Set<string>();
  for (const [index, stage] of plan.spec.stages.entries()) {
    for (const [use, { workflowRef }] of stage.workflows.entries()) {
      const key = `${workflowRef.namespace || namespace}/${workflowRef.name}`;
      if (seen.has(key)) continue;
      seen.add(key);
      const workflow = lookup(workflowRef.namespace || namespace, workflowRef.name);
      const inside = `spec.stages[${index}].workflows[${use}].workflowRef(${key}).spec.actions`;
      for (const [at, action] of workflow?.spec.actions.entries() ?? []) {
        const path = `${inside}[${at}]`;
        for (const found of refusals(action, policy, namespace)) refuse(`${path}.${found.at}`, found.why);
        const { rollback } = action;
        if (rollback === undefined) continue;
        const body = { ...rollback, type: rollback.type ?? action.type } as Body;
        for (const found of refusals(body, policy, namespace)) {
          refuse(`${path}.rollback.${found.at}`, found.why);
        }
      }
    }
  }
  return problems;
}

/** What is refused of one action. A template that cannot be rendered is the matter of other checks. */
function refusals(
  action: Body,
  policy: Policy,
  planNamespace: string,
): { at: string; why: string | undefined }[] {
  const render = <T>(texts: readonly string[], work: Parameters<typeof trySample<T>>[2]): T | undefined => {
    const sample = trySample('', texts, work);
    return 'value' in sample ? sample.value : undefined;
  };
  const { resource, job, http, notify } = action;
  const refusedUrl = (url: string | undefined, at: string): { at: string; why: string | undefined }[] => {
    const text = url === undefined ? undefined : render([url], (scope) => renderString(url, scope));
    const parsed = text === undefined || isSample(hostPart(text)) ? undefined : toUrl(text);
    if (parsed === undefined) return [];
    const port = Number(parsed.port) || (parsed.protocol === 'https:' ? 443 : 80);
    return [{ at, why: policy.refuseHost(parsed.hostname, port) }];
  };
  switch (action.type) {
    case 'KubernetesResource': {
      if (resource === undefined) return [];
      const { manifest } = resource;
      const operation = render([resource.operation ?? ''], (scope) =>
        renderString(resource.operation || 'Create', scope),
      );
      const documents = render([manifest], (scope) => objectsIn(renderDocuments(manifest, scope))) ?? [];
      return documents.filter(isObject).map((object) => {
        const metadata = isObject(object.metadata) ? object.metadata : {};
        // Which kinds have no namespace is known to the cluster only, so a missing one is looked at when it runs.
        return {
          at: 'resource.manifest',
          why: policy.refuseObject(
            { ...object, metadata: { namespace: planNamespace, ...metadata } },
            operation,
          ),
        };
      });
    }
    case 'Job': {
      if (job === undefined) return [];
      const template = render(textsOf(job.template), (scope) => renderValue(job.template, scope));
      const namespace = render([job.namespace ?? ''], (scope) =>
        renderString(job.namespace || 'default', scope),
      );
      const spec = isObject(template) && isObject(template.spec) ? template.spec : template;
      const object = {
        apiVersion: 'batch/v1',
        kind: 'Job',
        metadata: { name: 'of the action', namespace },
        spec,
      };
      return [{ at: 'job.template', why: policy.refuseObject(object, 'Create') }];
    }
    case 'HTTP':
      return refusedUrl(http?.url, 'http.url');
    case 'Notify':
      return refusedUrl(notify?.url, 'notify.url');
    default:
      return [];
  }
}

/** What stands where a URL has its host: a value there may be any host. */
const hostPart = (text: string): string => /^[a-z]+:\/\/([^/?#]*)/i.exec(text)?.[1] ?? text;

function toUrl(text: string): URL | undefined {
  try {
    return new URL(text);
  } catch {
    return undefined;
  }
}
