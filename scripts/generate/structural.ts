import { z } from 'zod';

/** A node of a Kubernetes structural schema. */
export interface StructuralSchema {
  description?: string;
  type?: string;
  format?: string;
  properties?: Record<string, StructuralSchema>;
  required?: string[];
  items?: StructuralSchema;
  additionalProperties?: StructuralSchema;
  maxItems?: number;
  maxLength?: number;
  minimum?: number;
  maximum?: number;
  'x-kubernetes-preserve-unknown-fields'?: true;
  'x-kubernetes-validations'?: { rule: string; message: string }[];
  [keyword: string]: unknown;
}

/** Keywords that mean the same in JSON Schema and in a structural schema. */
const KEPT = [
  'description',
  'default',
  'enum',
  'pattern',
  'minLength',
  'maxLength',
  'minItems',
  'maxItems',
  'maxProperties',
  'x-kubernetes-list-type',
  'x-kubernetes-list-map-keys',
  'x-kubernetes-validations',
] as const;
const INT32_MAX = 2 ** 31 - 1;

type JsonSchema = Record<string, unknown>;

/**
 * The structural schema of a zod schema, as a CRD needs it: one type a node, no `anyOf` of types, no closed objects.
 *
 * @throws Error on a construct that has no structural counterpart, so that it is met here and not in a cluster
 */
export function structuralSchema(schema: z.ZodType): StructuralSchema {
  return convert(z.toJSONSchema(schema, { io: 'input' }), '');
}

function convert(node: JsonSchema, path: string): StructuralSchema {
  const kept = KEPT.filter((key) => node[key] !== undefined).map((key) => [key, node[key]]);
  const out = Object.fromEntries(kept) as StructuralSchema;
  const open = node['x-kubernetes-preserve-unknown-fields'] === true;
  if (open) out['x-kubernetes-preserve-unknown-fields'] = true;
  // Beside a type, alternatives are checks of the value, which a structural schema may have.
  if (node.type === 'string' && node.anyOf !== undefined) out.anyOf = node.anyOf;
  if (Array.isArray(node.type) || (node.anyOf !== undefined && out.anyOf === undefined)) {
    if (!open) throw new Error(`${path}: several types need x-kubernetes-preserve-unknown-fields`);
    return out;
  }
  switch (node.type) {
    case 'object':
      return { ...out, type: 'object', ...objectParts(node, path, open) };
    case 'array':
      return { ...out, type: 'array', items: convert(node.items as JsonSchema, `${path}[]`) };
    case 'integer':
      return { ...out, type: 'integer', ...integerParts(node) };
    case 'string':
      return { ...out, type: 'string', ...stringParts(node, out) };
    case 'number':
    case 'boolean':
      return { ...out, type: node.type };
    default:
      throw new Error(`${path}: type ${JSON.stringify(node.type)} has no structural counterpart`);
  }
}

function objectParts(node: JsonSchema, path: string, open: boolean): Partial<StructuralSchema> {
  const properties = Object.entries((node.properties ?? {}) as Record<string, JsonSchema>);
  if (properties.length === 0) {
    const values = node.additionalProperties as JsonSchema | undefined;
    return open || values === undefined ? {} : { additionalProperties: convert(values, `${path}{}`) };
  }
  return {
    properties: Object.fromEntries(
      properties.map(([name, child]) => [name, convert(child, `${path}.${name}`)]),
    ),
    ...(node.required === undefined ? {} : { required: node.required as string[] }),
  };
}

function integerParts(node: JsonSchema): Partial<StructuralSchema> {
  // Bounds at the edge of what a double holds are zod's way of saying "integer", not a rule of ours.
  const bound = (value: unknown): number | undefined =>
    typeof value === 'number' && Math.abs(value) < Number.MAX_SAFE_INTEGER ? value : undefined;
  const minimum = bound(node.minimum);
  const maximum = bound(node.maximum);
  return {
    format: maximum !== undefined && maximum <= INT32_MAX ? 'int32' : 'int64',
    ...(minimum === undefined ? {} : { minimum }),
    ...(maximum === undefined ? {} : { maximum }),
  };
}

function stringParts(node: JsonSchema, out: StructuralSchema): Partial<StructuralSchema> {
  if (node.format !== 'date-time') return {};
  // The API server checks the format itself; zod's pattern for it would only be long.
  delete out.pattern;
  return { format: 'date-time', pattern: undefined };
}
