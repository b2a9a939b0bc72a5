import type { Logger } from 'pino';
import type { Sealer } from '../api/seal.js';
import type { ActionType } from '../api/types.js';
import type { KubeClient } from '../kube/client.js';
import { createWatchPool } from '../kube/watch-pool.js';
import { isStepType } from '../workflows/contract.js';
import type { ActionTask, StepType, WorkerActivities } from '../workflows/contract.js';
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
  };
  const waiting = steadyHeartbeats(WAIT_HEARTBEAT_MS);
  const handlerOf = (type: ActionType): Handler => {
    if (isStepType(type)) throw new Error(`no activity carries out ${type}`);
    return handlers[type];
  };
  const act = (type: keyof typeof handlers) => (task: ActionTask) => runAction(task, handlers[type], frame);
  return {
    http: act('HTTP'),
    job: act('Job'),
    localization: act('Localization'),
    globalization: act('Globalization'),
    helmChart: act('HelmChart'),
    subscription: act('Subscription'),
    kubernetesResource: act('KubernetesResource'),
    wait: (task) => runAction(task, handlers.Wait, { ...frame, heartbeats: waiting }),
    notify: act('Notify'),
    decide: (task) => decideStep(task, frame.snapshots),
    targets: (task) => targetsAction(task, handlerOf(task.type), frame),
    capture: (task) => captureAction(task, handlerOf(task.type), frame),
    cleanUp: (task) => cleanUpAction(task, handlerOf(task.type), frame),
    settle: (task) => settleAction(task, handlerOf(task.type), frame),
    evaluate: (task) => Promise.resolve(evaluateStage(task)),
  };
}
