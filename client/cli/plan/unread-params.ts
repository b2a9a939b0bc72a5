import { nearNames } from '../../../api/core/near.js';
import type { DRPlan, DRWorkflow, Parameter } from '../../../api/plan/types.js';

/** Warnings about parameters that a plan and its workflows do not read, each with the name that may have been meant. */
export function unreadParams(
  params: readonly Parameter[],
  plan: DRPlan,
  workflows: readonly DRWorkflow[],
): string[] {
  const declared = [
    ...(plan.spec.globalParams ?? []),
    ...plan.spec.stages.flatMap((stage) => stage.workflows.flatMap((reference) => reference.params ?? [])),
    ...workflows.flatMap((workflow) => workflow.spec.parameters ?? []),
  ].map((parameter) => parameter.name);
  const text = JSON.stringify([plan.spec, ...workflows.map((workflow) => workflow.spec)]);
  // A name ends where no further character of a name follows: "site" is not read because "siteB" is.
  const read = [...text.matchAll(/\bparams\.([A-Za-z0-9_-]+)/g)].map(([, name = '']) => name);
  const indexed = [...text.matchAll(/\bparams\[(?:\\?["'])([A-Za-z0-9_-]+)/g)].map(([, name = '']) => name);
  const known = new Set([...declared, ...read, ...indexed]);
  return params.flatMap(({ name }) => {
    if (known.has(name)) return [];
    const [near] = nearNames(name, [...known], 1);
    const meant = near === undefined ? '' : `; did you mean "${near}"?`;
    return [`nothing reads parameter "${name}"${meant}`];
  });
}
