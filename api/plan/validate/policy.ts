import { blockOf } from '../actions/action-defaults.js';
import type { RefusedPlace } from '../actions/descriptor.js';
import { findDescriptor } from '../actions/table.js';
import { policyFor } from '../policy.js';
import type { Policy } from '../policy.js';
import type { Problem } from '../../core/problem.js';
import type { DRPolicySpec } from '../schema/policy.js';
import type { Action, DRPlan, DRWorkflow } from '../types.js';
import { error } from '../../core/fields.js';
import { isSample } from './sample.js';

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
        const body = { ...rollback, type: rollback.type ?? action.type } as Action;
        for (const found of refusals(body, policy, namespace)) {
          refuse(`${path}.rollback.${found.at}`, found.why);
        }
      }
    }
  }
  return problems;
}

/** What is refused of one action. A template that cannot be rendered is the matter of other checks. */
function refusals(action: Action, policy: Policy, planNamespace: string): RefusedPlace[] {
  const block = blockOf(action);
  return block === undefined
    ? []
    : (findDescriptor(action.type)?.refusals?.(block, policy, planNamespace) ?? []);
}
