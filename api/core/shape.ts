/** What fields a kind has, as a cluster's OpenAPI says. */
import { isObject } from './json.js';

/** The form of a value. What is absent here is not known, and anything may stand there. */
export interface Shape {
  /** Of a map: the fields that it may have. */
  fields?: Map<string, Shape>;
  /** Of a map: what stands under names of the author's own. */
  values?: Shape;
  /** Of a map with fields: whether the server keeps others too. */
  isOpen?: boolean;
  /** Of a list. */
  items?: Shape;
  type?: 'map' | 'list' | 'string' | 'boolean' | 'integer' | 'number';
}

/** The shape of a kind; undefined where it is not known. */
export type Definitions = (apiVersion: string, kind: string) => Shape | undefined;

const REF = '#/components/schemas/';
/** What says that a schema allows more than one form. */
const OPEN_ENDED = ['oneOf', 'anyOf', 'not', 'x-kubernetes-int-or-string'] as const;

/**
 * The shapes of the kinds in the schemas of one group and version (OpenAPI v3), by kind.
 *
 * @param schemas `components.schemas` of the document
 */
export function shapesIn(schemas: Record<string, unknown>, apiVersion: string): Map<string, Shape> {
  const known = new Map<string, Shape>();
  const named = (name: string): Shape => {
    const found = known.get(name);
    if (found !== undefined) return found;
    // A schema may hold itself: it is known before it is filled.
    const shape: Shape = {};
    known.set(name, shape);
    const schema = schemas[name];
    if (isObject(schema)) Object.assign(shape, shapeOf(schema));
    return shape;
  };
  const shapeOf = (schema: Record<string, unknown>): Shape => {
    const { $ref, allOf, type, properties, additionalProperties, items } = schema;
    if (typeof $ref === 'string') return $ref.startsWith(REF) ? named($ref.slice(REF.length)) : {};
    if (OPEN_ENDED.some((field) => schema[field] !== undefined)) return {};
    if (Array.isArray(allOf)) {
      const [only, ...more] = allOf as unknown[];
      return isObject(only) && more.length === 0 && properties === undefined ? shapeOf(only) : {};
    }
    switch (type) {
      case 'object': {
        const isOpen =
          schema['x-kubernetes-preserve-unknown-fields'] === true ||
          schema['x-kubernetes-embedded-resource'] === true ||
          additionalProperties === true;
        const values = isObject(additionalProperties) ? shapeOf(additionalProperties) : undefined;
        if (!isObject(properties)) return { type: 'map', ...(values !== undefined && { values }) };
        const fields = Object.entries(properties).map(([key, inner]): [string, Shape] => [
          key,
          isObject(inner) ? shapeOf(inner) : {},
        ]);
        return { type: 'map', fields: new Map(fields), isOpen, ...(values !== undefined && { values }) };
      }
      case 'array':
        return { type: 'list', ...(isObject(items) && { items: shapeOf(items) }) };
      case 'string':
      case 'boolean':
      case 'integer':
      case 'number':
        return { type };
      default:
        return {};
    }
  };
  const kinds = new Map<string, Shape>();
  const [group, version] = apiVersion.includes('/') ? apiVersion.split('/') : ['', apiVersion];
  for (const [name, schema] of Object.entries(schemas)) {
    const own = isObject(schema) ? schema['x-kubernetes-group-version-kind'] : undefined;
    for (const gvk of Array.isArray(own) ? (own as unknown[]) : []) {
      if (isObject(gvk) && gvk.group === group && gvk.version === version && typeof gvk.kind === 'string') {
        kinds.set(gvk.kind, named(name));
      }
    }
  }
  return kinds;
}

/** A place where a value does not have the form of its kind. */
export type ShapeFault =
  | { kind: 'unknown'; path: (string | number)[]; known: string[] }
  | { kind: 'type'; path: (string | number)[]; wanted: NonNullable<Shape['type']>; value: unknown };

/** Objects are never deeper; what nests deeper was refused before. */
const MAX_DEPTH = 64;
const MAX_FAULTS = 20;
/** What every object has, whatever its schema says. */
const OF_EVERY_OBJECT: ReadonlySet<string> = new Set(['apiVersion', 'kind', 'metadata']);

/**
 * The places where a value does not have the form of its kind. Null fits anywhere.
 *
 * @param options.isOpen whether a value is not known yet, so that nothing is said about it
 * @param options.isStrategic keys that begin with `$` are directives of a strategic merge patch
 */
export function faultsIn(
  value: unknown,
  shape: Shape,
  options: { isOpen: (value: unknown) => boolean; isStrategic?: boolean },
): ShapeFault[] {
  const faults: ShapeFault[] = [];
  const look = (
    at: unknown,
    { type, fields, values, isOpen, items }: Shape,
    path: (string | number)[],
  ): void => {
    if (at === null || at === undefined || options.isOpen(at) || path.length > MAX_DEPTH) return;
    if (faults.length >= MAX_FAULTS) return;
    if (type !== undefined && !isOfType(at, type)) {
      faults.push({ kind: 'type', path, wanted: type, value: at });
      return;
    }
    if (Array.isArray(at)) {
      if (items !== undefined) at.forEach((item, index) => look(item, items, [...path, index]));
      return;
    }
    if (!isObject(at) || (fields === undefined && values === undefined)) return;
    for (const [key, inner] of Object.entries(at)) {
      if (options.isOpen(key) || (options.isStrategic === true && key.startsWith('$'))) continue;
      const next = fields?.get(key) ?? values;
      if (next !== undefined) look(inner, next, [...path, key]);
      else if (isOpen !== true && !(path.length === 0 && OF_EVERY_OBJECT.has(key))) {
        faults.push({ kind: 'unknown', path: [...path, key], known: [...(fields?.keys() ?? [])] });
      }
    }
  };
  look(value, shape, []);
  return faults;
}

function isOfType(value: unknown, type: NonNullable<Shape['type']>): boolean {
  switch (type) {
    case 'map':
      return isObject(value);
    case 'list':
      return Array.isArray(value);
    case 'integer':
      return Number.isInteger(value);
    default:
      return typeof value === type;
  }
}
