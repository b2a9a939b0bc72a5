/**
 * Whether a Localization or Globalization does what it says. Clusternet reports nothing: it passes over a JSONPatch
 * whose path does not exist, and among overrides of equal priority chance decides (S3.34, S3.35).
 */
import { isObject } from '../../core/json.js';
import { applyJsonPatch, mergePatch, nearest } from '../../core/json-patch.js';
import type { Patched } from '../../core/json-patch.js';
import { readYaml } from '../../core/yaml.js';

/** Kinds of overrides. */
export type OverrideKind = 'Localization' | 'Globalization';

/** A Localization or Globalization, as it will be. */
export interface OverrideObject {
  kind: OverrideKind;
  name: string;
  /** Absent for a Globalization. */
  namespace?: string | undefined;
  spec: Record<string, unknown>;
}

/** The parts of a Clusternet object that are needed here. */
export interface OverrideDocument {
  metadata: { name: string; namespace?: string; deletionTimestamp?: string };
  [field: string]: unknown;
}

/** What an override is judged by. */
export interface OverrideSources {
  /** The object that its feed names; absent where it does not exist yet. */
  target?: { name: string; document: unknown };
  /** Localizations in its namespace, on any feed. */
  local: readonly OverrideDocument[];
  /** Globalizations, on any feed. */
  global: readonly OverrideDocument[];
}

/** An operation of a patch that does not do what it says. */
export interface OverrideFault {
  /** Place in the list of overrides. */
  override: number;
  /** Name of the override; may be empty. */
  name: string;
  /** Place in the patch. */
  operation: number;
  /** What is wrong. */
  message: string;
  /** The operation with its value, and what is there instead: for whoever may see the object. */
  detail: string;
}

/** What is to be said about an override. */
export interface OverrideJudgement {
  /** Others that it may lose against. */
  notes: string[];
  /** The operation that makes it futile, or worse. */
  fault?: OverrideFault;
  /** Operations that other versions of Clusternet may pass over. */
  doubts: OverrideFault[];
}

const DEFAULT_PRIORITY = 500;
const MAX_VALUE_LENGTH = 40;
const MAX_KEYS = 8;

/** Whether an override cannot be judged without its target. */
export const needsTarget = (spec: Record<string, unknown>): boolean =>
  overridesOf(spec).some(({ type }) => type === 'JSONPatch');

/** Judges an override by its target, with what others change in that before, and by others of the same priority. */
export function judgeOverride(object: OverrideObject, sources: OverrideSources): OverrideJudgement {
  const { spec } = object;
  const feed = isObject(spec.feed) ? spec.feed : undefined;
  if (feed === undefined || feed.kind === 'HelmChart') return { notes: [], doubts: [] };
  const others = othersOf(object, feed, sources);
  const notes = rivals(object, others);
  if (!needsTarget(spec)) return { notes, doubts: [] };
  const { target } = sources;
  if (target === undefined) {
    const what = `${String(feed.kind)} ${feedName(feed)}`;
    return {
      notes: [...notes, `no Manifest for its feed ${what} is there yet, so it changes nothing until then`],
      doubts: [],
    };
  }
  const before = earlierThan(object, others).reduce<unknown>(
    (document, one) => applied(document, overridesOf(one.spec)),
    target.document,
  );
  return { notes, ...tried(before, overridesOf(spec)) };
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
): Pick<OverrideJudgement, 'fault' | 'doubts'> {
  let result = document;
  const doubts: OverrideFault[] = [];
  for (const [index, one] of overrides.entries()) {
    const { name, type, content } = one;
    if (type === 'JSONPatch' && Array.isArray(content)) {
      const patched = applyJsonPatch(result, content);
      const fault = (operation: number, path: string, message: string, at: unknown): OverrideFault => ({
        override: index,
        name,
        operation,
        message,
        detail: `operation ${operation + 1} (${describe(content[operation])}) at ${path || '/'}, where ${describeReached(at, path)}`,
      });
      if (!patched.ok) {
        return {
          fault: fault(patched.operation, patched.path, complaint(patched), patched.document),
          doubts,
        };
      }
      for (const { operation, path } of patched.added) {
        const message = `replaces ${path}, which Clusternet v0.18 adds and other versions may pass over, as it is not there in`;
        doubts.push(fault(operation, path, message, result));
      }
    }
    result = applied(result, [one]);
  }
  return { doubts };
}

function describe(operation: unknown): string {
  if (!isObject(operation)) return '';
  const { op, value, from } = operation;
  const what = value === undefined ? from : value;
  const text = what === undefined ? '' : JSON.stringify(what);
  const shown = text.length > MAX_VALUE_LENGTH ? `${text.slice(0, MAX_VALUE_LENGTH)}…` : text;
  return [String(op), shown].filter((part) => part !== '').join(' ');
}

/** What a document has where a path ends in it: names of keys only, as values may be secret. */
function describeReached(document: unknown, path: string): string {
  const { path: reached, value } = nearest(document, path);
  const where = reached === '' ? 'the object' : reached;
  if (Array.isArray(value)) return `${where} is a list of ${value.length}`;
  if (!isObject(value)) return `${where} is ${value === null ? 'null' : `a ${typeof value}`}`;
  const keys = Object.keys(value);
  const more = keys.length > MAX_KEYS ? `, and ${keys.length - MAX_KEYS} more` : '';
  return keys.length === 0
    ? `${where} is empty`
    : `${where} has ${keys.slice(0, MAX_KEYS).join(', ')}${more}`;
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

/** Others on the same feed. Localizations of one cluster do not matter to a Globalization: they come after it. */
function othersOf(
  object: OverrideObject,
  feed: Record<string, unknown>,
  sources: OverrideSources,
): Record<'local' | 'global', OverrideDocument[]> {
  const of = (kind: OverrideKind, list: readonly OverrideDocument[]): OverrideDocument[] =>
    list.filter(
      ({ spec, metadata }) =>
        isObject(spec) &&
        isObject(spec.feed) &&
        feedKey(spec.feed) === feedKey(feed) &&
        metadata.deletionTimestamp === undefined &&
        !(kind === object.kind && metadata.name === object.name),
    );
  return {
    local: object.kind === 'Localization' ? of('Localization', sources.local) : [],
    global: of('Globalization', sources.global),
  };
}

type Others = ReturnType<typeof othersOf>;

const sameKind = ({ kind }: OverrideObject, others: Others): OverrideDocument[] =>
  kind === 'Localization' ? others.local : others.global;

/** Those that are applied before the object, in order: Globalizations first, each from low to high priority. */
function earlierThan(object: OverrideObject, others: Others): OverrideDocument[] {
  const byPriority = (a: OverrideDocument, b: OverrideDocument): number =>
    priorityOf(a.spec) - priorityOf(b.spec);
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

function priorityOf(spec: unknown): number {
  return isObject(spec) && typeof spec.priority === 'number' ? spec.priority : DEFAULT_PRIORITY;
}

/** Key of the object that a feed names. */
export const feedKey = ({ apiVersion, kind, namespace, name }: Record<string, unknown>): string =>
  JSON.stringify([apiVersion, kind, namespace ?? '', name]);

const feedName = ({ namespace, name }: Record<string, unknown>): string =>
  [namespace, name].filter((part) => typeof part === 'string' && part !== '').join('/');
