/** What an approval is bound to (T6.3). */
import { createHash } from 'node:crypto';
import { canonicalJson } from '../core/json.js';
import type { EngineIdentity } from './engine.js';

/** Everything that decides what an apply of a plan does. */
export interface PlanDigestParts {
  run: string;
  planFile: string;
  archive: string;
  /** Under a key, since what they are could be guessed. */
  variables: string;
  /** Absent where the engine wrote none. */
  lockFile?: string;
  engine: EngineIdentity;
  lineage: string;
  serial: number;
  targets: readonly string[];
  replace: readonly string[];
  isDestroy: boolean;
}

/** The digest of a plan, in hexadecimal digits. */
export function planDigest(parts: PlanDigestParts): string {
  const { run, planFile, archive, variables, lockFile, engine, lineage, serial } = parts;
  const { targets, replace, isDestroy } = parts;
  // Named one by one: a field that is added elsewhere must not change digests that people have written down.
  const value = {
    ...{ run, planFile, archive, variables, lockFile: lockFile ?? null },
    engine: { name: engine.name, version: engine.version, digest: engine.digest },
    ...{ lineage, serial, targets, replace, isDestroy },
  };
  return createHash('sha256').update(canonicalJson(value)).digest('hex');
}
