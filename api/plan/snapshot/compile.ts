/**
 * Turns a snapshot into what workflow code runs: parameters merged, every default filled in, every placeholder known to
 * have a value. What can fail here fails before any action runs (S2.10).
 */
import {
  blockOf,
  needsCapture,
  operationOf,
  perClusterOf,
  retryOf,
  rollbackOf,
  timeoutOf,
} from '../actions/action-defaults.js';
import { descriptorOf, isActionType } from '../actions/table.js';
import { parseDuration } from '../../core/duration.js';
import { hookOf, modeText, runsIn } from '../order/hooks.js';
import type { MergedParameters } from '../template/parameters.js';
import { MAX_INLINE_BYTES, limitBodies } from './inline-bodies.js';
import { MAX_ACTIONS } from './parts.js';
import { dedupeProblems, errorsOf } from '../../core/problem.js';
import type { Problem } from '../../core/problem.js';
import {
  checkOutputs,
  mentionsOf,
  outputsUsed,
  readsOf,
  rollbackTypeOf,
  valuesUsed,
  whenMention,
} from '../template/references.js';
import type { Mention } from '../template/references.js';
import { RenderError, renderString } from '../template/render.js';
import type { ActionBody, ActionInput, StageInput, WorkflowInput } from './run.js';
import { bodyOf, parametersAt, stageParameters, workflowAt, workflowKey } from './snapshot.js';
import type { Snapshot } from './snapshot.js';
import type { Action, ActionType, Scalar, Stage } from '../types.js';

/** Most stages of a run (S6.9). */
export const MAX_STAGES = 200;

/** A compiled plan, or what keeps it from running. */
export type CompileResult =
  | {
      ok: true;
      stages: StageInput[];
      failurePolicy: 'Stop' | 'Continue';
      onFailure: 'Stop' | 'Pause' | 'Rollback';
      maxConcurrentStages: number;
      warnings: Problem[];
    }
  | { ok: false; problems: Problem[] };

/** What {@link compileRun} needs. */
export interface CompileRequest {
  /** Of a plan and workflows that were validated. */
  snapshot: Snapshot;
  /** Largest sum of the bodies that travel inside the run (default {@link MAX_INLINE_BYTES}). */
  maxInlineBytes?: number;
}

/**
 * Compiles a snapshot. Errors carry the reasons `WorkflowNotFound`, `MissingParameter`, `InvalidParameter`,
 * `UndefinedParameter`, `UndefinedOutput`, `InvalidPlaceholder`, `UnsupportedField`, `InvalidAction` and `PlanTooLarge`.
 */
export function compileRun(request: CompileRequest): CompileResult {
  const { snapshot, maxInlineBytes = MAX_INLINE_BYTES } = request;
  const { spec } = snapshot.plan;
  const problems: Problem[] = [];
  const stages = spec.stages.map((stage, index) => compileStage(snapshot, stage, index, problems));
  const actions = stages.flatMap((stage) => stage.workflows).flatMap((workflow) => workflow.actions);
  problems.push(...checkSize(stages.length, actions.length));
  const found = dedupeProblems(problems);
  if (errorsOf(found).length > 0) return { ok: false, problems: found };
  return {
    ok: true,
    stages: limitBodies(stages, maxInlineBytes),
    failurePolicy: spec.failurePolicy ?? 'Stop',
    onFailure: spec.onFailure ?? 'Stop',
    maxConcurrentStages: spec.maxConcurrentStages ?? 1,
    warnings: found,
  };
}

function compileStage(snapshot: Snapshot, stage: Stage, index: number, problems: Problem[]): StageInput {
  const { spec } = snapshot.plan;
  return {
    index,
    name: stage.name,
    parallel: stage.parallel ?? false,
    ...(stage.maxConcurrency !== undefined && { maxConcurrency: stage.maxConcurrency }),
    dependsOn: stage.dependsOn ?? [],
    ...(stage.when !== undefined &&
      compileWhen(snapshot, stage.when, `spec.stages[${index}].when`, problems)),
    failurePolicy: stage.failurePolicy ?? spec.failurePolicy ?? 'Stop',
    workflows: stage.workflows.flatMap((_, workflow) => compileUse(snapshot, index, workflow, problems)),
  };
}

function compileWhen(
  snapshot: Snapshot,
  when: string,
  path: string,
  problems: Problem[],
): Pick<StageInput, 'when' | 'whenParams' | 'whenReads'> {
  const mention = whenMention(when, path);
  const { phases, dynamic } = mention;
  return {
    when,
    whenParams: whenParams(snapshot, mention, problems),
    whenReads: {
      ...(phases.size > 0 && { phases: [...phases] }),
      ...(dynamic.has('phases') && { every: [] }),
    },
  };
}

function whenParams(snapshot: Snapshot, mention: Mention, problems: Problem[]): Record<string, Scalar> {
  const merged = stageParameters(snapshot);
  problems.push(...merged.problems, ...undefinedParams(mention, merged, new Set()));
  return valuesUsed([mention], merged.values);
}

function compileUse(
  snapshot: Snapshot,
  stage: number,
  workflow: number,
  problems: Problem[],
): WorkflowInput[] {
  const path = `spec.stages[${stage}].workflows[${workflow}]`;
  const ref = workflowAt(snapshot, { stage, workflow });
  const found = ref && snapshot.workflows[workflowKey(ref)];
  if (ref === undefined || found === undefined) {
    problems.push({
      severity: 'error',
      path: `${path}.workflowRef`,
      reason: 'WorkflowNotFound',
      message: `DRWorkflow "${ref === undefined ? '' : workflowKey(ref)}" does not exist; create it or correct the reference`,
    });
    return [];
  }
  const merged = parametersAt(snapshot, { stage, workflow });
  const { actions, parameters = [] } = found.spec;
  const where = `${path}.workflowRef(${workflowKey(ref)}).spec.actions`;
  const mentions = actions.map((action, index) => mentionsOf(action, `${where}[${index}]`));
  const declared = new Set(parameters.map((parameter) => parameter.name));
  const skips = actions.map((action) => skipOf(action, snapshot, found.skipped ?? []));
  // Of what mode Delete leaves out, nothing has to be there.
  const isLeftOut = (index: number): boolean => skips[index]?.reason === 'NoDelete';
  const needed = mentions.map((places, index) => (isLeftOut(index) ? [] : places));
  problems.push(...merged.problems, ...checkOutputs(actions, needed));
  for (const mention of needed.flat()) {
    problems.push(...mention.problems, ...undefinedParams(mention, merged, declared));
  }
  return [
    {
      ref,
      failurePolicy: found.spec.failurePolicy ?? 'FailFast',
      actions: actions.flatMap((action, index): ActionInput[] => {
        if (!isActionType(action.type)) {
          problems.push(unknownType(action, `${where}[${index}].type`));
          return [];
        }
        const own = mentions[index] ?? [];
        if (!isLeftOut(index)) {
          const at = `${where}[${index}]`;
          problems.push(
            ...checkOperation(action, action.type, snapshot, merged.values, at),
            ...checkFilledIn(action, action.type, merged.values, at),
          );
        }
        const reads = readsOf(own, action);
        const uses = outputsUsed(reads, action, actions);
        const used = { ...(uses !== undefined && { uses }), ...reads };
        const body = bodyOf(snapshot, { stage, workflow }, action, merged.values, own);
        const compiled = compileAction(action, action.type, used, body);
        const skip = skips[index];
        return [{ ...compiled, ...(skip !== undefined && { skip }) }];
      }),
    },
  ];
}

/** Why an action is not carried out in the mode of the run; undefined when it is. */
function skipOf(action: Action, { mode }: Snapshot, leftOut: readonly string[]): ActionInput['skip'] {
  const hook = hookOf(action);
  if (hook !== undefined && !runsIn(hook, mode)) {
    const now = mode === undefined ? 'the execution sets no mode' : `the mode is ${mode}`;
    return { reason: 'OtherMode', message: `a ${action.hookType} hook, and ${now}` };
  }
  if (!leftOut.includes(action.name)) return undefined;
  return {
    reason: 'NoDelete',
    message: `mode Delete does not tell how an action of type ${action.type} is taken back; give the workflow an action for it with when: mode == "delete"`,
  };
}

function undefinedParams(
  mention: Mention,
  { values, pending }: MergedParameters,
  declared: ReadonlySet<string>,
): Problem[] {
  return [...mention.requiredParams]
    .filter((name) => values[name] === undefined && !pending.has(name))
    .map((name) => ({
      severity: 'error',
      path: mention.path,
      reason: 'UndefinedParameter',
      message: declared.has(name)
        ? `uses parameter "${name}", which has no value; give it one in the plan, in the stage or in spec.params of the execution, or give it a default`
        : `uses parameter "${name}", which is neither declared nor given by the plan or the execution; check the spelling, or declare it`,
    }));
}

function unknownType(action: Action, path: string): Problem {
  return {
    severity: 'error',
    path,
    reason: 'InvalidAction',
    message: `action "${action.name}" has type "${action.type}", which cannot be executed`,
  };
}

/** A templated operation whose parameters are known now must be one that the type has, and Patch needs a rollback. */
function checkOperation(
  action: Action,
  type: ActionType,
  snapshot: Snapshot,
  values: Record<string, Scalar>,
  path: string,
): Problem[] {
  const written = operationOf(action);
  const { field, operations: allowed } = descriptorOf(type);
  if (written === undefined || allowed === undefined || allowed.includes(written)) return [];
  const operation = renderOperation(written, snapshot, values);
  if (operation === undefined) return [];
  const where = `${path}.${field}.operation`;
  if (!allowed.includes(operation)) {
    const message = `becomes "${operation}" with these parameters; allowed are ${allowed.join(', ')}`;
    return [{ severity: 'error', path: where, reason: 'InvalidField', message }];
  }
  if (operation !== 'Patch' || action.rollback !== undefined) return [];
  const message = 'becomes Patch with these parameters, which needs a rollback in the action';
  return [{ severity: 'error', path: where, reason: 'MissingRollback', message }];
}

/** What a type says of the values that parameters have given it. */
function checkFilledIn(
  action: Action,
  type: ActionType,
  values: Record<string, Scalar>,
  path: string,
): Problem[] {
  const descriptor = descriptorOf(type);
  const block = blockOf(action);
  if (block === undefined) return [];
  return descriptor.checkFilledIn?.(block, values, `${path}.${descriptor.field}`) ?? [];
}

/** Undefined while it depends on outputs, or on a parameter whose absence is reported elsewhere. */
function renderOperation(
  operation: string,
  snapshot: Snapshot,
  params: Record<string, Scalar>,
): string | undefined {
  const { plan, mode } = snapshot;
  const scope = {
    params,
    planName: plan.name,
    executionName: '',
    operation: snapshot.operation,
    outputs: {},
  };
  try {
    return renderString(operation, { ...scope, ...(mode !== undefined && { mode: modeText(mode) }) });
  } catch (error) {
    if (error instanceof RenderError) return undefined;
    throw error;
  }
}

function compileAction(
  action: Action,
  type: ActionType,
  used: Pick<ActionInput, 'uses' | 'reads' | 'undoReads'>,
  body: ActionBody,
): ActionInput {
  const totalTimeoutMs = parseDuration(action.totalTimeout ?? '');
  const hook = hookOf(action);
  return {
    name: action.name,
    type,
    ...(hook !== undefined && { hook: hook.position, hookType: action.hookType ?? '' }),
    dependsOn: action.dependsOn ?? [],
    timeoutMs: timeoutOf(action),
    ...(totalTimeoutMs !== undefined && { totalTimeoutMs }),
    retry: retryOf(action, type),
    capture: needsCapture(action),
    interruptible: action.interruptible ?? true,
    ...used,
    body,
    ...compileStep(action, type, body.params),
    ...compileCleanup(action, type),
    ...compileRollback(action, body.params),
    ...(isHarmless(action, type) && { harmless: true }),
  };
}

function compileRollback(action: Action, params: Record<string, Scalar>): Pick<ActionInput, 'rollback'> {
  const type = rollbackTypeOf(action);
  const rollback = rollbackOf(action);
  if (type === undefined || rollback === undefined) return {};
  const totalTimeoutMs = parseDuration(rollback.totalTimeout ?? '');
  return {
    rollback: {
      type,
      timeoutMs: timeoutOf(rollback),
      ...(totalTimeoutMs !== undefined && { totalTimeoutMs }),
      retry: retryOf(rollback, type),
      ...compileStep(rollback, type, params),
    },
  };
}

function compileCleanup({ hookCleanup = {} }: Action, type: ActionType): Pick<ActionInput, 'cleanup'> {
  const { beforeCreate, onSuccess, onFailure } = hookCleanup;
  const cleanup: ActionInput['cleanup'] = {
    ...(beforeCreate === true && { beforeCreate }),
    ...(onSuccess === true && { onSuccess }),
    ...(onFailure === true && { onFailure }),
  };
  return descriptorOf(type).creates === true && Object.keys(cleanup).length > 0 ? { cleanup } : {};
}

/** How an action, or a custom rollback, is carried out other than by one activity whose failure counts. */
function compileStep(
  action: Action,
  type: ActionType,
  params: Record<string, Scalar>,
): Pick<ActionInput, 'step' | 'perCluster' | 'optional'> {
  const descriptor = descriptorOf(type);
  const block = blockOf(action);
  const step = block === undefined ? undefined : descriptor.step?.(block, action, params);
  const perCluster = perClusterOf(action);
  return {
    ...(step !== undefined && { step }),
    ...(perCluster !== undefined && { perCluster }),
    ...(block !== undefined && descriptor.isOptional?.(block) === true && { optional: true }),
  };
}

function isHarmless(action: Action, type: ActionType): boolean {
  const block = blockOf(action);
  return block !== undefined && descriptorOf(type).changesNothing?.(block) === true;
}

function checkSize(stages: number, actions: number): Problem[] {
  const problems: Problem[] = [];
  const tooMany = (count: number, what: string, allowed: number): void => {
    if (count <= allowed) return;
    problems.push({
      severity: 'error',
      path: 'spec.stages',
      reason: 'PlanTooLarge',
      message: `the plan has ${count} ${what}; a run may have ${allowed}: split the plan`,
    });
  };
  tooMany(stages, 'stages', MAX_STAGES);
  tooMany(actions, 'actions', MAX_ACTIONS);
  return problems;
}
