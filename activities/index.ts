import type { Logger } from 'pino';
import { leanOutputs } from '../api/plan/undo/lean-outputs.js';
import type { Sealer } from '../api/core/seal.js';
import type { ActionType } from '../api/plan/types.js';
import type { KubeClient } from '../kube/client.js';
import { createWatchPool } from '../kube/watch-pool.js';
import { isStepType } from '../workflows/plan/contract-tasks.js';
import type {
  ActionOutcome,
  ActionTask,
  StepType,
  WorkerActivities,
} from '../workflows/plan/contract-tasks.js';
import { captureAction, runAction, settleAction, targetsAction } from './core/attempt.js';
import { cleanUpAction } from './core/clean-up.js';
import { decideStep } from './core/decide.js';
import type { EgressPolicy } from './core/egress.js';
import { evaluateStage } from './core/evaluate.js';
import { createGlobalizationHandler } from './actions/clusternet/globalization.js';
import type { Handler } from './core/handler.js';
import { createHeartbeats, steadyHeartbeats } from './core/heartbeats.js';
import { createHelmChartHandler } from './actions/clusternet/helm-chart.js';
import { createIdentityCheck } from './core/identity.js';
import { createHttpHandler } from './actions/http/http.js';
import { jobHandler } from './actions/job/job.js';
import { createKubernetesResourceHandler } from './actions/objects/kubernetes-resource.js';
import { createLocalizationHandler } from './actions/clusternet/localization.js';
import type { Notes } from './core/notes.js';
import { createNotifyHandler } from './actions/notify/notify.js';
import { createPolicies } from './core/policies.js';
import type { AttemptDeps } from './core/prepare.js';
import { createSnapshotStore } from './core/snapshots.js';
import { createSubscriptionHandler } from './actions/clusternet/subscription.js';
import { perCluster } from './actions/clusternet/subscription-clusters.js';
import { createTargets } from './core/target.js';
import { vouchFor } from './core/vouch.js';
import { createPriorStore } from './core/prior-store.js';
import { createVouching } from './core/vouching.js';
import { createWaitHandler } from './actions/wait/wait.js';

/** What activities are made with. */
export interface ActivityDeps {
  /** The cluster, as the controller. */
  kube: KubeClient;
  /** Where actions may go: HTTP, and other clusters. */
  egress: EgressPolicy;
  log: Logger;
  /** Verifies what comes by way of Temporal, and vouches for what is kept. */
  sealer: Sealer;
  /** Shows what actions wait for while they do. */
  notes: Notes;
  /** Until then runs that were begun by a release without seals go on. */
  acceptUnsealedUntil?: Date | undefined;
  /**
   * Whether a plan without `serviceAccountName` acts with the controller's own identity (S1.5). False:
   * its actions fail with `NoServiceAccount`.
   */
  controllerIdentity: boolean;
}

/** There may be a thousand waits, and a sign of life costs some 3 CPU milliseconds. */
const WAIT_HEARTBEAT_MS = 10_000;

/** The activities of a worker: one for each action type, and what belongs to all of them. */
export function createActivities(deps: ActivityDeps): WorkerActivities {
  const handlers: Record<Exclude<ActionType, StepType>, Handler> = {
    HTTP: createHttpHandler(deps.egress),
    Job: jobHandler,
    Localization: createLocalizationHandler(),
    Globalization: createGlobalizationHandler(),
    HelmChart: createHelmChartHandler(),
    Subscription: perCluster(createSubscriptionHandler()),
    KubernetesResource: createKubernetesResourceHandler(),
    Wait: createWaitHandler(createWatchPool()),
    Notify: createNotifyHandler(deps.egress),
  };
  const frame: AttemptDeps = {
    kube: deps.kube,
    snapshots: createSnapshotStore(deps.kube),
    targets: createTargets(deps.egress),
    log: deps.log,
    controllerIdentity: deps.controllerIdentity,
    confirmIdentity: createIdentityCheck(),
    policies: createPolicies(deps.kube),
    heartbeats: createHeartbeats(),
    notes: deps.notes,
    vouching: createVouching(deps),
    priors: createPriorStore(deps),
  };
  const waiting = steadyHeartbeats(WAIT_HEARTBEAT_MS);
  const handlerOf = (type: ActionType): Handler => {
    // A forged task may name any type.
    if (isStepType(type) || !Object.hasOwn(handlers, type))
      throw new Error(`no activity carries out ${String(type)}`);
    return handlers[type];
  };
  // The task alone decides what is done; the activity's name is for the Web UI.
  const act = async (task: ActionTask): Promise<ActionOutcome> =>
    lean(task, await runAction(task, handlerOf(task.type), frame));
  return {
    http: act,
    job: act,
    localization: act,
    globalization: act,
    helmChart: act,
    subscription: act,
    kubernetesResource: act,
    wait: async (task) =>
      lean(task, await runAction(task, handlerOf(task.type), { ...frame, heartbeats: waiting })),
    notify: act,
    decide: (task) => decideStep(task, frame),
    targets: (task) => targetsAction(task, handlerOf(task.type), frame),
    capture: (task) => captureAction(task, handlerOf(task.type), frame),
    cleanUp: (task) => cleanUpAction(task, handlerOf(task.type), frame),
    settle: async (task) => lean(task, await settleAction(task, handlerOf(task.type), frame)),
    evaluate: (task) => evaluateStage(task, frame),
    vouch: (task) => vouchFor(task, frame.vouching),
  };
}

/** An outcome in lean form, where the workflow accepts that. */
const lean = (task: ActionTask, outcome: ActionOutcome): ActionOutcome =>
  task.lean !== true || outcome.phase === 'Skipped' || outcome.outputs === undefined
    ? outcome
    : { ...outcome, ...leanOutputs(outcome.outputs) };
