import { describeProblems, errorsOf } from '../../api/problem.js';
import type { Problem } from '../../api/problem.js';
import type { Condition, DRWorkflow, DRWorkflowStatus } from '../../api/types.js';
import { validateWorkflow } from '../../api/validate.js';
import { setCondition } from '../core/conditions.js';
import { refOf } from '../execution/identity.js';
import type { DrDeps } from '../execution/types.js';

/** Checks workflows and keeps what was found, so that a plan's check does not repeat it. */
export interface WorkflowKind {
  reconcile(workflow: DRWorkflow): Promise<void>;
  problems(workflow: DRWorkflow): readonly Problem[];
}

/** The row of DRWorkflow in the bridge's table: it has a status and no runs. */
export function createWorkflowKind(deps: Pick<DrDeps, 'caches' | 'writer'>): WorkflowKind {
  // By object: a cache hands out the same one until it changes.
  const checked = new WeakMap<DRWorkflow, readonly Problem[]>();

  function problems(workflow: DRWorkflow): readonly Problem[] {
    let found = checked.get(workflow);
    if (found === undefined) {
      found = validateWorkflow(workflow);
      checked.set(workflow, found);
    }
    return found;
  }

  return {
    problems,
    async reconcile(workflow) {
      await deps.writer.status(deps.caches.workflows, refOf(workflow), (current) =>
        workflowStatus(current, problems(current), new Date().toISOString()),
      );
    },
  };
}

/** Status of a workflow after a check. */
export function workflowStatus(
  workflow: DRWorkflow,
  problems: readonly Problem[],
  now: string,
): DRWorkflowStatus {
  const { status, metadata } = workflow;
  return {
    ...status,
    phase: errorsOf(problems).length > 0 ? 'Invalid' : 'Ready',
    conditions: readyCondition(status?.conditions, problems, metadata.generation, now),
    ...(metadata.generation !== undefined && { observedGeneration: metadata.generation }),
  };
}

/** Condition `Ready` for what a check has found; warnings are told in its message. */
export function readyCondition(
  conditions: readonly Condition[] | undefined,
  problems: readonly Problem[],
  generation: number | undefined,
  now: string,
): Condition[] {
  const errors = errorsOf(problems);
  const warnings = problems.filter((problem) => problem.severity === 'warning');
  return setCondition(
    conditions,
    {
      type: 'Ready',
      status: errors.length > 0 ? 'False' : 'True',
      reason: errors[0]?.reason ?? (warnings.length > 0 ? 'ValidWithWarnings' : 'Valid'),
      message:
        errors.length > 0
          ? describeProblems(errors)
          : warnings.length > 0
            ? `valid; warnings: ${describeProblems(warnings)}`
            : 'valid',
      ...(generation !== undefined && { observedGeneration: generation }),
    },
    now,
  );
}
