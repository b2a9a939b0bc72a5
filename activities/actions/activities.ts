import { ACTIVITY_TYPES } from '../../api/plan/actions/table.js';
import { activityOf, traitsOf } from '../../api/plan/actions/traits.js';
import { leanOutputs } from '../../api/plan/undo/lean-outputs.js';
import type {
  ActionActivities,
  ActionOutcome,
  ActionTask,
  WorkerActivities,
} from '../../workflows/plan/contract-tasks.js';
import { HANDLERS } from './index.js';
import { captureAction, runAction, settleAction, targetsAction } from '../core/attempt.js';
import { cleanUpAction } from '../core/clean-up.js';
import { decideStep } from '../core/decide.js';
import { evaluateStage } from '../core/evaluate.js';
import type { Handler } from '../core/handler.js';
import { createHeartbeats, steadyHeartbeats } from '../core/heartbeats.js';
import { createIdentityCheck } from '../core/identity.js';
import type { ActivityDeps } from '../core/deps.js';
import { createPolicies } from '../core/policies.js';
import type { AttemptDeps } from '../core/prepare.js';
import { createSnapshotStore } from '../core/snapshots.js';
import { createTargets } from '../core/target.js';
import { vouchFor } from '../core/vouch.js';
import { createPriorStore } from '../core/prior-store.js';
import { createVouching } from '../core/vouching.js';

/** There may be a thousand waits, and a sign of life costs some 3 CPU milliseconds. */
const WAIT_HEARTBEAT_MS = 10_000;

/** The activities of plans: one for each action type, and what belongs to all of them. */
export function createActionActivities(deps: ActivityDeps): WorkerActivities {
  const handlers = new Map<string, Handler>(ACTIVITY_TYPES.map((type) => [type, HANDLERS[type](deps)]));
  const frame: AttemptDeps = {
    kube: deps.kube,
    snapshots: createSnapshotStore(deps.kube),
    targets: createTargets(deps.egress, deps.traceRequest),
    log: deps.log,
    controllerIdentity: deps.controllerIdentity,
    confirmIdentity: createIdentityCheck(),
    policies: createPolicies(deps.kube),
    heartbeats: createHeartbeats(),
    notes: deps.notes,
    vouching: createVouching(deps),
    priors: createPriorStore(deps),
  };
  const handlerOf = ({ type }: ActionTask): Handler => {
    const handler = handlers.get(type);
    // A forged task may name any type.
    if (handler === undefined) throw new Error(`no activity carries out ${String(type)}`);
    return handler;
  };
  // The task alone decides what is done; the activity's name is for the Web UI.
  const actBy = (one: AttemptDeps) => async (task: ActionTask) =>
    lean(task, await runAction(task, handlerOf(task), one));
  const [act, wait] = [actBy(frame), actBy({ ...frame, heartbeats: steadyHeartbeats(WAIT_HEARTBEAT_MS) })];
  const actions = Object.fromEntries(
    ACTIVITY_TYPES.map((type) => [activityOf(type), traitsOf(type).isWait === true ? wait : act]),
  ) as unknown as ActionActivities;
  return {
    ...actions,
    decide: (task) => decideStep(task, frame),
    targets: (task) => targetsAction(task, handlerOf(task), frame),
    capture: (task) => captureAction(task, handlerOf(task), frame),
    cleanUp: (task) => cleanUpAction(task, handlerOf(task), frame),
    settle: async (task) => lean(task, await settleAction(task, handlerOf(task), frame)),
    evaluate: (task) => evaluateStage(task, frame),
    vouch: (task) => vouchFor(task, frame.vouching),
  };
}

/** An outcome in lean form, where the workflow accepts that. */
const lean = (task: ActionTask, outcome: ActionOutcome): ActionOutcome =>
  task.lean !== true || outcome.phase === 'Skipped' || outcome.outputs === undefined
    ? outcome
    : { ...outcome, ...leanOutputs(outcome.outputs) };
