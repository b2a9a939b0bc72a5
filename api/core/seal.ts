/**
 * Seals: what bridge and worker vouch for when it passes through hands that are trusted to store it but not to
 * authorise it, such as Temporal's, or lies where others may write (docs/security.md#seals). A seal is an HMAC-SHA256
 * over a purpose and the canonical JSON of a value, under a key of a ring that only bridge and worker hold.
 *
 * Seam: a voucher says the same by a signature, for programs that must not hold the key: it covers the same purpose and
 * JSON, and is verified beside a seal.
 */
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { canonicalJson } from './json.js';

/**
 * What a seal may say. A closed list: a seal for one purpose never counts for another, whatever its value.
 *
 * - `run`: who a run is, and how long it may begin
 * - `body`: what an action of a run does, where it is sent along
 * - `undo`: what a step of a revert undoes, and by what
 * - `effect`: what an action has left behind, for a rollback inside its run
 * - `memo`: what a run is to execute, as it is kept beside it
 * - `cluster`: a cluster that an action was found to be carried out in
 * - `answer`: an answer to an approval
 * - `cancel`: who asked for a cancel
 * - `settlement`: that what an ended stage has left is to be settled
 * - `prior`, `after`: an object before and after an action, as it is kept for a revert
 * - `name`: makes a name that nobody can guess
 * - `admission`: who created an object, and when
 * - `entity`: which workflow looks after an object, in which epoch
 * - `desired`: what an object is to be, as its workflow is told
 * - `retire`: that an object is being deleted, as its workflow is told
 */
export const SEAL_PURPOSES = [
  'run',
  'body',
  'undo',
  'effect',
  'memo',
  'cluster',
  'answer',
  'cancel',
  'settlement',
  'prior',
  'after',
  'name',
  'admission',
  'entity',
  'desired',
  'retire',
] as const;
/** One of {@link SEAL_PURPOSES}. */
export type SealPurpose = (typeof SEAL_PURPOSES)[number];

/** A key and its name. */
export interface SealKey {
  /** When it was made, as {@link newSealKey} writes it: ids in order are keys in order of age. */
  id: string;
  /** 32 bytes. */
  secret: Buffer;
}

/** The keys of one moment, newest first: the newest signs, all verify. */
export type SealKeys = readonly [SealKey, ...SealKey[]];

/** Keys that may be rotated while programs run. */
export interface SealRing {
  current(): SealKeys;
  /** Reads the keys anew from where they are kept; returns the present ones if that fails. */
  again(): Promise<SealKeys>;
}

/** What a seal is worth. */
export type SealState =
  | { kind: 'sealed' }
  /** Made under a key that the ring lacks: the key may be newer than the ring, so this is tried again and shown. */
  | { kind: 'unknownKey'; keyId: string }
  /** Absent, of another purpose or of another value: final. */
  | { kind: 'wrong' };

/** Seals and verifies with the keys of a ring. */
export interface Sealer {
  /** The seal of a value: `<key id>.<43 characters>`. */
  seal: (purpose: SealPurpose, value: unknown) => string;
  /** What a seal is worth for a value. For a key that it does not know, it reads the ring anew once. */
  verify: (purpose: SealPurpose, value: unknown, seal: unknown) => Promise<SealState>;
  /**
   * Sixteen hexadecimal digits that only a holder of the ring can work out from a value: with the newest key first,
   * then with each older one, to find what was named earlier.
   */
  digits: (value: unknown) => [string, ...string[]];
  /** Id of the key that signs now. */
  keyId: () => string;
  /** Whether the ring has a key. */
  knows: (keyId: string) => boolean;
}

/** A ring that cannot be used; says which entry, and what is allowed. */
export class SealRingError extends Error {
  override readonly name = 'SealRingError';
}

const KEY_BYTES = 32;
/** The second at which a key was made, in UTC. */
const KEY_ID = /^\d{8}T\d{6}Z$/;
const SEAL = /^(\d{8}T\d{6}Z)\.([A-Za-z0-9_-]{43})$/;
const NAME_DIGITS = 16;

/** A new entry for a ring: an id that is newer than those before it, and 32 random bytes in base64. */
export function newSealKey(now: Date): { id: string; value: string } {
  return {
    id: `${now.toISOString().slice(0, 19).replaceAll(/[-:]/g, '')}Z`,
    value: randomBytes(KEY_BYTES).toString('base64'),
  };
}

/** When a key was made, by its id. */
export const sealKeyTime = (id: string): Date =>
  new Date(id.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, '$1-$2-$3T$4:$5:$6Z'));

/**
 * Makes keys of a ring's entries: each is a key's id with 32 bytes in base64.
 *
 * @throws {@link SealRingError}
 */
export function parseSealKeys(entries: Readonly<Record<string, string>>): SealKeys {
  const keys = Object.entries(entries).map(([id, value]): SealKey => {
    if (!KEY_ID.test(id)) {
      throw new SealRingError(
        `entry ${JSON.stringify(id)}: a key is named after the second it was made in, such as 20261129T101500Z`,
      );
    }
    const secret = Buffer.from(value.trim(), 'base64');
    if (secret.length !== KEY_BYTES || secret.toString('base64') !== value.trim()) {
      throw new SealRingError(
        `key "${id}" is not ${KEY_BYTES} bytes in base64; make one with: openssl rand -base64 ${KEY_BYTES}`,
      );
    }
    return { id, secret };
  });
  const [newest, ...older] = keys.sort((a, b) => (a.id < b.id ? 1 : -1));
  if (newest === undefined) throw new SealRingError('there is no key in the ring');
  return [newest, ...older];
}

/** The seal of a value under one key. */
export function seal(key: SealKey, purpose: SealPurpose, value: unknown): string {
  return `${key.id}.${mac(key, purpose, value).toString('base64url')}`;
}

/** What a seal is worth for a value, by these keys alone. */
export function verifySeal(keys: SealKeys, purpose: SealPurpose, value: unknown, sealed: unknown): SealState {
  const match = typeof sealed === 'string' ? SEAL.exec(sealed) : null;
  const [, keyId = '', text = ''] = match ?? [];
  if (match === null) return { kind: 'wrong' };
  const key = keys.find(({ id }) => id === keyId);
  if (key === undefined) return { kind: 'unknownKey', keyId };
  const isRight = timingSafeEqual(mac(key, purpose, value), Buffer.from(text, 'base64url'));
  return isRight ? { kind: 'sealed' } : { kind: 'wrong' };
}

/** A sealer over a ring. */
export function createSealer(ring: SealRing): Sealer {
  return {
    seal: (purpose, value) => seal(ring.current()[0], purpose, value),
    async verify(purpose, value, sealed) {
      const checked = verifySeal(ring.current(), purpose, value, sealed);
      return checked.kind === 'unknownKey' ? verifySeal(await ring.again(), purpose, value, sealed) : checked;
    },
    digits(value) {
      const of = (key: SealKey): string => mac(key, 'name', value).toString('hex').slice(0, NAME_DIGITS);
      const [newest, ...older] = ring.current();
      return [of(newest), ...older.map(of)];
    },
    keyId: () => ring.current()[0].id,
    knows: (keyId) => ring.current().some(({ id }) => id === keyId),
  };
}

// A purpose has no line break, so that no two pairs of purpose and value give the same text.
const mac = ({ secret }: SealKey, purpose: SealPurpose, value: unknown): Buffer =>
  createHmac('sha256', secret)
    .update(`${purpose}\n${canonicalJson(value)}`)
    .digest();
