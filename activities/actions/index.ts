/** What carries out actions: one line for each type. */
import type { TraceRequest } from '../../api/core/trace-context.js';
import type { ACTIONS } from '../../api/plan/actions/table.js';
import { createWatchPool } from '../../kube/watch-pool.js';
import type { EgressPolicy } from '../core/egress.js';
import type { Handler } from '../core/handler.js';
import { createGlobalizationHandler } from './clusternet/globalization.js';
import { createHelmChartHandler } from './clusternet/helm-chart.js';
import { createLocalizationHandler } from './clusternet/localization.js';
import { perCluster } from './clusternet/subscription-clusters.js';
import { createSubscriptionHandler } from './clusternet/subscription.js';
import { createHttpHandler } from './http/http.js';
import { jobHandler } from './job/job.js';
import { createNotifyHandler } from './notify/notify.js';
import { createKubernetesResourceHandler } from './objects/kubernetes-resource.js';
import { createWaitHandler } from './wait/wait.js';

/** What handlers are made with. */
export interface HandlerDeps {
  /** Where actions may go: HTTP, and other clusters. */
  egress: EgressPolicy;
  /** Shows requests in the trace of their action (default: in none). */
  traceRequest?: TraceRequest;
}

/** A handler can do what the descriptor of its type says. */
type HandlerOf<Descriptor> = Handler &
  (Descriptor extends { preflight: 'writes' } ? Can<'writes'> : unknown) &
  (Descriptor extends { preflight: 'look' } ? Can<'look'> : unknown) &
  (Descriptor extends { operations: readonly string[] } ? Can<'capture'> : unknown) &
  (Descriptor extends { creates: true } ? Can<'leftovers'> : unknown) &
  (Descriptor extends { perCluster: true } ? Can<'targets'> : unknown);
type Can<Method extends keyof Handler> = Required<Pick<Handler, Method>>;

/** Makes a handler for each type of a table that workflow code does not carry out itself. */
export type Handlers<Actions> = {
  readonly [Type in keyof Actions as Actions[Type] extends { traits: { isStep: true } } ? never : Type]: (
    deps: HandlerDeps,
  ) => HandlerOf<Actions[Type]>;
};

/** Those of the types that there are. */
export const HANDLERS: Handlers<typeof ACTIONS> = {
  HTTP: ({ egress, traceRequest }) => createHttpHandler(egress, traceRequest),
  Job: () => jobHandler,
  Localization: () => createLocalizationHandler(),
  Globalization: () => createGlobalizationHandler(),
  HelmChart: () => createHelmChartHandler(),
  Subscription: () => perCluster(createSubscriptionHandler()),
  KubernetesResource: () => createKubernetesResourceHandler(),
  Wait: () => createWaitHandler(createWatchPool()),
  Notify: ({ egress, traceRequest }) => createNotifyHandler(egress, traceRequest),
};
