/**
 * Values at known places of a JSON document that is read as a stream. A state or a plan of 256 MiB is never held as a
 * whole, and never written anew: numbers that JavaScript cannot hold stay what they are (T8.5).
 */
import { createJsonReader, type JsonReader } from './json-tokens.js';

/**
 * Keys from the root to a value; `[]` is any element of a list, `{}` any field of an object.
 *
 * @example ['resources', '[]', 'type']
 */
export type JsonPlace = readonly string[];

/** A value that was found. */
export interface FoundValue<Name extends string> {
  name: Name;
  /** The index or key that stood for each `[]` and `{}`. */
  at: readonly (number | string)[];
  /** Its first byte, and the one after its last. */
  start: number;
  end: number;
  /** JSON of a text, number, boolean or null; undefined of a list or an object. */
  text: string | undefined;
}

/** Where places branch. */
interface Branch {
  fields: Map<string, Branch>;
  element?: Branch;
  anyField?: Branch;
  names: string[];
}

interface Open {
  kind: 'list' | 'object' | 'scalar';
  start: number;
  here: readonly Branch[];
  /** Of what is read inside it now. */
  key: number | string;
}

/**
 * A reader that tells of the values at some places, each when it has ended. A key that stands twice in an object is told
 * of twice.
 */
export function createPlaceReader<Name extends string>(
  places: Readonly<Record<Name, JsonPlace>>,
  onValue: (found: FoundValue<Name>) => void,
): JsonReader {
  const root = [branchesOf(places)];
  const open: Open[] = [];
  return createJsonReader({
    valueBegins(kind, start) {
      const parent = open.at(-1);
      const here = parent === undefined ? root : inside(parent);
      open.push({ kind, start, here, key: kind === 'list' ? -1 : '' });
      return kind === 'scalar' && here.some(({ names }) => names.length > 0);
    },
    valueEnds(end, text) {
      const { here, start } = open.pop()!;
      for (const { names } of here) {
        for (const name of names as Name[]) onValue({ name, at: passed(places[name]), start, end, text });
      }
    },
    wantsKeys: () =>
      open.at(-1)!.here.some(({ fields, anyField }) => fields.size > 0 || anyField !== undefined),
    key(key) {
      open.at(-1)!.key = key;
    },
  });

  /** What stood for the marks of a place, now that the value at it has ended. */
  function passed(place: JsonPlace): (number | string)[] {
    return place.flatMap((key, depth) => (key === '[]' || key === '{}' ? [open[depth]!.key] : []));
  }
}

/** The branches of the value that begins inside another. */
function inside(parent: Open): readonly Branch[] {
  if (parent.here.length === 0) return parent.here;
  if (parent.kind === 'list') {
    parent.key = Number(parent.key) + 1;
    return parent.here.flatMap(({ element }) => element ?? []);
  }
  const key = String(parent.key);
  return parent.here.flatMap(({ fields, anyField }) => [fields.get(key) ?? [], anyField ?? []].flat());
}

function branchesOf(places: Readonly<Record<string, JsonPlace>>): Branch {
  const root: Branch = { fields: new Map(), names: [] };
  for (const [name, place] of Object.entries(places)) {
    let at = root;
    for (const key of place) at = branchAt(at, key);
    at.names.push(name);
  }
  return root;
}

function branchAt(branch: Branch, key: string): Branch {
  const fresh = (): Branch => ({ fields: new Map(), names: [] });
  if (key === '[]') return (branch.element ??= fresh());
  if (key === '{}') return (branch.anyField ??= fresh());
  const next = branch.fields.get(key) ?? fresh();
  branch.fields.set(key, next);
  return next;
}
