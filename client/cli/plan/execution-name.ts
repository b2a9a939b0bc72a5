import { randomInt } from 'node:crypto';
import { shorten } from '../../../api/plan/naming.js';

/** Without vowels and look-alikes, as Kubernetes' own generated names. */
const ALPHABET = 'bcdfghjklmnpqrstvwxz2456789';
const SUFFIX_LENGTH = 5;
/** Leaves room for the suffixes of Jobs and other objects that carry the name. */
const MAX_HEAD = 40;

/**
 * A readable new name: `<plan>-x7k2p`, `<plan>-revert-x7k2p`. Made here and not by the API server, so that a create
 * whose answer was lost can be sent again without starting a second run.
 */
export function executionName(planName: string, operation: 'Execute' | 'Revert'): string {
  const head =
    operation === 'Revert' ? `${shorten(planName, MAX_HEAD - 7)}-revert` : shorten(planName, MAX_HEAD);
  const suffix = Array.from({ length: SUFFIX_LENGTH }, () => ALPHABET[randomInt(ALPHABET.length)]).join('');
  return `${head}-${suffix}`;
}
