import { createHash } from 'node:crypto';
import { parse, stringify } from 'yaml';
import { jsonPatch, mergePatch, readPath, type Json, type PatchOperation } from './json-patch.js';
import { names } from './labels.js';
import { selects } from './selector.js';
import type { Base, Feed, FeedSource, ManagedCluster, Override, OverrideEntry, World } from './world.js';

/** What one Description should be. */
export interface Rendering {
  deployer: 'Generic' | 'Helm';
  charts: { name: string; namespace: string }[];
  raw: string[];
  chartRaw: string[];
  /** Changes exactly when Clusternet would deploy again: not when an ApplyLater override comes or goes. */
  renderedFrom: string;
}

/** A Description, or why it cannot be made. */
export type RenderResult =
  | { kind: 'rendered'; rendering: Rendering }
  | { kind: 'nothing' }
  /** `cause` is the part of the message that the override at fault gets as an Event, too. */
  | { kind: 'failed'; reason: string; message: string; cause: string; override?: Override };

const chartKind = 'HelmChart';

/** The Manifest or HelmChart a feed means; Manifests are matched by their labels, as Clusternet does. */
export function feedSource(world: World, feed: Feed): FeedSource | undefined {
  const slash = feed.apiVersion.lastIndexOf('/');
  const group = slash < 0 ? '' : feed.apiVersion.slice(0, slash);
  if (feed.kind === chartKind && group === 'apps.clusternet.io') {
    return world.helmcharts.find(
      (chart) => chart.metadata.name === feed.name && chart.metadata.namespace === feed.namespace,
    );
  }
  const { config } = names;
  return world.manifests.find(({ metadata: { labels = {} } }) => {
    return (
      labels[config.group] === group &&
      labels[config.version] === feed.apiVersion.slice(slash + 1) &&
      labels[config.kind] === feed.kind &&
      labels[config.name] === feed.name &&
      (labels[config.namespace] ?? '') === (feed.namespace ?? '')
    );
  });
}

/** Renders what a Base deploys to its cluster by one of the two deployers. */
export function render(
  world: World,
  base: Base,
  cluster: ManagedCluster,
  deployer: 'Generic' | 'Helm',
): RenderResult {
  const feeds = (base.spec.feeds ?? []).filter((f) => (f.kind === chartKind) === (deployer === 'Helm'));
  if (feeds.length === 0) return { kind: 'nothing' };
  const rendering: Rendering = { deployer, charts: [], raw: [], chartRaw: [], renderedFrom: '' };
  const origins: unknown[] = [];
  for (const feed of feeds) {
    const source = feedSource(world, feed);
    if (source === undefined) {
      const message = `Base ${base.metadata.namespace}/${base.metadata.name} is using a nonexistent ${feed.kind} ${feed.namespace ?? ''}/${feed.name}`;
      return { kind: 'failed', reason: `Nonexistent${feed.kind}`, message, cause: message };
    }
    const overrides = overridesFor(world, source, cluster);
    origins.push(feed, source.metadata.uid, source.template ?? source.spec);
    origins.push(overridesNow(world, source).map((o) => [o.metadata.uid, o.spec]));
    try {
      if (deployer === 'Helm') {
        rendering.charts.push({ name: source.metadata.name, namespace: source.metadata.namespace ?? '' });
        rendering.raw.push(encode(helmValues(overrides, false, {})));
        rendering.chartRaw.push(encode(helmValues(overrides, true, source.spec as Json)));
      } else {
        rendering.raw.push(encode(overridden(source.template as unknown as Json, overrides)));
      }
    } catch (error) {
      if (!(error instanceof OverrideError)) throw error;
      const description = `${base.metadata.namespace}/${base.metadata.name}-${deployer.toLowerCase()}`;
      return {
        kind: 'failed',
        reason: 'FailedApplyingOverrides',
        message: `Failed to apply overrides for Description ${description}: ${error.message}`,
        cause: error.message,
        override: error.override,
      };
    }
  }
  rendering.renderedFrom = createHash('sha256').update(JSON.stringify(origins)).digest('hex').slice(0, 16);
  return { kind: 'rendered', rendering };
}

/**
 * What makes Clusternet render a feed again: any ApplyNow override of it, of whichever cluster. All that hold the feed are
 * rendered then, and take the ApplyLater overrides of their own clusters in.
 */
function overridesNow(world: World, source: FeedSource): Override[] {
  return [...world.globalizations, ...world.localizations].filter(
    (override) => isApplyNow(override) && isAbout(override, source),
  );
}

/** True for an override of a feed; one that is going has no effect any more. */
function isAbout(override: Override, source: FeedSource): boolean {
  return (
    override.metadata.deletionTimestamp === undefined &&
    override.metadata.labels?.[source.metadata.uid ?? ''] !== undefined
  );
}

/** True when a change of this override takes effect at once. */
export function isApplyNow(override: Override): boolean {
  return override.spec.overridePolicy === 'ApplyNow';
}

// Globalizations before Localizations, each from the lowest to the highest priority. Clusternet orders equals by
// the second within the minute in which they were created, so which one wins is chance.
function overridesFor(world: World, source: FeedSource, cluster: ManagedCluster): Override[] {
  const byPriority = (a: Override, b: Override): number =>
    (a.spec.priority ?? 500) - (b.spec.priority ?? 500) ||
    secondOf(a) - secondOf(b) ||
    a.metadata.name.localeCompare(b.metadata.name);
  const global = world.globalizations.filter(
    (o) => isAbout(o, source) && selects(o.spec.clusterAffinity ?? {}, cluster.metadata.labels),
  );
  const local = world.localizations.filter(
    (o) => isAbout(o, source) && o.metadata.namespace === cluster.metadata.namespace,
  );
  return [...global.sort(byPriority), ...local.sort(byPriority)];
}

const secondOf = ({ metadata }: Override): number =>
  new Date(metadata.creationTimestamp ?? 0).getUTCSeconds();

/** An override that cannot be applied. Clusternet names the entry of its list, not the object. */
class OverrideError extends Error {
  readonly override: Override;

  constructor(override: Override, message: string, cause: unknown) {
    super(message, { cause });
    this.override = override;
  }
}

function overridden(template: Json, overrides: Override[]): Json {
  let result = template;
  for (const override of overrides) {
    for (const entry of override.spec.overrides ?? []) {
      if (entry.value.trim() === '') continue;
      const parsed = parseValue(override, entry.value);
      try {
        result = changedBy(result, entry, parsed);
      } catch (error) {
        const text = `failed to apply OverrideConfig ${entry.name ?? ''}: ${(error as Error).message}`;
        throw new OverrideError(override, text, error);
      }
    }
  }
  return result;
}

function changedBy(object: Json, entry: OverrideEntry, parsed: Json): Json {
  const { type, fieldPath = '', fieldFormat } = entry;
  switch (type) {
    // Helm is not for charts only: its map is merged into an object like any other.
    case 'Helm':
    case 'MergePatch':
      return mergePatch(object, parsed);
    case 'JSONPatch':
      return jsonPatch(object, operationsOf(parsed));
    case 'FieldMergePatch':
      return inField(object, fieldPath, fieldFormat, (content) => mergePatch(content, parsed));
    case 'FieldJSONPatch':
      return inField(object, fieldPath, fieldFormat, (content) => jsonPatch(content, operationsOf(parsed)));
    default:
      throw new Error(`unsupported OverrideType ${type}`);
  }
}

function operationsOf(parsed: Json): PatchOperation[] {
  if (Array.isArray(parsed)) return parsed as unknown as PatchOperation[];
  throw new Error('a JSONPatch must be a list of operations');
}

/** Changes the document that a text field holds, as newer versions of Clusternet can. */
function inField(
  object: Json,
  path: string,
  format: string | undefined,
  change: (content: Json) => Json,
): Json {
  const text = readPath(object, path);
  if (typeof text !== 'string') throw new Error(`the field at ${path} is not a text`);
  if (text === '') return object;
  const changed = change(parse(text) as Json);
  const value = format === 'JSON' ? JSON.stringify(changed, undefined, 4) : stringify(changed);
  return jsonPatch(object, [{ op: 'replace', path, value }]);
}

function helmValues(overrides: Override[], chart: boolean, start: Json): Json {
  let result = start;
  for (const override of overrides) {
    for (const { type, value, overrideChart } of override.spec.overrides ?? []) {
      if (type !== 'Helm' || (overrideChart ?? false) !== chart) continue;
      result = mergePatch(result, parseValue(override, value));
    }
  }
  return result;
}

function parseValue(override: Override, value: string): Json {
  try {
    return parse(value) as Json;
  } catch (error) {
    const [line = ''] = (error as Error).message.split('\n');
    throw new OverrideError(override, `failed to convert patch ${value} to JSON: ${line}`, error);
  }
}

function encode(value: Json): string {
  return Buffer.from(JSON.stringify(value)).toString('base64');
}
