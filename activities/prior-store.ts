/**
 * Keeps the state of objects before an action in a Secret owned by the execution: a revert needs no history, and what
 * is secret stays in a Secret (plan semantics, §3 prior state, §5).
 */
import { createHash } from 'node:crypto';
import { gunzipSync, gzipSync } from 'node:zlib';
import { API_VERSION, LABELS } from '../api/group.js';
import { canonicalJson } from '../api/json.js';
import { positionLabel, priorSecretName } from '../api/naming.js';
import type { ActionAddress } from '../api/run.js';
import type { KubeClient } from '../kube/client.js';
import { isAlreadyExists } from '../kube/error.js';
import type { KubeObject, ObjectKey } from '../kube/object.js';
import type { PriorRef } from '../workflows/contract.js';
import { isSameKey } from './objects.js';

/** One object before an action. */
export interface PriorDocument {
  key: ObjectKey;
  operation: string;
  /** Null: it was not there. */
  object: KubeObject | null;
  /** What the action writes, as it was rendered. */
  intent: KubeObject;
  /** Patch: that it is a strategic merge patch; absent = a JSON merge patch. */
  patchType?: 'strategic';
}

/** One object after an action, as the server stored it. */
export interface AfterDocument {
  key: ObjectKey;
  /** Null: the action removed it. */
  object: KubeObject | null;
  /** Nobody else has written between the record of the state before and the action. */
  exact?: true;
}

/** What is known about the objects of an action. */
export interface PriorState {
  documents: PriorDocument[];
  /** Absent objects were not reached, or the action ended without a word. */
  after: AfterDocument[];
}

/** Whose action it is: for an undo, the execution that is undone. */
export interface PriorOwner {
  namespace: string;
  execution: { name: string; uid: string };
  at: ActionAddress;
}

/** Why prior state is not available. */
export type PriorProblem = { ok: false; reason: string; message: string };

/** Reads and writes prior state. */
export interface PriorStore {
  /** Records once: what is recorded already is the truth and is left as it is. */
  record(
    owner: PriorOwner,
    documents: PriorDocument[],
  ): Promise<{ ok: true; prior: PriorRef } | PriorProblem>;
  /** What was recorded; undefined when nothing was. */
  find(
    owner: PriorOwner,
    ref?: PriorRef,
  ): Promise<{ ok: true; state: PriorState | undefined } | PriorProblem>;
  /**
   * Adds what the action left behind; of an object that was added before, the later state counts. What does not fit is
   * not kept: the undo then compares with what was written.
   */
  addAfter(owner: PriorOwner, after: AfterDocument[]): Promise<void>;
}

/** A Secret holds at most 1 MiB; the rest is for what the action leaves behind, which has a Secret of its own if need be. */
const LIMIT_BYTES = 900 * 1024;
const PLAIN_LIMIT_BYTES = 64 * 1024;
/** Bounds what a tampered Secret can inflate to. */
const INFLATED_LIMIT_BYTES = 64 * 1024 * 1024;
const SECRET_TYPE = 'dr.bkbcs.tencent.com/prior-state';

interface Secret extends KubeObject {
  data?: Record<string, string>;
}

/** A store in the cluster of the execution. `kube` acts as the controller. */
export function createPriorStore(kube: KubeClient): PriorStore {
  const keyOf = (owner: PriorOwner, suffix = ''): ObjectKey => ({
    apiVersion: 'v1',
    kind: 'Secret',
    namespace: owner.namespace,
    name:
      priorSecretName({ executionName: owner.execution.name, uid: owner.execution.uid, at: owner.at }) +
      suffix,
  });
  const secret = (owner: PriorOwner, name: string, data: Record<string, string>): Secret => ({
    apiVersion: 'v1',
    kind: 'Secret',
    type: SECRET_TYPE,
    metadata: {
      name,
      namespace: owner.namespace,
      labels: { [LABELS.execution]: owner.execution.uid, [LABELS.action]: positionLabel(owner.at) },
      ownerReferences: [{ apiVersion: API_VERSION, kind: 'DRPlanExecution', ...owner.execution }],
    },
    data,
  });
  const isOwn = (found: Secret, owner: PriorOwner): boolean =>
    found.metadata.ownerReferences?.some((reference) => reference.uid === owner.execution.uid) === true;

  async function readAfter(owner: PriorOwner, found: Secret): Promise<AfterDocument[]> {
    let after = decode(found, 'after');
    if (found.data?.['after.elsewhere'] !== undefined) {
      const more = await kube.get<Secret>(keyOf(owner, AFTER_SUFFIX));
      if (more !== undefined && isOwn(more, owner)) after = decode(more, 'after');
    }
    return after === undefined ? [] : (JSON.parse(after.json) as AfterDocument[]);
  }

  return {
    async record(owner, documents) {
      const key = keyOf(owner);
      const json = canonicalJson(documents);
      const [field, value] = encode('prior', json);
      if (value.length > LIMIT_BYTES) return tooLarge(value.length);
      try {
        await kube.create(secret(owner, key.name, { [field]: value.toString('base64') }));
        return { ok: true, prior: { name: key.name, key: field, digest: digestOf(json) } };
      } catch (error) {
        if (!isAlreadyExists(error)) throw error;
      }
      const found = await kube.get<Secret>(key);
      if (found === undefined || !isOwn(found, owner)) {
        return {
          ok: false,
          reason: 'AlreadyExists',
          message: `Secret ${owner.namespace}/${key.name} exists and does not belong to this execution, so the state before the action cannot be kept; delete or rename it`,
        };
      }
      const known = decode(found, 'prior');
      if (known === undefined) return missing(key, 'holds no state');
      return { ok: true, prior: { name: key.name, key: known.field, digest: digestOf(known.json) } };
    },

    async find(owner, ref) {
      const key = keyOf(owner);
      if (ref !== undefined && ref.name !== key.name)
        return missing({ ...key, name: ref.name }, "is another action's");
      const found = await kube.get<Secret>(key);
      if (found === undefined) {
        return ref === undefined ? { ok: true, state: undefined } : missing(key, 'is gone');
      }
      if (!isOwn(found, owner)) return missing(key, 'belongs to something else');
      const prior = decode(found, 'prior');
      if (prior === undefined) return missing(key, 'holds no state');
      if (ref !== undefined && digestOf(prior.json) !== ref.digest) return missing(key, 'was changed since');
      return {
        ok: true,
        state: {
          documents: JSON.parse(prior.json) as PriorDocument[],
          after: await readAfter(owner, found),
        },
      };
    },

    async addAfter(owner, after) {
      const key = keyOf(owner);
      const found = await kube.get<Secret>(key);
      if (found === undefined || !isOwn(found, owner)) return;
      const known = (await readAfter(owner, found)).filter(
        (one) => !after.some((other) => isSameKey(one.key, other.key)),
      );
      const [field, value] = encode('after', canonicalJson([...known, ...after]));
      const cleared = { 'after.json': null, 'after.json.gz': null };
      if (sizeOf(found, 'prior') + value.length <= LIMIT_BYTES) {
        const data = { ...cleared, 'after.elsewhere': null, [field]: value.toString('base64') };
        await kube.patch(key, { data }, { kind: 'merge' });
        return;
      }
      if (value.length > LIMIT_BYTES) return;
      const more = keyOf(owner, AFTER_SUFFIX);
      const data = { [field]: value.toString('base64') };
      try {
        await kube.create(secret(owner, more.name, data));
      } catch (error) {
        if (!isAlreadyExists(error)) throw error;
        const other = await kube.get<Secret>(more);
        if (other === undefined || !isOwn(other, owner)) return;
        await kube.patch(more, { data: { ...cleared, ...data } }, { kind: 'merge' });
      }
      await kube.patch(key, { data: { ...cleared, 'after.elsewhere': 'MQ==' } }, { kind: 'merge' });
    },
  };
}

const AFTER_SUFFIX = '-after';

/** Why the state before an action could not be recorded; undefined when it could. */
export function refuseSize(documents: PriorDocument[]): PriorProblem | undefined {
  const [, { length }] = encode('prior', canonicalJson(documents));
  return length > LIMIT_BYTES ? tooLarge(length) : undefined;
}

const tooLarge = (bytes: number): PriorProblem => ({
  ok: false,
  reason: 'PriorStateTooLarge',
  message: `the state before the action takes ${kib(bytes)} KiB compressed; at most ${kib(LIMIT_BYTES)} KiB can be kept in one Secret: split the manifest over several actions`,
});

type Part = 'prior' | 'after';

function encode(part: Part, json: string): [field: string, value: Buffer] {
  const plain = Buffer.from(json);
  return plain.length <= PLAIN_LIMIT_BYTES ? [`${part}.json`, plain] : [`${part}.json.gz`, gzipSync(plain)];
}

function decode(secret: Secret, part: Part): { field: string; json: string } | undefined {
  const plain = secret.data?.[`${part}.json`];
  if (plain !== undefined)
    return { field: `${part}.json`, json: Buffer.from(plain, 'base64').toString('utf8') };
  const packed = secret.data?.[`${part}.json.gz`];
  if (packed === undefined) return undefined;
  const json = gunzipSync(Buffer.from(packed, 'base64'), { maxOutputLength: INFLATED_LIMIT_BYTES });
  return { field: `${part}.json.gz`, json: json.toString('utf8') };
}

function sizeOf(secret: Secret, part: Part): number {
  const text = secret.data?.[`${part}.json`] ?? secret.data?.[`${part}.json.gz`] ?? '';
  return (text.length * 3) / 4;
}

function missing(key: ObjectKey, what: string): PriorProblem {
  return {
    ok: false,
    reason: 'PriorStateMissing',
    message: `the state before the action cannot be restored: Secret ${key.namespace}/${key.name}, where it was kept, ${what}; restore it from a backup, or undo the action by hand`,
  };
}

const digestOf = (json: string): string => createHash('sha256').update(json).digest('hex');
const kib = (bytes: number): number => Math.ceil(bytes / 1024);
