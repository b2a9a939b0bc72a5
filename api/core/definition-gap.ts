/**
 * Whether the definitions in a cluster are those of this release: older ones lack fields, which the API server drops without
 * a word, and newer ones have fields that this release knows nothing of.
 */
import { z } from 'zod';
import { isObject } from './json.js';
import type { KindDescriptor } from './kind-descriptor.js';

/** How the definition of a kind in a cluster differs from that of this release. */
export interface DefinitionGap {
  kind: string;
  state: 'same' | 'older' | 'newer' | 'other' | 'missing';
  /** What this release has and the cluster lacks: paths of fields, and of values as `path=value`. */
  lacks: string[];
  /** What the cluster has and this release lacks. */
  beyond: string[];
}

type Node = Record<string, unknown>;

const OPEN = 'x-kubernetes-preserve-unknown-fields';

/**
 * Compares all kinds with what a cluster says of them.
 *
 * @param schemas `components.schemas` of the cluster's OpenAPI v3 document of that group and version
 */
export function definitionGaps(
  kinds: readonly KindDescriptor[],
  schemas: Record<string, unknown>,
): DefinitionGap[] {
  return kinds.map((descriptor) => {
    const { kind, spec, status } = descriptor;
    const live = schemaOf(descriptor, schemas);
    if (live === undefined) return { kind, state: 'missing', lacks: [], beyond: [] };
    const own = {
      properties: {
        spec: z.toJSONSchema(spec, { io: 'input' }),
        ...(status !== undefined && { status: z.toJSONSchema(status, { io: 'input' }) }),
      },
    };
    const parts = partsOf(live);
    const theirs = { properties: { spec: parts.spec, status: parts.status } };
    const lacks = beyondOf(own, theirs, '');
    const beyond = beyondOf(theirs, own, '');
    return { kind, state: stateOf(lacks, beyond), lacks, beyond };
  });
}

/** Of what is lacking, that which the programs themselves write: without it, status would lose what a revert needs. */
export const lacksOfStatus = ({ lacks }: DefinitionGap): string[] =>
  lacks.filter((path) => path === 'status' || path.startsWith('status.'));

function stateOf(lacks: readonly string[], beyond: readonly string[]): DefinitionGap['state'] {
  if (lacks.length === 0) return beyond.length === 0 ? 'same' : 'newer';
  return beyond.length === 0 ? 'older' : 'other';
}

function schemaOf(
  { group, version, kind }: KindDescriptor,
  schemas: Record<string, unknown>,
): Node | undefined {
  return Object.values(schemas)
    .filter(isObject)
    .find((schema) => {
      const named = schema['x-kubernetes-group-version-kind'];
      return (Array.isArray(named) ? (named as unknown[]) : []).some(
        (gvk) => isObject(gvk) && gvk.group === group && gvk.version === version && gvk.kind === kind,
      );
    });
}

/** What one schema allows and the other does not, outermost only: a field that is not there lacks its own fields too. */
function beyondOf(one: unknown, other: unknown, path: string): string[] {
  if (!isObject(one)) return [];
  if (!isObject(other)) return [path];
  if (one[OPEN] === true || other[OPEN] === true) return [];
  const fields = partsOf(other);
  return [
    ...valuesOf(one)
      .filter((value) => isEnumeration(other) && !valuesOf(other).includes(value))
      .map((value) => `${path}=${String(value)}`),
    ...Object.entries(partsOf(one)).flatMap(([name, inner]) =>
      beyondOf(inner, fields[name], path === '' ? name : `${path}.${name}`),
    ),
    ...beyondOf(one.items, one.items === undefined ? {} : other.items, `${path}[]`),
    ...beyondOf(mapValues(one), mapValues(other) ?? {}, `${path}{}`),
  ];
}

const partsOf = ({ properties }: Node): Node => (isObject(properties) ? properties : {});

/** What stands under names of the author's own. */
const mapValues = ({ properties, additionalProperties }: Node): unknown =>
  properties === undefined ? additionalProperties : undefined;

const isEnumeration = (node: Node): boolean => Array.isArray(node.enum);
const valuesOf = (node: Node): unknown[] => (isEnumeration(node) ? (node.enum as unknown[]) : []);
