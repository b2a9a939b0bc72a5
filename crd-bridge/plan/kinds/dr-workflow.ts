import { isObject } from '../../../api/core/json.js';
import { describeProblems, errorsOf } from '../../../api/core/problem.js';
import type { Problem } from '../../../api/core/problem.js';
import type { Condition, DRPlan, DRWorkflow, DRWorkflowStatus } from '../../../api/plan/types.js';
import { UNDECLARED, validateWorkflow } from '../../../api/plan/validate/index.js';
import type { Change } from '../../../kube/informer.js';
import { setCondition } from '../../core/conditions.js';
import { refOf } from '../../core/object-ref.js';
import type { DrDeps } from '../types.js';
import { references, usesOf } from './plan-references.js';

/** Checks workflows and keeps what was found, so that a plan's check does not repeat it. */
export interface WorkflowKind {
  reconcile(workflow: DRWorkflow): Promise<void>;
  /** What is wrong with a workflow by its own text, whatever plans give it. */
  problems(workflow: DRWorkflow): readonly Problem[];
  /** A plan is new, different or gone. Returns the workflows whose validity depends on what it gives. */
  planChanged(change: Change<DRPlan>): DRWorkflow[];
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

  const isOpen = (workflow: DRWorkflow): boolean =>
    problems(workflow).some(({ reason }) => reason === UNDECLARED);

  /** Judged with what plans give it, as far as that matters and plans are known. */
  function judged(workflow: DRWorkflow): readonly Problem[] {
    return isOpen(workflow) && deps.caches.plans.synced
      ? validateWorkflow(workflow, { supplied: suppliedTo(workflow, deps.caches.plans.list()) })
      : problems(workflow);
  }

  return {
    problems,
    async reconcile(workflow) {
      await deps.writer.status(deps.caches.workflows, refOf(workflow), (current) =>
        workflowStatus(current, judged(current), new Date().toISOString()),
      );
    },
    planChanged(change) {
      const { object } = change;
      const previous = change.kind === 'set' ? change.previous : undefined;
      if (previous !== undefined && previous?.metadata.generation === object.metadata.generation) return [];
      const used = [object, ...(previous === undefined ? [] : [previous])].flatMap(references);
      const unique = new Map(used.map((ref) => [`${ref.namespace}/${ref.name}`, ref]));
      return [...unique.values()].flatMap(({ namespace, name }) => {
        const workflow = deps.caches.workflows.get(namespace, name);
        return workflow !== undefined && isOpen(workflow) ? [workflow] : [];
      });
    },
  };
}

/** Names of the parameters that some plan gives a workflow that it uses. */
function suppliedTo({ metadata }: DRWorkflow, plans: readonly DRPlan[]): Set<string> {
  const { namespace = 'default', name } = metadata;
  return new Set(
    plans.flatMap((plan) => {
      const uses = usesOf(plan).filter((use) => use.ref.namespace === namespace && use.ref.name === name);
      if (uses.length === 0) return [];
      return [plan.spec.globalParams, ...uses.map(({ params }) => params)].flatMap(namesWithValue);
    }),
  );
}

/** Tolerates a list of any shape: plans are read as others have written them. */
function namesWithValue(entries: unknown): string[] {
  if (!Array.isArray(entries)) return [];
  return (entries as unknown[])
    .filter(isObject)
    .flatMap(({ name, value, default: fallback, valueFrom }) =>
      typeof name === 'string' && (value ?? fallback ?? valueFrom) !== undefined ? [name] : [],
    );
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

/** Condition `Ready` for what a check has found; its message lists warnings. */
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
