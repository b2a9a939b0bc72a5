import { isObject } from '../../../../api/core/json.js';

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
