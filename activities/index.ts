import type { Logger } from 'pino';
import { leanOutputs } from '../api/lean-outputs.js';
import type { Sealer } from '../api/seal.js';
import type { ActionType } from '../api/types.js';
import type { KubeClient } from '../kube/client.js';
import { createWatchPool } from '../kube/watch-pool.js';
import { isStepType } from '../workflows/contract.js';
import type { ActionOutcome, ActionTask, StepType, WorkerActivities } from '../workflows/contract.js';
import { captureAction, runAction, settleAction, targetsAction } from './attempt.js';
import { cleanUpAction } from './clean-up.js';
import { decideStep } from './decide.js';
import type { EgressPolicy } from './egress.js';
import { evaluateStage } from './evaluate.js';
import { createGlobalizationHandler } from './globalization.js';
import type { Handler } from './handler.js';
import { createHeartbeats, steadyHeartbeats } from './heartbeats.js';
import { createHelmChartHandler } from './helm-chart.js';
import { createIdentityCheck } from './identity.js';
import { createHttpHandler } from './http.js';
import { jobHandler } from './job.js';
import { createKubernetesResourceHandler } from './kubernetes-resource.js';
import { createLocalizationHandler } from './localization.js';
import type { Notes } from './notes.js';
import { createNotifyHandler } from './notify.js';
import { createPolicies } from './policies.js';
import type { AttemptDeps } from './prepare.js';
import { createSnapshotStore } from './snapshots.js';
import { createSubscriptionHandler } from './subscription.js';
import { perCluster } from './subscription-clusters.js';
import { createTargets } from './target.js';
import { vouchFor } from './vouch.js';
import { createPriorStore } from './prior-store.js';
import { createVouching } from './vouching.js';
import { createWaitHandler } from './wait.js';

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
   * Whether a plan without `serviceAccountName` acts with the controller's own identity (plan semantics, §1). False:
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
    // A task that somebody has made up may say anything.
    if (isStepType(type) || !Object.hasOwn(handlers, type))
      throw new Error(`no activity carries out ${String(type)}`);
    return handlers[type];
  };
  // What is done is up to the task alone: by which name it was called is for the Web UI.
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

/** An outcome as it travels to a workflow that takes it so. */
const lean = (task: ActionTask, outcome: ActionOutcome): ActionOutcome =>
  task.lean !== true || outcome.phase === 'Skipped' || outcome.outputs === undefined
    ? outcome
    : { ...outcome, ...leanOutputs(outcome.outputs) };
