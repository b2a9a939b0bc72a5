/** How the state of objects is written into a Secret: packed, and with the worker's seal (S3.18). */
import { createHash } from 'node:crypto';
import { gunzipSync, gzipSync } from 'node:zlib';
import { API_VERSION, LABELS, PRIOR_STATE_TYPE } from '../../api/core/group.js';
import { positionLabel } from '../../api/plan/naming.js';
import type { ActionAddress } from '../../api/plan/snapshot/run.js';
import type { Sealer, SealState } from '../../api/core/seal.js';
import type { KubeObject } from '../../kube/object.js';

/** Whose action it is: for an undo, the execution that is undone. */
export interface PriorOwner {
  namespace: string;
  execution: { name: string; uid: string };
  at: ActionAddress;
}

/** What is kept: objects before the action, and after it. */
export type Part = 'prior' | 'after';

/** A part as it lies in a Secret. */
export interface Kept {
  field: string;
  json: string;
  digest: string;
  /** What its seal is worth; `wrong` where it has none. */
  sealState: SealState;
  hasSeal: boolean;
}

/** A Secret with a part of it. */
export interface PriorSecret extends KubeObject {
  data?: Record<string, string>;
}

/** A Secret holds at most 1 MiB; the rest is for what the action leaves behind, which has a Secret of its own if need be. */
export const MAX_PRIOR_BYTES = 900 * 1024;
const MAX_PLAIN_BYTES = 64 * 1024;
/** Bounds what a tampered Secret can inflate to. */
const MAX_INFLATED_BYTES = 64 * 1024 * 1024;

const sealOf = (part: Part): string => `${part}.seal`;
const inBase64 = (text: string): string => Buffer.from(text).toString('base64');

/** What a seal of a part covers: whose, of which action, what. */
const sealed = ({ execution, at }: PriorOwner, digest: string): unknown => ({
  uid: execution.uid,
  at,
  digest,
});

/** A Secret of an action, owned by its execution. */
export const priorSecret = (owner: PriorOwner, name: string, data: Record<string, string>): PriorSecret => ({
  apiVersion: 'v1',
  kind: 'Secret',
  type: PRIOR_STATE_TYPE,
  metadata: {
    name,
    namespace: owner.namespace,
    labels: { [LABELS.execution]: owner.execution.uid, [LABELS.action]: positionLabel(owner.at) },
    ownerReferences: [{ apiVersion: API_VERSION, kind: 'DRPlanExecution', ...owner.execution }],
  },
  data,
});

/**
 * Whether a Secret says that it belongs to an execution. Whoever may make Secrets can say so. One that was restored from
 * a backup is owned by the copy of its execution, and still carries the uid of the original in its label.
 */
export const isOwnedBy = ({ metadata }: PriorSecret, { execution }: PriorOwner): boolean =>
  metadata.labels?.[LABELS.execution] === execution.uid ||
  metadata.ownerReferences?.some((reference) => reference.uid === execution.uid) === true;

/** A part in the form that it is kept in, and how many bytes of a Secret it takes. */
export function pack(part: Part, json: string): { field: string; value: string; bytes: number } {
  const plain = Buffer.from(json);
  const isSmall = plain.length <= MAX_PLAIN_BYTES;
  const bytes = isSmall ? plain : gzipSync(plain);
  const field = isSmall ? `${part}.json` : `${part}.json.gz`;
  return { field, value: bytes.toString('base64'), bytes: bytes.length };
}

/** The entries of a packed part with its seal. */
export function sealedEntries(
  owner: PriorOwner,
  part: Part,
  { json, field, value }: { json: string; field: string; value: string },
  sealer: Sealer,
): Record<string, string> {
  const seal = sealer.seal(part, sealed(owner, digestOf(json)));
  return { [field]: value, [sealOf(part)]: inBase64(seal) };
}

/** Reads a part; undefined where there is none. */
export async function unpack(
  owner: PriorOwner,
  secret: PriorSecret,
  part: Part,
  sealer: Sealer,
): Promise<Kept | undefined> {
  const found = decode(secret, part);
  if (found === undefined) return undefined;
  const digest = digestOf(found.json);
  const text = secret.data?.[sealOf(part)];
  const seal = text === undefined ? undefined : Buffer.from(text, 'base64').toString('utf8');
  const sealState = await sealer.verify(part, sealed(owner, digest), seal);
  return { ...found, digest, sealState, hasSeal: seal !== undefined };
}

function decode({ data }: PriorSecret, part: Part): { field: string; json: string } | undefined {
  const plain = data?.[`${part}.json`];
  if (plain !== undefined)
    return { field: `${part}.json`, json: Buffer.from(plain, 'base64').toString('utf8') };
  const packed = data?.[`${part}.json.gz`];
  if (packed === undefined) return undefined;
  const json = gunzipSync(Buffer.from(packed, 'base64'), { maxOutputLength: MAX_INFLATED_BYTES });
  return { field: `${part}.json.gz`, json: json.toString('utf8') };
}

/** Bytes that a part takes in a Secret. */
export function bytesOf({ data }: PriorSecret, part: Part): number {
  const text = data?.[`${part}.json`] ?? data?.[`${part}.json.gz`] ?? '';
  return (text.length * 3) / 4;
}

/** SHA-256 of what is kept, in hexadecimal digits. */
export const digestOf = (json: string): string => createHash('sha256').update(json).digest('hex');
