/** Checks of a spec that its schema refuses in places: whatever else is wrong is reported too. */
import type { z } from 'zod';
import { isObject } from '../../core/json.js';
import { dedupeProblems } from '../../core/problem.js';
import type { Problem } from '../../core/problem.js';
import { member, readSpec } from '../../core/fields.js';
import { MAX_NAME_LENGTH } from './names.js';

/** What is read, and how far a part of it goes without the rest. */
export interface ReadableSpec<T> {
  schema: z.ZodType<T>;
  kind: string;
  /** A list whose entries cannot do without each other: one that cannot be read at all has a stand-in. */
  entries?: { field: string; standIn: (name: string) => unknown };
}

/**
 * Reads the spec of an object of unknown shape and checks it. Where the schema refuses a part, the rest is checked all
 * the same, and only problems that hold whatever the refused part becomes are reported.
 */
export function checkReadable<T>(
  read: ReadableSpec<T>,
  object: unknown,
  check: (spec: T) => Problem[],
): Problem[] {
  const whole = readSpec(read.schema, object, read.kind);
  if (whole.ok) return check(whole.value);
  const { problems } = whole;
  if (!isObject(object) || problems.some(({ reason }) => reason === 'TooComplex')) return problems;
  const part = readPart(read, object.spec);
  if (part === undefined) return problems;
  return dedupeProblems([
    ...problems,
    ...check(part.value).filter((problem) => holds(problem, part.leftOut)),
  ]);
}

type Path = readonly PropertyKey[];

/** Each round can bring up what the one before has uncovered: an object without a field that it needs. */
const MAX_ROUNDS = 6;

/** A spec without what its schema refuses, and what that is; undefined where it cannot do without. */
function readPart<T>(
  { schema, entries }: ReadableSpec<T>,
  spec: unknown,
): { value: T; leftOut: Path[] } | undefined {
  const root = { spec: structuredClone(spec) };
  const leftOut: Path[] = [];
  for (let round = 0; round < MAX_ROUNDS; round += 1) {
    const result = schema.safeParse(root.spec);
    if (result.success) return { value: result.data, leftOut };
    for (const issue of result.error.issues) {
      const cut = leaveOut(root, ['spec', ...issue.path], entries);
      if (cut === undefined) return undefined;
      leftOut.push(cut);
    }
  }
  return undefined;
}

/**
 * Takes away a field, or the nearest around it that can go: what is not there cannot, nor can an entry of a list, as the
 * others would move. Returns its path; undefined where that is the whole.
 */
function leaveOut(root: unknown, path: Path, entries: ReadableSpec<unknown>['entries']): Path | undefined {
  for (let length = path.length; length > 1; length -= 1) {
    const cut = path.slice(0, length);
    const holder = cut.slice(0, -1).reduce<unknown>(inside, root);
    const key = cut.at(-1)!;
    if (Array.isArray(holder) && typeof key === 'number') {
      if (entries === undefined || length !== 3 || cut[1] !== entries.field) continue;
      const entry: unknown = holder[key];
      const name = isObject(entry) && typeof entry.name === 'string' ? entry.name : '';
      // The other is no name that somebody writes.
      const isName = name !== '' && name.length <= MAX_NAME_LENGTH.subdomain;
      holder[key] = entries.standIn(isName ? name : `?${key}`);
      return cut;
    }
    if (!isObject(holder) || !Object.hasOwn(holder, key)) continue;
    delete holder[String(key)];
    return cut;
  }
  return undefined;
}

const inside = (value: unknown, key: PropertyKey): unknown =>
  (isObject(value) || Array.isArray(value)) && Object.hasOwn(value, key)
    ? (value as Record<PropertyKey, unknown>)[key]
    : undefined;

/** What entries are called, and in which order they come. */
const ORDER_FIELDS: ReadonlySet<PropertyKey> = new Set(['name', 'dependsOn', 'hookType']);
const ORDER_REASONS = ['UnknownDependency', 'DependencyCycle', 'UndefinedOutput', 'DuplicateName'];
const PARAMETER_FIELDS: ReadonlySet<PropertyKey> = new Set(['parameters', 'globalParams', 'params']);
const PARAMETER_REASONS = ['UndeclaredParameter', 'UndefinedParameter', 'MissingParameter'];
/** What is said of a text by itself, whatever stands beside it. */
const OWN_REASONS: readonly string[] = [
  ...ORDER_REASONS,
  ...PARAMETER_REASONS,
  'InvalidName',
  'InvalidWhen',
  'SuspectName',
];
/** Nobody knows whether a parameter is read, or a stage reached, while something cannot be read. */
const WHOLE_REASONS = ['UnusedParameter', 'UnknownParameter', 'UnreachableStage'];

/** Whether a problem stays one whatever stands where something was left out. */
function holds({ path, reason }: Problem, leftOut: readonly Path[]): boolean {
  if (WHOLE_REASONS.includes(reason)) return false;
  return leftOut.every((cut) => {
    if (ORDER_REASONS.includes(reason) && isOrder(cut)) return false;
    if (PARAMETER_REASONS.includes(reason) && cut.some((key) => PARAMETER_FIELDS.has(key))) return false;
    const at = pathOf(cut);
    if (isWithin(path, at) || isWithin(at, path)) return false;
    // What is said of the fields beside it may come from its absence; on top, each field stands for itself.
    const isBelow = typeof cut.at(-1) === 'string' && cut.length > 2;
    return !isBelow || OWN_REASONS.includes(reason) || parentOf(path) !== pathOf(cut.slice(0, -1));
  });
}

/** Whether it is an entry as a whole, or one of these fields of it. */
const isOrder = (cut: Path): boolean =>
  typeof cut[2] === 'number' && (cut.length === 3 || (cut.length === 4 && ORDER_FIELDS.has(cut[3] ?? '')));

const pathOf = (path: Path): string => path.reduce<string>(member, '');
const parentOf = (path: string): string => path.replace(/(\.[^.[\]]+|\[[^[\]]*\])$/, '');

/** Whether a path is another or leads into it. */
const isWithin = (path: string, into: string): boolean =>
  path === into || path.startsWith(`${into}.`) || path.startsWith(`${into}[`);
