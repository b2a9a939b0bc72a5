import { createSealer, newSealKey, parseSealKeys } from '../../../api/core/seal.js';
import type { Sealer } from '../../../api/core/seal.js';

/** Seals under a key that nobody else holds. */
export function ownSealer(made = new Date()): Sealer {
  const { id, value } = newSealKey(made);
  const keys = parseSealKeys({ [id]: value });
  return createSealer({ current: () => keys, again: () => Promise.resolve(keys) });
}
