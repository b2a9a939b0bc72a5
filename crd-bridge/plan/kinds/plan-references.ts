import { isObject } from '../../../api/core/json.js';
import type { DRPlan } from '../../../api/plan/types.js';

/** One use of a workflow in a plan. */
export interface WorkflowUse {
  ref: { namespace: string; name: string };
  /** As they are written, of any shape. */
  params: unknown;
}

/** Uses of workflows in a plan; tolerates a spec of any shape. */
export function usesOf(plan: DRPlan): WorkflowUse[] {
  const { spec } = plan as { spec?: unknown };
  const list = (value: unknown): unknown[] => (Array.isArray(value) ? (value as unknown[]) : []);
  return list(isObject(spec) ? spec.stages : undefined)
    .flatMap((stage) => list(isObject(stage) ? stage.workflows : undefined))
    .flatMap((use) => {
      const ref = isObject(use) && isObject(use.workflowRef) ? use.workflowRef : {};
      if (typeof ref.name !== 'string' || ref.name === '') return [];
      const written = typeof ref.namespace === 'string' ? ref.namespace : '';
      const namespace = written || plan.metadata.namespace || 'default';
      return [{ ref: { name: ref.name, namespace }, params: isObject(use) ? use.params : undefined }];
    });
}

/** References of a plan to workflows; tolerates a spec of any shape. */
export const references = (plan: DRPlan): WorkflowUse['ref'][] => usesOf(plan).map(({ ref }) => ref);
