/** Seals for tests: those of the stack, and those of a ring of a test's own. */
import { inject } from 'vitest';
import { createSealer, newSealKey, parseSealKeys } from '../../api/seal.js';
import type { SealKeys, Sealer } from '../../api/seal.js';
import { dataPaths } from '../../local/paths.js';
import { readEntries } from '../../runtime/entries-file.js';

const fixed = (keys: SealKeys): Sealer =>
  createSealer({ current: () => keys, again: () => Promise.resolve(keys) });

/** File of the ring that bridge and worker of the stack hold. */
export const stackRingFile = (): string => dataPaths(inject('dataDir')).sealRing;

/** Seals as bridge and worker of the stack do. */
export const stackSealer = async (): Promise<Sealer> =>
  fixed(parseSealKeys(await readEntries(stackRingFile())));

/** Seals under a key that nobody else holds. */
export function ownSealer(): Sealer {
  const { id, value } = newSealKey(new Date());
  return fixed(parseSealKeys({ [id]: value }));
}
