/**
 * Whether every cluster of a Subscription runs what its present spec says. Clusternet has no generation in a
 * Description and leaves Success standing while a change is on its way, so Success alone proves nothing: scheduling,
 * Base and content of the Description must have followed the spec, and Success must hold after the last change.
 */
import { isDeepStrictEqual } from 'node:util';
import { isObject } from '../../../api/core/json.js';
import { observe } from '../../../kube/observe.js';
import type { KubeObject } from '../../../kube/object.js';
import { APPS, bindingOf, CLUSTERS, isReachable, ORIGIN_UID, SUBSCRIPTION_UID } from './clusternet.js';
import type { ManagedCluster } from './clusternet.js';
import type { Attempt } from '../../core/handler.js';

/** What readiness is judged by. */
export interface SubscriptionState {
  subscription: KubeObject | undefined;
  bases: KubeObject[];
  descriptions: KubeObject[];
  clusters: ManagedCluster[];
}

/** What the Subscription was like before it was written. */
export interface Before {
  generation: number | undefined;
  specHash: unknown;
}

/** Answer of {@link judge}. */
export type Readiness =
  /** `stale` are Descriptions that do not follow the Subscription any more, as `namespace/name`. */
  | { kind: 'ready'; bindings: string[]; stale: string[] }
  | { kind: 'waiting'; for: string; failure?: string }
  | { kind: 'gone' };

/** How a wait ended. */
export type Waited =
  | Extract<Readiness, { kind: 'ready' }>
  /** The Subscription was deleted or created anew. */
  | { kind: 'gone' }
  /** The time is up. */
  | { kind: 'waiting'; for: string; failure?: string };

/** Time that a change by Clusternet to an existing Description needs to show, unless it fails. */
const QUIET_MS = 2000;
const RECHECK_MS = 500;

/**
 * Waits by watch until the Subscription of this uid is ready. `progress` is called with what is waited for.
 *
 * @param before state before the write; undefined when the Subscription is new, so that nothing can be stale
 */
export async function waitUntilReady(
  attempt: Attempt,
  subscription: { name: string; namespace: string; uid: string },
  before: Before | undefined,
  options: { timeoutMs: number; progress?: (waitingFor: string) => void },
): Promise<Waited> {
  const { name, namespace, uid } = subscription;
  const labelSelector = `${SUBSCRIPTION_UID}=${uid}`;
  let last: Waited = { kind: 'waiting', for: 'the first answer of the API server' };
  let seen = '';
  let quietSince = Date.now();
  const found = await observe(
    attempt.kube,
    {
      subscription: { apiVersion: APPS, kind: 'Subscription', namespace, name },
      bases: { apiVersion: APPS, kind: 'Base', labelSelector },
      descriptions: { apiVersion: APPS, kind: 'Description', labelSelector },
      clusters: { apiVersion: CLUSTERS, kind: 'ManagedCluster' },
    },
    (state): Waited | undefined => {
      const found = judge(
        {
          subscription: state.subscription.find((one) => one.metadata.uid === uid),
          bases: state.bases,
          descriptions: state.descriptions,
          clusters: state.clusters,
        },
        before,
      );
      const versions = versionsOf([...state.subscription, ...state.bases, ...state.descriptions]);
      if (versions !== seen) {
        seen = versions;
        quietSince = Date.now();
      }
      if (found.kind !== 'waiting') {
        const isSame = before === undefined || state.subscription.some((one) => !isChangedSince(one, before));
        if (found.kind === 'gone' || isSame || Date.now() - quietSince >= QUIET_MS) return found;
        last = { kind: 'waiting', for: 'the last change to settle' };
        return undefined;
      }
      last = found;
      options.progress?.(found.for);
      return undefined;
    },
    { signal: attempt.signal, timeoutMs: options.timeoutMs, recheckMs: RECHECK_MS },
  );
  return found ?? last;
}

/** Judges one moment. */
export function judge(state: SubscriptionState, before: Before | undefined): Readiness {
  const { subscription } = state;
  if (subscription === undefined) return { kind: 'gone' };
  if (subscription.metadata.deletionTimestamp !== undefined) return { kind: 'gone' };
  const spec = isObject(subscription.spec) ? subscription.spec : {};
  const status = isObject(subscription.status) ? subscription.status : {};

  const isChanged = before !== undefined && isChangedSince(subscription, before);
  if (isChanged && before.specHash !== undefined && status.specHash === before.specHash) {
    return { kind: 'waiting', for: 'Clusternet to schedule the new spec' };
  }
  const bindings = (Array.isArray(status.bindingClusters) ? status.bindingClusters : []).map(String);
  if (bindings.length === 0) return { kind: 'waiting', for: 'Clusternet to bind clusters' };

  const namespaces = new Set(bindings.map(namespaceOf));
  const left = state.bases.find((base) => !namespaces.has(base.metadata.namespace ?? ''));
  if (left !== undefined) {
    return { kind: 'waiting', for: `the removal from ${left.metadata.namespace ?? ''}` };
  }
  const waiting: string[] = [];
  const failures: string[] = [];
  const stale: string[] = [];
  for (const binding of bindings) {
    const result = judgeBinding(binding, spec, state);
    if ('stale' in result) stale.push(...result.stale);
    else if ('failure' in result) failures.push(`${binding}: ${result.failure}`);
    else waiting.push(`${binding}: ${result.waiting}`);
  }
  const failure = failures.length === 0 ? undefined : failures.join('; ');
  if (failure === undefined && waiting.length === 0) return { kind: 'ready', bindings, stale };
  return {
    kind: 'waiting',
    for: [...failures, ...waiting].join('; '),
    ...(failure !== undefined && { failure }),
  };
}

function judgeBinding(
  binding: string,
  spec: Record<string, unknown>,
  state: SubscriptionState,
): { waiting: string } | { failure: string } | { stale: string[] } {
  const namespace = namespaceOf(binding);
  const inCluster = (object: KubeObject): boolean =>
    object.metadata.namespace === namespace && object.metadata.deletionTimestamp === undefined;
  const feeds = feedsOf(spec);
  const bases = state.bases.filter(inCluster);
  if (bases.length === 0) return { waiting: 'no Base yet' };
  // A race of Clusternet's controllers often makes two. Changes reach one of them only, so the others do not count.
  const isCurrent = (base: KubeObject): boolean =>
    isDeepStrictEqual(feedsOf(isObject(base.spec) ? base.spec : {}), feeds);
  if (!bases.some(isCurrent)) return { waiting: 'its Base does not have the present feeds yet' };
  const left = new Set(bases.filter((base) => !isCurrent(base)).map(({ metadata }) => metadata.uid));
  const isLeft = ({ metadata }: KubeObject): boolean => {
    const origin = metadata.labels?.[ORIGIN_UID];
    return origin !== undefined && left.has(origin);
  };
  const all = state.descriptions.filter(inCluster);
  const descriptions = all.filter((description) => !isLeft(description));
  if (descriptions.length === 0) return { waiting: 'no Description yet' };
  const missing = feeds.find((feed) => !descriptions.some((description) => holds(description, feed)));
  if (missing !== undefined) {
    return { waiting: `its Description does not hold ${missing.kind} ${missing.name} yet` };
  }
  for (const description of descriptions) {
    const status = isObject(description.status) ? description.status : {};
    if (status.phase === 'Success') continue;
    if (status.phase === 'Failure') {
      return { failure: `deployment failed: ${textOf(status.reason) || 'Clusternet gives no reason'}` };
    }
    const cluster = state.clusters.find((one) => bindingOf(one) === binding);
    const lost = cluster !== undefined && !isReachable(cluster) ? '; the cluster is not Ready' : '';
    return {
      waiting: `Description ${description.metadata.name} is ${textOf(status.phase) || 'new'}${lost}`,
    };
  }
  return { stale: all.filter(isLeft).map(({ metadata }) => `${namespace}/${metadata.name}`) };
}

interface Feed {
  apiVersion: string;
  kind: string;
  namespace: string;
  name: string;
}

function feedsOf(spec: Record<string, unknown>): Feed[] {
  const feeds = Array.isArray(spec.feeds) ? (spec.feeds as unknown[]) : [];
  return feeds
    .filter(isObject)
    .map((feed) => ({
      apiVersion: textOf(feed.apiVersion),
      kind: textOf(feed.kind),
      namespace: textOf(feed.namespace),
      name: textOf(feed.name),
    }))
    .sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1));
}

/** The objects that a Description deploys as they are; none for charts. */
export function objectsOf(description: KubeObject): KubeObject[] {
  const spec = isObject(description.spec) ? description.spec : {};
  if (spec.deployer === 'Helm' || !Array.isArray(spec.raw)) return [];
  return (spec.raw as unknown[]).map(decode).filter(isKubeObject);
}

/** Whether a Description deploys a feed: as a chart, or as an object among its raw ones. */
function holds(description: KubeObject, feed: Feed): boolean {
  const spec = isObject(description.spec) ? description.spec : {};
  const charts = Array.isArray(spec.charts) ? (spec.charts as unknown[]) : [];
  if (feed.kind === 'HelmChart') {
    return charts.some((chart) => isObject(chart) && chart.name === feed.name);
  }
  const raw = Array.isArray(spec.raw) ? (spec.raw as unknown[]) : [];
  return raw.some((item) => {
    const object = decode(item);
    return (
      isObject(object) &&
      object.kind === feed.kind &&
      isObject(object.metadata) &&
      object.metadata.name === feed.name
    );
  });
}

/** The real API stores base64; an object stored in plain form is accepted too. */
function decode(item: unknown): unknown {
  if (typeof item !== 'string') return item;
  try {
    return JSON.parse(Buffer.from(item, 'base64').toString('utf8')) as unknown;
  } catch {
    return undefined;
  }
}

const isKubeObject = (value: unknown): value is KubeObject =>
  isObject(value) &&
  typeof value.apiVersion === 'string' &&
  typeof value.kind === 'string' &&
  isObject(value.metadata) &&
  typeof value.metadata.name === 'string';

const isChangedSince = (subscription: KubeObject, before: Before): boolean =>
  before.generation !== subscription.metadata.generation;

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');

const namespaceOf = (binding: string): string => binding.split('/', 1)[0] ?? '';

const versionsOf = (objects: KubeObject[]): string =>
  objects
    .map(({ metadata }) => `${metadata.uid ?? ''}@${metadata.resourceVersion ?? ''}`)
    .sort()
    .join();
