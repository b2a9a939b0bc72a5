/**
 * Names, ids and keys that Drover derives. Every one is a pure function of what it names, so that any replica, after
 * any crash, arrives at the same.
 */
import { createHash } from 'node:crypto';
import { FIELD_MANAGER } from '../core/group.js';
import type { ActionAddress } from './snapshot/run.js';

const HASH_LENGTH = 8;
const MAX_LABEL_VALUE_LENGTH = 63;
/** Leaves room for a stage's suffix below Temporal's and the API server's limits (S6.2). */
const MAX_RUN_ID_NAME_LENGTH = 100;

const hashOf = (text: string, length = HASH_LENGTH): string =>
  createHash('sha256').update(text).digest('hex').slice(0, length);

interface Charset {
  /** Characters that may stand anywhere. */
  unsafe: RegExp;
  /** Characters that may not stand at the beginning. */
  head: RegExp;
  /** Characters that may not stand at the end. */
  tail: RegExp;
}

const DNS_LABEL: Charset = { unsafe: /[^a-z0-9-]+/g, head: /^-+/, tail: /-+$/ };
const DNS_SUBDOMAIN: Charset = { unsafe: /[^a-z0-9.-]+/g, head: /^[.-]+/, tail: /[.-]+$/ };
const LABEL_VALUE: Charset = {
  unsafe: /[^A-Za-z0-9._-]+/g,
  head: /^[^A-Za-z0-9]+/,
  tail: /[^A-Za-z0-9]+$/,
};

/** A text that is already safe and short stays; any other gets the hash of the whole text, so that two never meet. */
function fit(text: string, max: number, charset: Charset): string {
  const cased = charset === LABEL_VALUE ? text : text.toLowerCase();
  const safe = cased.replace(charset.unsafe, '-').replace(charset.head, '').replace(charset.tail, '');
  if (safe === text && text.length <= max && text !== '') return text;
  const hash = hashOf(text, Math.min(HASH_LENGTH, max));
  const room = max - hash.length - 1;
  const head = room > 0 ? safe.slice(0, room).replace(charset.tail, '') : '';
  return head === '' ? hash : `${head}-${hash}`;
}

/**
 * A DNS-1123 label of at most `max` characters. A name that is one already is kept; any other is cleaned, cut and given
 * a hash of the whole name: never just cut.
 */
export function shorten(name: string, max: number): string {
  return fit(name, max, DNS_LABEL);
}

/** A valid Kubernetes label value (at most 63 characters) for any text. The empty text stays empty. */
export function labelValue(text: string): string {
  return text === '' ? '' : fit(text, MAX_LABEL_VALUE_LENGTH, LABEL_VALUE);
}

/** Id of a cluster: the first eight characters of the uid of its kube-system namespace (S6.2). */
export function clusterId(kubeSystemUid: string): string {
  return kubeSystemUid.slice(0, 8);
}

/** Temporal workflow id of an execution's run, at most 200 characters (S6.2). */
export function runWorkflowId(execution: {
  cluster: string;
  namespace: string;
  name: string;
  uid: string;
}): string {
  const name = fit(execution.name, MAX_RUN_ID_NAME_LENGTH, DNS_SUBDOMAIN);
  return `dr/${execution.cluster}/${execution.namespace}/${name}/${execution.uid.slice(0, 8)}`;
}

const RUN_ID = /^dr\/[^/]+\/([^/]+)\/([^/]+)\/[0-9a-f]{8}(\/|$)/;

/** What the id of a run, or of a stage of it, says of its execution; nothing where its name may have been cut. */
export function aboutWorkflow(workflowId: string): { execution?: string } {
  const [, namespace, name = ''] = RUN_ID.exec(workflowId) ?? [];
  return namespace === undefined || name.length >= MAX_RUN_ID_NAME_LENGTH
    ? {}
    : { execution: `${namespace}/${name}` };
}

/** Longest name of a Subscription: for a longer one, Clusternet does not gather the state of its feeds. */
const MAX_SUBSCRIPTION_NAME_LENGTH = 57;

/**
 * Name of the Subscription that an action per cluster writes for one cluster: another one for each cluster, whatever
 * namespace it is in.
 *
 * @param cluster `namespace/name` of the ManagedCluster; a namespace has no dot, so that two never meet
 */
export function childSubscriptionName(name: string, cluster: string): string {
  return fit(`${name}--${cluster.replace('/', '.')}`, MAX_SUBSCRIPTION_NAME_LENGTH, DNS_SUBDOMAIN);
}

/** Position of an action as a label value: `<stage>.<workflow>.<action>`. */
export function positionLabel(at: ActionAddress): string {
  return `${at.stage}.${at.workflow}.${at.action}`;
}

/**
 * Identity of one effect (S3.7): `<uid>/s0/w1/a2/forward/0`. A lost or ambiguous attempt keeps
 * the round, and so the key; a definite failure or a person's retry raises it. What belongs to one cluster names it:
 * `<uid>/s0/w1/a2@namespace/name/forward/0`.
 */
export function idempotencyKey(effect: {
  /** The execution's uid; for an undo the uid of the execution that is undone. */
  uid: string;
  at: ActionAddress;
  direction: 'forward' | 'undo';
  round: number;
}): string {
  const { uid, at, direction, round } = effect;
  const action = at.cluster === undefined ? `a${at.action}` : `a${at.action}@${at.cluster}`;
  return `${uid}/s${at.stage}/w${at.workflow}/${action}/${direction}/${round}`;
}

/**
 * Name of the Job of an effect: a DNS-1123 label of at most 63 characters, the same for the same key, with the round at
 * its end (S3.25).
 */
export function jobName(job: EffectNames): string {
  return effectName(job);
}

/**
 * Name of the execution of a nested plan: as {@link jobName}, so that a lost attempt finds what it has made, and short
 * enough for what is named after it in turn.
 */
export function nestedExecutionName(nested: EffectNames): string {
  return effectName(nested);
}

/** What an object that an action makes is named after. */
interface EffectNames {
  executionName: string;
  actionName: string;
  /** From {@link idempotencyKey}. */
  key: string;
}

function effectName({ executionName, actionName, key }: EffectNames): string {
  const round = key.slice(key.lastIndexOf('/') + 1);
  const suffix = `${hashOf(key)}-${shorten(round, 10)}`;
  const action = shorten(actionName, 24);
  const execution = shorten(executionName, MAX_LABEL_VALUE_LENGTH - suffix.length - action.length - 2);
  return `${execution}-${action}-${suffix}`;
}

/**
 * Name of the ControllerRevision that keeps a snapshot. It depends on the content alone, so that it is written once per
 * content; further parts are named `<name>-1`, `<name>-2`, …
 */
export function snapshotName(snapshot: { planName: string; digest: string }): string {
  return `${shorten(snapshot.planName, 63)}-${snapshot.digest.slice(0, 16)}`;
}

/** Name of part `index` of the snapshot `name`. */
export function snapshotPartName(name: string, index: number): string {
  return index === 0 ? name : `${name}-${index}`;
}

/** Value of label `snapshot`: a digest is a character too long for a label. */
export const snapshotLabel = (digest: string): string => digest.slice(0, MAX_LABEL_VALUE_LENGTH);

/** Name of the Secret that keeps the state before an action. */
export function priorSecretName(prior: { executionName: string; uid: string; at: ActionAddress }): string {
  const { stage, workflow, action, cluster } = prior.at;
  const part = cluster === undefined ? '' : `-${hashOf(cluster)}`;
  return `${shorten(prior.executionName, 63)}-${prior.uid.slice(0, 8)}-prior-${stage}-${workflow}-${action}${part}`;
}

/** Where an action stands, by names alone: what field managers are told apart by. */
export interface NamedPlace {
  plan: { namespace: string; name: string };
  stage: string;
  /** `use` counts the uses of this workflow in the stage, from 0. */
  workflow: { namespace: string; name: string; use: number };
  action: string;
}

const MANAGER_HEAD_MAX_BYTES = 100;
const MANAGER_DIGEST_LENGTH = 12;

/** Tells the field manager of an action from all others: the same in every run, whatever stands around the action. */
export function managerDigest({ plan, stage, workflow, action }: NamedPlace): string {
  const { namespace, name, use } = workflow;
  const place = JSON.stringify([plan.namespace, plan.name, stage, namespace, name, use, action]);
  return hashOf(place, MANAGER_DIGEST_LENGTH);
}

/**
 * Field manager that an action writes under: `drover/<plan>/<action>/<digest>`, at most 113 bytes of the 128 that the API
 * server takes (S3.46). Characters that may not stand in one become "-"; the digest keeps two apart.
 */
export function fieldManager(action: { planName: string; actionName: string; digest: string }): string {
  const { planName, actionName, digest } = action;
  const head = `${FIELD_MANAGER}/${planName}/${actionName}`.replace(/[^\x21-\x7e]|["\\]/gu, '-');
  return `${head.slice(0, MANAGER_HEAD_MAX_BYTES)}/${digest}`;
}
