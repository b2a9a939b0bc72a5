/** Which effects were made, each once by its key. */
import { createHash } from 'node:crypto';
import type { Answer } from './answer.js';

/** One effect: all requests that carried its key. */
export interface Effect {
  key: string;
  method: string;
  path: string;
  body: unknown;
  /** How many requests carried the key. */
  requests: number;
  /** How often the effect was made: 1. */
  applied: number;
  /** When the effect was made, RFC 3339. */
  time: string;
}

/** The ledger. */
export interface Effects {
  /** In the order they were made. */
  effects: Effect[];
  /** Keys that came more than once. */
  duplicates: string[];
  /** Effects of requests without a key: nobody can tell whether two of them are one. */
  unkeyed: number;
}

/** A request that changes something. */
export interface Change {
  /** Absent: the request carried none. */
  key: string | undefined;
  method: string;
  path: string;
  body: unknown;
}

/** Keeps the promise of an `Idempotency-Key`. */
export interface Ledger {
  /** Makes a change, or gives the answer of the first request that carried its key. */
  once(change: Change, make: () => Answer): Answer;
  effects(): Effects;
}

/** An empty ledger. */
export function createLedger(): Ledger {
  const entries = new Map<string, { effect: Effect; fingerprint: string; answer: Answer }>();
  let unkeyed = 0;
  return {
    once({ key, method, path, body }, make) {
      const known = key === undefined ? undefined : entries.get(key);
      const fingerprint = fingerprintOf(method, path, body);
      if (known !== undefined) {
        known.effect.requests += 1;
        if (known.fingerprint !== fingerprint) {
          return { status: 422, body: { error: `key ${key} was used for another request` } };
        }
        return { ...known.answer, headers: { 'idempotency-replayed': 'true' } };
      }
      const answer = make();
      // A refused request had no effect: it may be sent again, corrected, under its key.
      if (answer.status >= 300) return answer;
      if (key === undefined) {
        unkeyed += 1;
        return answer;
      }
      const time = new Date().toISOString();
      const effect = { key, method, path, body, requests: 1, applied: 1, time };
      entries.set(key, { effect, fingerprint, answer });
      return answer;
    },
    effects() {
      const effects = [...entries.values()].map(({ effect }) => effect);
      return {
        effects,
        duplicates: effects.filter(({ requests }) => requests > 1).map(({ key }) => key),
        unkeyed,
      };
    },
  };
}

const fingerprintOf = (method: string, path: string, body: unknown): string =>
  createHash('sha256')
    .update(JSON.stringify([method, path, body]))
    .digest('hex');
