/** Waits for a Subscription: first for what Clusternet says of it, then for the clusters themselves. */
import { formatDuration } from '../../../api/core/duration.js';
import { KubeError } from '../../../kube/error.js';
import { describeKey } from '../../../kube/object.js';
import type { KubeObject, ObjectKey } from '../../../kube/object.js';
import { checkChildren } from './child-check.js';
import { APPS, SUBSCRIPTION_UID } from './clusternet.js';
import type { Attempt } from '../../core/handler.js';
import { waitUntilReady } from './subscription-ready.js';
import type { Before } from './subscription-ready.js';

/** An attempt ends this long before its deadline, so that it can still say what it waited for. */
const MARGIN_MS = 1500;

/** How a wait ended; `message` is for a person. */
export type Ending =
  | { kind: 'ready'; message: string }
  | { kind: 'failed'; reason: 'Replaced'; message: string }
  | { kind: 'retry'; reason: 'NotReady' | 'DeploymentFailed'; message: string }
  | { kind: 'interrupted'; message: string };

/**
 * Waits until the Subscription of this uid is applied everywhere, and until its objects are ready in every cluster that
 * can be looked into. The message says which clusters could not be.
 *
 * @param before state before the write; undefined when the Subscription is new
 */
export async function awaitSubscription(
  attempt: Attempt,
  subscription: { name: string; namespace: string; uid: string },
  before: Before | undefined,
  options: { timeoutMs?: number; driftAfterMs: number },
): Promise<Ending> {
  const started = Date.now();
  const end = Math.min(attempt.deadline - MARGIN_MS, started + (options.timeoutMs ?? Infinity));
  const { name, namespace, uid } = subscription;
  const what = describeKey({ kind: 'Subscription', namespace, name });
  let waitingFor = 'Clusternet to bind clusters';
  const progress = (text: string): void => {
    waitingFor = text;
  };
  const late = async (text: string, failure: string | undefined): Promise<Ending> => {
    const complaints = await complaintsAbout(attempt, uid);
    const said = complaints.length === 0 ? '' : `; Clusternet says: ${complaints.join('; ')}`;
    return {
      kind: 'retry',
      reason: failure === undefined ? 'NotReady' : 'DeploymentFailed',
      message: `${what} is written, but after ${formatDuration(Date.now() - started)} not ready: ${failure ?? `it waits for ${text}`}${said}`,
    };
  };
  try {
    const waited = await waitUntilReady(attempt, subscription, before, {
      timeoutMs: end - Date.now(),
      progress,
    });
    if (waited.kind === 'gone') {
      const message = `${what} was deleted by someone else while it was waited for`;
      return { kind: 'failed', reason: 'Replaced', message };
    }
    if (waited.kind === 'waiting') return await late(waited.for, waited.failure);
    const { bindings, stale } = waited;
    const checked = await checkChildren(
      attempt,
      { uid, bindings, stale },
      { timeoutMs: end - Date.now(), driftAfterMs: options.driftAfterMs },
      progress,
    );
    if (checked.kind === 'waiting') return await late(checked.for, checked.failure);
    return { kind: 'ready', message: readyMessage(waited, checked) };
  } catch (error) {
    if (!attempt.signal.aborted) throw error;
    return { kind: 'interrupted', message: `waited for ${waitingFor}` };
  }
}

const MAX_COMPLAINTS = 3;

/** What Clusternet says when two of its controllers write one object at once. It tries again, and nothing is wrong. */
const CONFLICT = /the object has been modified/;

interface Complaint {
  namespace: string;
  reason: string;
  message: string;
}

/**
 * Warnings that Clusternet has reported about the Bases and Descriptions of a Subscription. An override that cannot be
 * applied, a feed that does not exist and missing credentials are reported nowhere else.
 */
async function complaintsAbout(attempt: Attempt, uid: string): Promise<string[]> {
  const { kube, signal } = attempt;
  try {
    const lists = await Promise.all(
      ['Base', 'Description'].map((kind) =>
        kube.list({ apiVersion: APPS, kind }, { labelSelector: `${SUBSCRIPTION_UID}=${uid}`, signal }),
      ),
    );
    const objects = lists.flatMap(({ items }) => items);
    const found = await Promise.all(
      objects.slice(0, MAX_COMPLAINTS * 2).map(async ({ metadata }) => {
        const events = await warningsOn(attempt, metadata.namespace, `uid=${metadata.uid ?? ''}`);
        return events.slice(-1);
      }),
    );
    const texts = found.flat().map(async (complaint) => {
      const { namespace, reason, message } = complaint;
      const culprit = await overrideAtFault(attempt, complaint);
      const text = `${namespace}: ${reason}: ${message}`.slice(0, 300);
      return culprit === undefined ? text : `${text} (told of Localization ${culprit}, too)`;
    });
    return [...new Set(await Promise.all(texts))].slice(0, MAX_COMPLAINTS);
  } catch (error) {
    // An account that may deploy need not be allowed to read Events; this only helps to find the cause.
    if (error instanceof KubeError) return [];
    throw error;
  }
}

async function warningsOn(
  { kube, signal }: Attempt,
  namespace: string | undefined,
  involved: string,
): Promise<(Complaint & { name: string })[]> {
  const { items } = await kube.list<
    KubeObject & { reason?: string; message?: string; involvedObject?: { name?: string } }
  >(
    { apiVersion: 'v1', kind: 'Event' },
    {
      namespace: namespace ?? '',
      fieldSelector: `involvedObject.${involved},type=Warning`,
      limit: 50,
      signal,
    },
  );
  return items
    .map(({ reason = '', message = '', involvedObject }) => ({
      namespace: namespace ?? '',
      name: involvedObject?.name ?? '',
      reason,
      message,
    }))
    .filter(({ message }) => !CONFLICT.test(message));
}

/** The Localization with the same warning: for a Base, Clusternet does not say which override stops it. */
async function overrideAtFault(attempt: Attempt, complaint: Complaint): Promise<string | undefined> {
  const events = await warningsOn(attempt, complaint.namespace, 'kind=Localization');
  return events.findLast(({ message }) => message !== '' && complaint.message.includes(message))?.name;
}

function readyMessage(
  { bindings, stale }: { bindings: readonly string[]; stale: readonly string[] },
  checked: { verified: string[]; unverified: { binding: string; why: string }[]; drift: string[] },
): string {
  const { verified, unverified, drift } = checked;
  const reasons = new Map<string, string[]>();
  for (const { binding, why } of unverified) reasons.set(why, [...(reasons.get(why) ?? []), binding]);
  return [
    `applied in ${bindings.join(', ')}`,
    ...(verified.length > 0 ? [`seen ready in ${verified.join(', ')} itself`] : []),
    ...[...reasons].map(([why, names]) => `not looked into ${names.join(', ')}: ${why}`),
    ...(stale.length > 0
      ? [
          `Clusternet has made more than one Base of it for a cluster, and its changes do not reach Description ${stale.join(', ')}: what only that one still holds may be deployed again; operation Replace clears it`,
        ]
      : []),
    ...drift.slice(0, 5).map((text) => `drift, which Clusternet does not repair: ${text}`),
  ].join('; ');
}

/** Key of a Subscription. */
export const subscriptionKey = (name: string, namespace: string): ObjectKey => ({
  apiVersion: APPS,
  kind: 'Subscription',
  namespace,
  name,
});
