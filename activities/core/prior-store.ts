/**
 * Keeps the state of objects before an action in a Secret owned by the execution: a revert needs no history, and what
 * is secret stays in a Secret (S3.15, S3.18, S5.18). Whoever may make Secrets must not decide with one
 * what an undo restores: nobody can guess the name, and the content is sealed.
 */
import { canonicalJson } from '../../api/core/json.js';
import { priorSecretName } from '../../api/plan/naming.js';
import type { Sealer } from '../../api/core/seal.js';
import type { KubeClient } from '../../kube/client.js';
import { isAlreadyExists } from '../../kube/error.js';
import type { ObjectKey } from '../../kube/object.js';
import type { PriorRef } from '../../workflows/plan/contract-tasks.js';
import { isSameKey } from './objects.js';
import {
  bytesOf,
  digestOf,
  isOwnedBy,
  MAX_PRIOR_BYTES,
  pack,
  priorSecret,
  sealedEntries,
  unpack,
} from './prior-secret.js';
import type { Kept, PriorOwner, PriorSecret } from './prior-secret.js';
import type { AfterDocument, PriorDocument, PriorProblem, PriorState, PriorStore } from './prior.js';
import { NotYetVouched } from './vouching.js';

/** Where prior state is kept: `kube` acts as the controller in the cluster of the execution. */
interface Vault {
  kube: KubeClient;
  sealer: Sealer;
}

/** A store in the cluster of the execution. `kube` acts as the controller. */
export function createPriorStore(vault: Vault): PriorStore {
  return {
    record: (owner, documents, { isRepeated }) => record(vault, owner, documents, isRepeated),
    find: (owner, ref, options) =>
      ref === undefined ? search(vault, owner, options.keyId) : find(vault, owner, ref, options.byDigest),
    addAfter: (owner, ref, after) => addAfter(vault, owner, ref, after),
  };
}

const keyOf = ({ namespace }: PriorOwner, name: string): ObjectKey => ({
  apiVersion: 'v1',
  kind: 'Secret',
  namespace,
  name,
});

const read = ({ kube }: Vault, owner: PriorOwner, name: string): Promise<PriorSecret | undefined> =>
  kube.get<PriorSecret>(keyOf(owner, name));

/** Names by each key, newest first. */
function namesOf({ sealer }: Vault, owner: PriorOwner): [string, ...string[]] {
  const { execution, at } = owner;
  const base = earlierName(owner);
  const [newest, ...older] = sealer.digits({ uid: execution.uid, at });
  return [`${base}-${newest}`, ...older.map((digits) => `${base}-${digits}`)];
}

/** What a worker has recorded under a name, why it cannot be trusted, or undefined. */
async function recorded(
  vault: Vault,
  owner: PriorOwner,
  name: string,
): Promise<Kept | PriorProblem | undefined> {
  const found = await read(vault, owner, name);
  if (found === undefined) return undefined;
  const kept = isOwnedBy(found, owner) ? await unpack(owner, found, 'prior', vault.sealer) : undefined;
  return kept?.sealState.kind === 'sealed' ? kept : forged(keyOf(owner, name));
}

/** How objects were after the action, as far as that is kept. */
async function afterOf(vault: Vault, owner: PriorOwner, found: PriorSecret): Promise<Kept | undefined> {
  const { sealer } = vault;
  const { name } = found.metadata;
  if (found.data?.['after.elsewhere'] === undefined) return unpack(owner, found, 'after', sealer);
  const more = await read(vault, owner, name + AFTER_SUFFIX);
  return more === undefined || !isOwnedBy(more, owner) ? undefined : unpack(owner, more, 'after', sealer);
}

async function stateOf(
  vault: Vault,
  owner: PriorOwner,
  found: PriorSecret,
  prior: Kept,
): Promise<{ ok: true; state: PriorState } | PriorProblem> {
  const after = await afterOf(vault, owner, found);
  // Of an earlier release, which kept none, or under a key that is gone: it says at most which fields go back to what is
  // recorded, and that is vouched for.
  const isUnknown = after !== undefined && (after.sealState.kind === 'unknownKey' || !after.hasSeal);
  const isOld = prior.sealState.kind !== 'sealed';
  if (after?.sealState.kind !== 'sealed' && after !== undefined && !(isUnknown && isOld))
    return forged(keyOf(owner, found.metadata.name));
  return {
    ok: true,
    state: {
      documents: JSON.parse(prior.json) as PriorDocument[],
      after: after === undefined ? [] : (JSON.parse(after.json) as AfterDocument[]),
    },
  };
}

/** Looks for what a run that ended without a word has recorded. */
async function search(
  vault: Vault,
  owner: PriorOwner,
  keyId: string | undefined,
): ReturnType<PriorStore['find']> {
  const { sealer } = vault;
  for (const name of namesOf(vault, owner)) {
    const found = await read(vault, owner, name);
    if (found === undefined) continue;
    const prior = isOwnedBy(found, owner) ? await unpack(owner, found, 'prior', sealer) : undefined;
    return prior?.sealState.kind === 'sealed'
      ? stateOf(vault, owner, found, prior)
      : forged(keyOf(owner, name));
  }
  if (keyId !== undefined && !sealer.knows(keyId)) {
    return missing(
      keyOf(owner, `${earlierName(owner)}-…`),
      `is named by key "${keyId}", which is not in the ring`,
    );
  }
  // An earlier release has kept it under a name that anybody can work out.
  const earlier = await read(vault, owner, earlierName(owner));
  return earlier === undefined || !isOwnedBy(earlier, owner)
    ? { ok: true, state: undefined }
    : forged(keyOf(owner, earlierName(owner)));
}

/** Records documents, unless an attempt before has done so: then what it has recorded counts. */
async function record(
  vault: Vault,
  owner: PriorOwner,
  documents: PriorDocument[],
  isRepeated: boolean,
): ReturnType<PriorStore['record']> {
  const { kube, sealer } = vault;
  const json = canonicalJson(documents);
  const packed = pack('prior', json);
  if (packed.bytes > MAX_PRIOR_BYTES) return tooLarge(packed.bytes);
  const [name, ...older] = namesOf(vault, owner);
  for (const earlier of isRepeated ? older : []) {
    const known = await recorded(vault, owner, earlier);
    if (known !== undefined) return 'ok' in known ? known : { ok: true, prior: refTo(earlier, known) };
  }
  const data = sealedEntries(owner, 'prior', { ...packed, json }, sealer);
  try {
    await kube.create(priorSecret(owner, name, data));
    return { ok: true, prior: { name, key: packed.field, digest: digestOf(json) } };
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
  }
  const known = await recorded(vault, owner, name);
  if (known === undefined) return missing(keyOf(owner, name), 'is gone already');
  return 'ok' in known ? known : { ok: true, prior: refTo(name, known) };
}

/** Finds what a run says that it has recorded. */
async function find(
  vault: Vault,
  owner: PriorOwner,
  ref: PriorRef,
  byDigest: boolean,
): ReturnType<PriorStore['find']> {
  const key = keyOf(owner, ref.name);
  const base = earlierName(owner);
  if (ref.name !== base && !ref.name.startsWith(`${base}-`)) return missing(key, "is another action's");
  const found = await read(vault, owner, ref.name);
  if (found === undefined) return missing(key, 'is gone');
  if (!isOwnedBy(found, owner)) return missing(key, 'belongs to something else');
  const prior = await unpack(owner, found, 'prior', vault.sealer);
  if (prior === undefined) return missing(key, 'holds no state');
  const isSame = prior.digest === ref.digest;
  if (prior.sealState.kind === 'sealed')
    return isSame ? stateOf(vault, owner, found, prior) : missing(key, 'was changed since');
  if (byDigest && isSame) return stateOf(vault, owner, found, prior);
  if (prior.sealState.kind === 'unknownKey' && isSame) {
    const { keyId: id } = prior.sealState;
    const message = `Secret ${owner.namespace}/${ref.name} is sealed under key "${id}", which is not in the ring of this worker; put the key back`;
    throw new NotYetVouched('SealKeyUnknown', message);
  }
  return forged(key);
}

/** Adds how objects are after the action to what is known of others; where it finds no room, in a Secret of its own. */
async function addAfter(
  vault: Vault,
  owner: PriorOwner,
  ref: PriorRef,
  after: AfterDocument[],
): Promise<void> {
  const { kube, sealer } = vault;
  const key = keyOf(owner, ref.name);
  const found = await read(vault, owner, ref.name);
  if (found === undefined || !isOwnedBy(found, owner)) return;
  const before = await afterOf(vault, owner, found);
  const known = before?.sealState.kind === 'sealed' ? (JSON.parse(before.json) as AfterDocument[]) : [];
  const others = known.filter((one) => !after.some((other) => isSameKey(one.key, other.key)));
  const json = canonicalJson([...others, ...after]);
  const packed = pack('after', json);
  const entries = sealedEntries(owner, 'after', { ...packed, json }, sealer);
  const cleared = { 'after.json': null, 'after.json.gz': null, 'after.seal': null };
  if (bytesOf(found, 'prior') + packed.bytes <= MAX_PRIOR_BYTES) {
    const data = { ...cleared, 'after.elsewhere': null, ...entries };
    await kube.patch(key, { data }, { kind: 'merge' });
    return;
  }
  if (packed.bytes > MAX_PRIOR_BYTES) return;
  const more = keyOf(owner, ref.name + AFTER_SUFFIX);
  try {
    await kube.create(priorSecret(owner, more.name, entries));
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
    const other = await kube.get<PriorSecret>(more);
    if (other === undefined || !isOwnedBy(other, owner)) return;
    await kube.patch(more, { data: { ...cleared, ...entries } }, { kind: 'merge' });
  }
  await kube.patch(key, { data: { ...cleared, 'after.elsewhere': 'MQ==' } }, { kind: 'merge' });
}

const AFTER_SUFFIX = '-after';

const kept = (): Promise<never> => Promise.reject(new Error('nothing is recorded in a trial'));

/** For preflight, which only tries what an action would do: nothing is recorded. */
export const NO_PRIOR_STORE: PriorStore = { record: kept, find: kept, addAfter: kept };

/** The name without the digits that nobody can guess: what an earlier release has kept is there. */
const earlierName = ({ execution, at }: PriorOwner): string =>
  priorSecretName({ executionName: execution.name, uid: execution.uid, at });

const refTo = (name: string, { field, digest }: Kept): PriorRef => ({ name, key: field, digest });

/** Why the state before an action could not be recorded; undefined when it could. */
export function refuseSize(documents: PriorDocument[]): PriorProblem | undefined {
  const { bytes } = pack('prior', canonicalJson(documents));
  return bytes > MAX_PRIOR_BYTES ? tooLarge(bytes) : undefined;
}

const tooLarge = (bytes: number): PriorProblem => ({
  ok: false,
  reason: 'PriorStateTooLarge',
  message: `the state before the action takes ${kib(bytes)} KiB compressed; at most ${kib(MAX_PRIOR_BYTES)} KiB can be kept in one Secret: split the manifest over several actions`,
});

const forged = ({ namespace, name }: ObjectKey): PriorProblem => ({
  ok: false,
  reason: 'PriorStateForged',
  message: `what Secret ${namespace}/${name} says of the state before the action was not written by a worker, or was changed since, so it is not used; look who may write Secrets in this namespace, and undo the action by hand if need be`,
});

function missing(key: ObjectKey, what: string): PriorProblem {
  return {
    ok: false,
    reason: 'PriorStateMissing',
    message: `the state before the action cannot be restored: Secret ${key.namespace}/${key.name}, where it was kept, ${what}; restore it from a backup, or undo the action by hand`,
  };
}

const kib = (bytes: number): number => Math.ceil(bytes / 1024);
