import { isObject } from '../../../../api/core/json.js';
import { feedKey } from '../../../../api/plan/actions/override-effect.js';
import type { OverrideDocument, OverrideSources } from '../../../../api/plan/actions/override-effect.js';
import type { WrittenOverride } from '../../../../api/plan/validate/index.js';
import type { ManifestObject } from './parse.js';

/** Finds what an override is judged by; undefined where nothing is known about its feed. */
export type SourcesOf = (override: WrittenOverride) => OverrideSources | undefined;

const APPS = 'apps.clusternet.io/';

/**
 * What files hold about the feeds of overrides: Manifests of Clusternet, the objects themselves (as they are given to
 * `kubectl clusternet apply`), and other overrides. What the files do not hold is asked of `beyond`.
 */
export function sourcesInFiles(
  objects: readonly ManifestObject[],
  beyond: SourcesOf = () => undefined,
): SourcesOf {
  const targets = new Map<string, NonNullable<OverrideSources['target']>>();
  const local: OverrideDocument[] = [];
  const global: OverrideDocument[] = [];
  for (const { file, value } of objects) {
    const { apiVersion, kind, metadata } = value;
    if (!isObject(metadata) || typeof metadata.name !== 'string') continue;
    if (typeof apiVersion === 'string' && apiVersion.startsWith(APPS)) {
      const document = value as unknown as OverrideDocument;
      if (kind === 'Localization') local.push(document);
      if (kind === 'Globalization') global.push(document);
      if (kind === 'Manifest' && isObject(value.template)) {
        targets.set(keyOf(value.template), { name: `its Manifest of ${file}`, document: value.template });
      }
      continue;
    }
    const key = keyOf(value);
    if (!targets.has(key)) targets.set(key, { name: file, document: value });
  }
  return (override) => {
    const { namespace, spec } = override;
    if (!isObject(spec.feed)) return undefined;
    const target = targets.get(feedKey(spec.feed));
    const live = beyond(override);
    if (target === undefined && live === undefined) return undefined;
    const here = local.filter(({ metadata }) => metadata.namespace === namespace);
    const chosen = target ?? live?.target;
    return {
      ...(chosen !== undefined && { target: chosen }),
      local: [...named(live?.local ?? [], here), ...here],
      global: [...named(live?.global ?? [], global), ...global],
    };
  };
}

/** Those that no file replaces. */
const named = (live: readonly OverrideDocument[], files: readonly OverrideDocument[]): OverrideDocument[] =>
  live.filter((one) => !files.some(({ metadata }) => metadata.name === one.metadata.name));

function keyOf({ apiVersion, kind, metadata }: Record<string, unknown>): string {
  const { name, namespace } = isObject(metadata) ? metadata : {};
  return feedKey({ apiVersion, kind, name, namespace });
}
