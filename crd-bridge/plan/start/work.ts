/** What an execution is to do: from the plan as it is, or from what its target has recorded. */
import type { Refusal } from '../../../api/core/refusal.js';
import { hasEffects } from '../../../api/plan/undo/effects.js';
import { compileRun } from '../../../api/plan/snapshot/compile.js';
import { API_VERSION } from '../../../api/core/group.js';
import { closeStage, pendingStage } from '../../../api/plan/progress.js';
import { takeSnapshot } from '../../../api/plan/snapshot/snapshot.js';
import type { Snapshot } from '../../../api/plan/snapshot/snapshot.js';
import { countActions } from '../../../api/plan/snapshot/parts.js';
import type { UndoStageInput, UndoStep } from '../../../api/plan/snapshot/run.js';
import { shareViews } from '../../../api/plan/undo/shared-views.js';
import type { DRPlan, DRPlanExecution, DRWorkflow, StageStatus } from '../../../api/plan/types.js';
import { planUndo } from '../../../api/plan/undo/undo.js';
import type { RunIdentity, RunInput, SnapshotRef } from '../../../workflows/plan/contract.js';
import { originOf } from './checks.js';
import { nothingToUndo } from './plan-checks.js';
import { refusalOf, refuse, Refused, throwIf } from './refused.js';
import { checkNewest, checkStays, checkTarget } from './revert-target.js';
import { sealBytes } from './seal-input.js';
import { expandStages, hasLostOutputs } from '../status/size-guard.js';
import type { CachedExecution, DrDeps } from '../types.js';

/** The stages to execute or to undo, and what status shows of them at first. */
export interface Work {
  input: Pick<
    RunInput,
    'stages' | 'undo' | 'undoStatuses' | 'failurePolicy' | 'onFailure' | 'maxConcurrentStages'
  >;
  statuses: StageStatus[];
  actions: number;
  target?: RunIdentity['target'];
  /** What the input of a revert takes, in bytes, where that was measured already: it may be large. */
  bytes?: number;
}

/** A snapshot, and for a Revert the execution that is undone. */
export interface WorkSource {
  snapshot: Snapshot;
  target?: DRPlanExecution;
}

/**
 * Finds what is to be run.
 *
 * @param recorded the snapshot of a run that an interrupted attempt has started already: then this is the one to run
 * @throws {@link Refused}
 */
export async function findWork(
  deps: Pick<DrDeps, 'kube' | 'caches' | 'snapshots'>,
  execution: DRPlanExecution,
  plan: DRPlan,
  recorded: SnapshotRef | undefined,
): Promise<WorkSource> {
  if (execution.spec.operationType === 'Revert') return findUndo(deps, execution, plan, recorded);
  if (recorded !== undefined) return { snapshot: await readSnapshot(deps, recorded) };
  const { snapshot, missing } = takeSnapshot({
    plan,
    execution,
    lookup: (namespace, name) => deps.caches.workflows.get(namespace, name),
  });
  if (missing.length > 0) return refuseMissing(plan.metadata.name, missing);
  return { snapshot };
}

/**
 * Compares the workflows of a snapshot with what the API server has: the watch of workflows may be behind that of
 * executions, and somebody who has just corrected a workflow must not see the uncorrected one run. Newer workflows go
 * into the cache, for the next attempt.
 *
 * @throws {@link Refused} when one is gone
 */
export async function areWorkflowsOutdated(
  { kube, caches }: Pick<DrDeps, 'kube' | 'caches'>,
  snapshot: Snapshot,
): Promise<boolean> {
  const checks = Object.entries(snapshot.workflows).map(async ([key, { uid, generation }]) => {
    const [namespace = '', name = ''] = key.split('/');
    const live = await kube.get<DRWorkflow>({ apiVersion: API_VERSION, kind: 'DRWorkflow', namespace, name });
    if (live === undefined) return key;
    caches.workflows.learn(live);
    return live.metadata.uid !== uid || live.metadata.generation !== generation;
  });
  const found = await Promise.all(checks);
  const missing = found.filter((result) => typeof result === 'string');
  if (missing.length > 0) return refuseMissing(snapshot.plan.name, missing);
  return found.includes(true);
}

const refuseMissing = (plan: string, missing: readonly string[]): never =>
  refuse(
    'WorkflowNotFound',
    `plan "${plan}" uses DRWorkflows that do not exist: ${missing.join(', ')}; create them or correct the references`,
  );

async function findUndo(
  deps: Pick<DrDeps, 'kube' | 'caches' | 'snapshots'>,
  execution: DRPlanExecution,
  plan: DRPlan,
  recorded: SnapshotRef | undefined,
): Promise<WorkSource> {
  const target = await findTarget(deps, execution);
  throwIf(checkTarget(execution, target));
  if (target?.status?.snapshotRef === undefined) throw new Error('unreachable: the target was checked');
  if (recorded === undefined) throwIf(checkStays(target));
  throwIf(checkNewest(execution, target, deps.caches.executions.list(), plan.status?.executionHistory));
  const snapshot = await readSnapshot(
    deps,
    recorded ?? { ...target.status.snapshotRef, namespace: execution.metadata.namespace ?? 'default' },
  );
  const { params = [] } = execution.spec;
  // Own parameters of a revert win over those that the target was run with.
  const own = new Set(params.map((parameter) => parameter.name));
  return {
    snapshot:
      params.length === 0 || recorded !== undefined
        ? snapshot
        : { ...snapshot, params: [...snapshot.params.filter(({ name }) => !own.has(name)), ...params] },
    target,
  };
}

async function readSnapshot(
  deps: Pick<DrDeps, 'snapshots'>,
  ref: Pick<SnapshotRef, 'name' | 'namespace' | 'digest'>,
): Promise<Snapshot> {
  return deps.snapshots.read(ref).catch((error: unknown) => {
    if (error instanceof Error && error.name !== 'KubeError') {
      return refuse(
        'SnapshotUnreadable',
        `${error.message}; without it the execution cannot be undone automatically`,
      );
    }
    throw error;
  });
}

async function findTarget(
  deps: Pick<DrDeps, 'kube'>,
  execution: DRPlanExecution,
): Promise<CachedExecution | undefined> {
  const { namespace } = execution.metadata;
  const name = execution.spec.revertExecutionRef;
  if (name === undefined || name === '') return undefined;
  // Live: the cache keeps no stages of what has ended.
  return deps.kube.get<CachedExecution>({
    apiVersion: API_VERSION,
    kind: 'DRPlanExecution',
    ...(namespace !== undefined && { namespace }),
    name,
  });
}

/**
 * Compiles what was found.
 *
 * @throws {@link Refused}
 */
export function workOf(snapshot: Snapshot, target: DRPlanExecution | undefined): Work {
  const compiled = compileRun({ snapshot });
  if (!compiled.ok) throw new Refused(refusalOf(compiled.problems));
  const { stages, failurePolicy, onFailure, maxConcurrentStages } = compiled;
  const plan = { failurePolicy, onFailure, maxConcurrentStages };
  const actions = countActions(stages);
  if (target === undefined) {
    const statuses = stages.map(pendingStage);
    return { input: { ...plan, stages, undo: [] }, statuses, actions };
  }
  const { undone = [], phase, temporal } = target.status ?? {};
  const sealKey = temporal?.sealKey;
  const origin = originOf(target);
  const stageStatuses = expandStages(target);
  const undo = planUndo({ stages, statuses: stageStatuses, undone }).map((stage) =>
    withSteps(stage, withLostOutputs),
  );
  if (phase !== 'Succeeded' && !hasEffects(stageStatuses, undone)) {
    throw new Refused(nothingToUndo(target.metadata.name, phase));
  }
  const steps = new Map(undo.map((stage) => [stage.index, stage.status]));
  const at = new Date().toISOString();
  const nothing = { reason: 'NothingToUndo', message: 'nothing to undo' };
  const statuses = stages.map(
    (stage) =>
      steps.get(stage.index) ?? closeStage(pendingStage(stage), { at, running: nothing, pending: nothing }),
  );
  const input = {
    ...plan,
    stages: [],
    undo,
    // The workflow lays the stages to undo over these, so that they travel only once.
    undoStatuses: statuses.map((status, index) =>
      steps.has(index) ? { name: status.name, phase: status.phase } : status,
    ),
  };
  return {
    ...fitted(input),
    statuses,
    actions,
    target: {
      name: target.metadata.name,
      uid: target.metadata.uid ?? '',
      ...(origin !== undefined && { origin }),
      ...(snapshot.mode !== undefined && { mode: snapshot.mode }),
      ...(sealKey !== undefined && { sealKey }),
    },
  };
}

/** The input of a revert, made smaller where Temporal would not accept it. */
function fitted(input: Work['input']): Pick<Work, 'input' | 'bytes'> {
  const bytes = sizeOf(input);
  if (bytes <= MAX_INPUT_BYTES) return { input, bytes };
  const shared = { ...input, undo: input.undo.map(shareViews) };
  const less = sizeOf(shared);
  if (less <= MAX_INPUT_BYTES) return { input: shared, bytes: less };
  // Created objects are found again by their marks. That takes longer, but is better than no undo.
  return { input: { ...shared, undo: shared.undo.map((stage) => withSteps(stage, asUnanswered)) } };
}

const withSteps = (stage: UndoStageInput, change: (step: UndoStep) => UndoStep): UndoStageInput => ({
  ...stage,
  steps: stage.steps.map(change),
});

const withLostOutputs = (step: UndoStep): UndoStep =>
  hasLostOutputs({ ...step.forward, type: step.input.type }) ? asUnanswered(step) : step;

/** An action whose outputs are not known is undone like one that ended without an answer: by its marks. */
function asUnanswered(step: UndoStep): UndoStep {
  const { outputs: _, ...forward } = step.forward;
  return { ...step, forward: { ...forward, phase: 'Failed', effect: 'Unknown' } };
}

const sizeOf = (input: Work['input']): number => Buffer.byteLength(JSON.stringify(input)) + sealBytes(input);

/** Temporal accepts 2 MiB for one input; the rest is for what every run carries beside its stages. */
export const MAX_INPUT_BYTES = 2 * 1024 * 1024 - 64 * 1024;

/**
 * Whether Temporal accepts the run.
 *
 * @param options.isForeseen the target has not run yet: this checks whether it could be reverted
 * @param options.more bytes that will be added to the input
 */
export function checkInputSize(
  { input, target, bytes }: Work,
  options: { isForeseen?: boolean; more?: number } = {},
): Refusal | undefined {
  const size = (bytes ?? sizeOf(input)) + (options.more ?? 0);
  if (size <= MAX_INPUT_BYTES) return undefined;
  const isRevert = target !== undefined;
  const what =
    isRevert && options.isForeseen !== true
      ? `undo execution "${target.name}" by hand, newest action first, and split the plan before it is run again`
      : 'split the plan, or shorten names, conditions and the parameters that they use';
  const run = isRevert && options.isForeseen === true ? 'a revert of the run' : 'the run';
  return {
    reason: 'PlanTooLarge',
    message: `${run} would take ${kib(size)} KiB to start, and Temporal takes ${kib(MAX_INPUT_BYTES)} KiB; ${what}`,
  };
}

const kib = (bytes: number): number => Math.ceil(bytes / 1024);
