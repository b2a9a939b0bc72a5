import { createHash } from 'node:crypto';

/** Hexadecimal digits of the digest in a build's name. */
const DIGEST_LENGTH = 12;

/**
 * What a build of workers is called unless it is told its name.
 *
 * @param bundle the workflow code: whether a run can be carried on depends on it alone
 */
export function buildName(version: string, bundle: string): string {
  return `${version}-${createHash('sha256').update(bundle).digest('hex').slice(0, DIGEST_LENGTH)}`;
}
