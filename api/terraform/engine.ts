/** The programs that carry out a configuration. */
import type { Refusal } from '../core/refusal.js';

/** Names of engines. */
export const ENGINE_NAMES = ['terraform', 'opentofu'] as const;
/** One of {@link ENGINE_NAMES}. */
export type EngineName = (typeof ENGINE_NAMES)[number];

/** Which program it was. */
export interface EngineIdentity {
  name: EngineName;
  version: string;
  /** SHA-256 of its file, in hexadecimal digits. */
  digest: string;
}

/** An engine on this machine. */
export interface FoundEngine {
  name: EngineName;
  /** As it tells it, such as `1.11.4` or `1.12.0-rc1`. */
  version: string;
  path: string;
}

/** Older ones write the JSON of plans in a form that is not understood. */
export const OLDEST_ENGINE = '1.1.0';

/**
 * Chooses an engine for a workspace: of the exact version, or the newest release for `latest`; of equal ones the first.
 *
 * @returns a refusal `EngineNotFound` that says what there is
 */
export function chooseEngine(
  found: readonly FoundEngine[],
  wanted: { name: EngineName; version: string },
): { engine: FoundEngine } | Refusal {
  const usable = found.filter(
    ({ name, version }) => name === wanted.name && compareEngineVersions(version, OLDEST_ENGINE) >= 0,
  );
  const candidates =
    wanted.version === 'latest'
      ? usable.filter(({ version }) => !version.includes('-'))
      : usable.filter(({ version }) => version === wanted.version);
  const [first, ...others] = candidates;
  if (first === undefined) return { reason: 'EngineNotFound', message: notFound(found, wanted) };
  const engine = others.reduce(
    (best, each) => (compareEngineVersions(each.version, best.version) > 0 ? each : best),
    first,
  );
  return { engine };
}

function notFound(found: readonly FoundEngine[], wanted: { name: EngineName; version: string }): string {
  const what = wanted.version === 'latest' ? wanted.name : `${wanted.name} ${wanted.version}`;
  const there = found.map(({ name, version, path }) => `${name} ${version} (${path})`);
  return (
    `no ${what} from ${OLDEST_ENGINE} on in DROVER_ENGINES or on the PATH; ` +
    `found: ${there.length === 0 ? 'no engine' : there.join(', ')}`
  );
}

/**
 * Negative, zero or positive, as `a` is older than, as old as or newer than `b`. A version with a suffix such as `-rc1` is
 * older than the one without.
 */
export function compareEngineVersions(a: string, b: string): number {
  const [coreA, preA] = splitOnce(a);
  const [coreB, preB] = splitOnce(b);
  const numbersA = coreA.split('.').map(Number);
  const numbersB = coreB.split('.').map(Number);
  for (let i = 0; i < 3; i += 1) {
    const difference = (numbersA[i] ?? 0) - (numbersB[i] ?? 0);
    if (difference !== 0) return difference;
  }
  if (preA === undefined || preB === undefined)
    return (preA === undefined ? 1 : 0) - (preB === undefined ? 1 : 0);
  return preA.localeCompare(preB, 'en', { numeric: true });
}

const splitOnce = (version: string): [string, string?] => {
  const at = version.indexOf('-');
  return at < 0 ? [version] : [version.slice(0, at), version.slice(at + 1)];
};
