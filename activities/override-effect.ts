/**
 * Whether a Localization or Globalization does what it says. Clusternet tells nothing: a JSONPatch whose path does not exist is passed
 * over, and among those of equal priority chance decides (plan semantics, §3 Localization).
 */
import { isObject } from '../api/json.js';
import { readYaml } from '../api/yaml.js';
import { KubeError } from '../kube/error.js';
import type { KubeObject } from '../kube/object.js';
import { APPS } from './clusternet.js';
import type { Attempt } from './handler.js';
import { applyJsonPatch, mergePatch } from './json-patch.js';
import type { Patched } from './json-patch.js';
import type { Refusal } from './object-action.js';

/** What was found: a reason not to write it, or doubts to tell. */
export type OverrideEffect = { ok: true; notes: string[] } | ({ ok: false } & Refusal);

/** Where Clusternet keeps what feeds name. */
const MANIFESTS = 'clusternet-reserved';
const CONFIG = 'apps.clusternet.io/config';
const DEFAULT_PRIORITY = 500;

/** A Localization or Globalization, as it will be. */
export interface OverrideObject {
  kind: 'Localization' | 'Globalization';
  name: string;
  /** Absent for a Globalization. */
  namespace?: string | undefined;
  spec: Record<string, unknown>;
}

/**
 * Judges overrides against the Manifest of their feed, with what others change in it before, and against others of the
 * same kind and priority.
 */
export async function judgeOverrides(
  object: OverrideObject,
  attempt: Pick<Attempt, 'kube' | 'signal'>,
): Promise<OverrideEffect> {
  const { spec } = object;
  const feed = isObject(spec.feed) ? spec.feed : undefined;
  if (feed === undefined || feed.kind === 'HelmChart') return { ok: true, notes: [] };
  try {
    const others = await otherOverrides(object, feed, attempt);
    const notes = rivals(object, others);
    if (!overridesOf(spec).some(({ type }) => type === 'JSONPatch')) return { ok: true, notes };
    const manifest = await findManifest(feed, attempt);
    if (manifest === undefined) {
      const what = `${String(feed.kind)} ${feedName(feed)}`;
      return {
        ok: true,
        notes: [...notes, `no Manifest for its feed ${what} is there yet, so it changes nothing until then`],
      };
    }
    const before = earlierThan(object, others).reduce<unknown>(
      (document, one) => applied(document, overridesOf(one.spec)),
      manifest.template,
    );
    const { problem, doubts } = tried(before, overridesOf(spec));
    const where = `Manifest ${MANIFESTS}/${manifest.metadata.name}`;
    if (problem !== undefined) {
      const message = `${problem}; it is judged by ${where}: correct the path, or use op add`;
      return { ok: false, reason: 'InvalidOverride', message };
    }
    return {
      ok: true,
      notes: [...notes, ...doubts.map((doubt) => `${doubt} ${where}: use op add to be sure`)],
    };
  } catch (error) {
    if (attempt.signal.aborted || !(error instanceof KubeError)) throw error;
    // Who may write Localizations need not be allowed to read all this.
    return {
      ok: true,
      notes: [`whether its overrides have an effect could not be checked: ${error.message}`],
    };
  }
}

interface Override {
  name: string;
  type: unknown;
  content: unknown;
}

function overridesOf(spec: unknown): Override[] {
  const list = isObject(spec) && Array.isArray(spec.overrides) ? (spec.overrides as unknown[]) : [];
  return list.filter(isObject).map(({ name, type, value }) => ({
    name: typeof name === 'string' ? name : '',
    type,
    content: contentOf(value),
  }));
}

function contentOf(value: unknown): unknown {
  const read = typeof value === 'string' ? readYaml(value) : undefined;
  return read?.ok === true ? read.value : undefined;
}

/** The document after overrides, as Clusternet would have it: what does not fit is passed over. */
function applied(document: unknown, overrides: readonly Override[]): unknown {
  let result = document;
  for (const { type, content } of overrides) {
    if ((type === 'MergePatch' || type === 'Helm') && isObject(content)) result = mergePatch(result, content);
    if (type !== 'JSONPatch' || !Array.isArray(content)) continue;
    const patched = applyJsonPatch(result, content);
    if (patched.ok) result = patched.document;
  }
  return result;
}

/** Tries overrides one after another: what is wrong with the first that does not fit, and what is doubtful in others. */
function tried(
  document: unknown,
  overrides: readonly Override[],
): { problem: string | undefined; doubts: string[] } {
  let result = document;
  const doubts: string[] = [];
  for (const [index, override] of overrides.entries()) {
    const { name, type, content } = override;
    if (type === 'JSONPatch' && Array.isArray(content)) {
      const patched = applyJsonPatch(result, content);
      const at = (operation: number): string =>
        `overrides[${index}]${name === '' ? '' : ` "${name}"`}: operation ${operation + 1}`;
      if (!patched.ok) return { problem: `${at(patched.operation)} ${complaint(patched)}`, doubts };
      for (const { operation, path } of patched.added) {
        doubts.push(
          `${at(operation)} replaces ${path}, which Clusternet v0.18 adds and other versions may pass over, as it is not there in`,
        );
      }
    }
    result = applied(result, [override]);
  }
  return { problem: undefined, doubts };
}

function complaint({ why, path }: Extract<Patched, { ok: false }>): string {
  const stops = 'so that Clusternet would deploy nothing of this Subscription to the cluster';
  switch (why) {
    case 'missing':
      return `names path ${path}, which is not there, so that Clusternet would pass over the whole patch without a word`;
    case 'test':
      return `tests ${path}, which holds something else, ${stops}`;
    case 'index':
      return `names ${path}, a place that the list does not have, ${stops}`;
  }
}

interface Others {
  local: KubeObject[];
  global: KubeObject[];
}

/** Others on the same feed. Localizations of one cluster do not matter to a Globalization: they come after it. */
async function otherOverrides(
  object: OverrideObject,
  feed: Record<string, unknown>,
  { kube, signal }: Pick<Attempt, 'kube' | 'signal'>,
): Promise<Others> {
  const { kind, namespace, name } = object;
  const ofKind = async (wanted: OverrideObject['kind']): Promise<KubeObject[]> => {
    const options = { signal, ...(wanted === 'Localization' && namespace !== undefined && { namespace }) };
    const { items } = await kube.list({ apiVersion: APPS, kind: wanted }, options).catch((error: unknown) => {
      if (error instanceof KubeError && error.reason === 'KindNotFound') return { items: [] };
      throw error;
    });
    return items.filter(
      ({ spec, metadata }) =>
        isObject(spec) &&
        isObject(spec.feed) &&
        feedKey(spec.feed) === feedKey(feed) &&
        metadata.deletionTimestamp === undefined &&
        !(wanted === kind && metadata.name === name),
    );
  };
  return {
    local: kind === 'Localization' ? await ofKind('Localization') : [],
    global: await ofKind('Globalization'),
  };
}

const sameKind = ({ kind }: OverrideObject, others: Others): KubeObject[] =>
  kind === 'Localization' ? others.local : others.global;

/** Those that are applied before the object, in order: Globalizations first, each from low to high priority. */
function earlierThan(object: OverrideObject, others: Others): KubeObject[] {
  const byPriority = (a: KubeObject, b: KubeObject): number => priorityOf(a.spec) - priorityOf(b.spec);
  const lower = sameKind(object, others).filter((one) => priorityOf(one.spec) <= priorityOf(object.spec));
  const before = object.kind === 'Localization' ? [...others.global].sort(byPriority) : [];
  return [...before, ...lower.sort(byPriority)];
}

/** The warning about others of the same feed at the same priority. */
function rivals(object: OverrideObject, others: Others): string[] {
  const priority = priorityOf(object.spec);
  const equal = sameKind(object, others)
    .filter((one) => priorityOf(one.spec) === priority)
    .map(({ metadata }) => metadata.name);
  if (equal.length === 0) return [];
  const where = object.namespace === undefined ? '' : ` in namespace ${object.namespace}`;
  return [
    `${object.kind} ${equal.slice(0, 5).join(', ')}${where} changes the same feed at the same priority ${priority}: which of them wins is left to chance; give them different priorities`,
  ];
}

async function findManifest(
  feed: Record<string, unknown>,
  { kube, signal }: Pick<Attempt, 'kube' | 'signal'>,
): Promise<KubeObject | undefined> {
  const apiVersion = textOf(feed.apiVersion);
  const slash = apiVersion.indexOf('/');
  const labels = {
    group: slash < 0 ? '' : apiVersion.slice(0, slash),
    version: apiVersion.slice(slash + 1),
    kind: textOf(feed.kind),
    name: textOf(feed.name),
    ...(textOf(feed.namespace) !== '' && { namespace: textOf(feed.namespace) }),
  };
  const labelSelector = Object.entries(labels)
    .map(([key, value]) => `${CONFIG}.${key}=${value}`)
    .join(',');
  const { items } = await kube.list(
    { apiVersion: APPS, kind: 'Manifest' },
    { namespace: MANIFESTS, labelSelector, limit: 1, signal },
  );
  return items[0];
}

function priorityOf(spec: unknown): number {
  return isObject(spec) && typeof spec.priority === 'number' ? spec.priority : DEFAULT_PRIORITY;
}

const feedKey = ({ apiVersion, kind, namespace, name }: Record<string, unknown>): string =>
  JSON.stringify([apiVersion, kind, namespace ?? '', name]);

const feedName = ({ namespace, name }: Record<string, unknown>): string =>
  [namespace, name].filter((part) => typeof part === 'string' && part !== '').join('/');

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');
