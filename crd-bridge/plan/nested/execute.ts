import type { Refusal } from '../../../api/core/refusal.js';
import { idempotencyKey, nestedExecutionName } from '../../../api/plan/naming.js';
import { MAX_NESTING } from '../../../api/plan/order/nesting.js';
import { isTerminalExecution } from '../../../api/core/phase.js';
import { renderString } from '../../../api/plan/template/render.js';
import type { RenderScope } from '../../../api/plan/template/render.js';
import type { Action, DRPlanExecution, DRPlanExecutionSpec } from '../../../api/plan/types.js';
import { checkName } from '../../../api/plan/validate/names.js';
import type { RunIdentity } from '../../../workflows/plan/contract.js';
import type { NestedRef, NestedState, NestedTask } from '../../../workflows/plan/contract-bridge.js';
import { isOurs, nameTaken, nestingOf } from './objects.js';
import type { NestedObjects } from './objects.js';
import { executed, failed, waiting } from './outcome.js';

/** Brings the Execute of a nested plan one step forward: makes its execution, waits for it, or reports its end. */
export async function lookAtExecute(
  objects: NestedObjects,
  look: NestedTask,
  action: Action,
  scope: RenderScope,
): Promise<NestedState> {
  const { task, known } = look;
  const how = stopOf(look);
  const { stop } = how;
  const { run } = task;
  const key = idempotencyKey({ uid: run.uid, at: task.at, direction: task.direction, round: task.round });
  const name = nestedExecutionName({ executionName: run.name, actionName: task.name, key });
  const found = await objects.find(run, name);
  if (found !== undefined && isOurs(found, run, key)) return follow(objects, run, found, how);
  if (known?.uid !== undefined) return gone(objects, run, { ...known, uid: known.uid }, how);
  if (found !== undefined) return failed(nameTaken(name));

  const spec = specOf(action, scope, task);
  const uid = await objects.remembered(run, spec.planRef, name);
  // Made by an attempt that was lost, and deleted since: a plan is never run twice for one action.
  if (uid !== undefined) return gone(objects, run, { name, uid, plan: spec.planRef, phase: 'Unknown' }, how);
  if (stop) return failed({ reason: 'Cancelled', message: 'no execution was made' });
  const refusal = checkRequest(run, spec) ?? checkNesting(task, spec.planRef);
  if (refusal !== undefined) return failed(refusal);
  const parent = await objects.find(run, run.name);
  const rerun = action.plan?.rerun ?? parent?.spec.rerun;
  const made = await objects.create(task, {
    name,
    key,
    spec: { ...spec, ...(rerun !== undefined && run.operation === 'Execute' && { rerun }) },
  });
  return 'reason' in made ? failed(made) : waiting(made);
}

/** Whether a look is to end what it finds, and whether also a rollback in it. */
type Stop = ReturnType<typeof stopOf>;
const stopOf = ({ stop, force }: NestedTask): { stop: boolean; force: boolean } => ({
  stop: stop === true,
  force: stop === true && force === true,
});

/** Ends what is to be stopped, and reports how far it is. */
async function follow(
  objects: NestedObjects,
  run: RunIdentity,
  execution: DRPlanExecution,
  { stop, force }: Stop,
): Promise<NestedState> {
  if (isTerminalExecution(execution.status?.phase)) return { kind: 'ended', outcome: executed(execution) };
  if (stop) await objects.cancel(run, execution, { force });
  return waiting(execution);
}

/** Somebody has deleted the execution, which cancels its run; what it did can only be looked up. */
async function gone(
  objects: NestedObjects,
  run: RunIdentity,
  ref: NestedRef & { uid: string },
  how: Stop,
): Promise<NestedState> {
  const what = `execution "${ref.name}" of plan "${ref.plan}" was deleted`;
  if (await objects.isOpen(run, ref, how)) {
    return {
      kind: 'waiting',
      ref: { ...ref, phase: 'Deleted' },
      message: `${what}; its run has not ended yet`,
    };
  }
  const message = `${what} before it was over, which cancelled its run; what it did cannot be undone automatically: see the history of the plan and the systems that it acts on`;
  return failed({ reason: 'ExecutionDeleted', message }, 'Unknown', { ...ref, phase: 'Deleted' });
}

function specOf(action: Action, scope: RenderScope, task: NestedTask['task']): DRPlanExecutionSpec {
  const { name = '', params = [], runMode } = action.plan ?? {};
  return {
    planRef: renderString(name, scope),
    operationType: 'Execute',
    ...(params.length > 0 && {
      params: params.map((param) => ({
        name: param.name,
        value: typeof param.value === 'string' ? renderString(param.value, scope) : param.value,
      })),
    }),
    ...modeOf(task),
    runMode: runMode ?? (task.run.runMode as NonNullable<DRPlanExecutionSpec['runMode']>),
  };
}

/** A part runs in the mode of the whole; the undo of a run that had a mode rolls back. */
function modeOf({ run, direction }: NestedTask['task']): Pick<DRPlanExecutionSpec, 'mode'> {
  const given = (run.target === undefined ? run.mode : run.target.mode) as DRPlanExecutionSpec['mode'];
  const mode = direction === 'forward' ? (run.mode as typeof given) : given && 'Rollback';
  return mode === undefined ? {} : { mode };
}

function checkRequest(run: RunIdentity, { planRef }: DRPlanExecutionSpec): Refusal | undefined {
  const [problem] = checkName(planRef, 'plan.name', 'subdomain');
  if (planRef !== '' && problem === undefined) return undefined;
  return {
    reason: 'InvalidName',
    message: `plan.name ${problem?.message ?? 'is empty'}; name a plan of namespace "${run.namespace}"`,
  };
}

/** The final check of depth and cycles: parameters may name another plan than the check of the plans saw. */
function checkNesting(task: NestedTask['task'], plan: string): Refusal | undefined {
  const { plans } = nestingOf(task);
  if (plans.includes(plan)) {
    return {
      reason: 'PlanCycle',
      message: `plan "${plan}" runs already, above this action: ${[...plans, plan].join(' → ')}; a plan cannot be part of itself`,
    };
  }
  if (plans.length <= MAX_NESTING) return undefined;
  return {
    reason: 'NestingTooDeep',
    message: `plan "${plan}" would be nested ${plans.length} levels deep (${[...plans, plan].join(' → ')}); at most ${MAX_NESTING} are allowed`,
  };
}
