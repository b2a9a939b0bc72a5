/** How every YAML text is read: as kubectl reads it, and within bounds that no object reaches. */
import { isAlias, isCollection, isNode, isScalar, parseAllDocuments, visit } from 'yaml';
import type { Document, DocumentOptions, Node, ParseOptions, ScalarTag, SchemaOptions } from 'yaml';
import { isObject } from './json.js';

/** Most expansions of aliases in one document: a few bytes of YAML can stand for gigabytes. */
export const MAX_YAML_ALIASES = 100;
/** Most levels of maps and lists in one document, with aliases written out. The deepest definitions have about 60. */
export const MAX_YAML_DEPTH = 100;
/** Most values in one document, with aliases written out. */
const MAX_VALUES = 200_000;

const TOO_DEEP = `is nested more than ${MAX_YAML_DEPTH} levels deep; flatten it`;

/** What is wrong at an offset of a text. */
export interface YamlFault {
  offset: number;
  message: string;
}

/**
 * Finds what must not be turned into values: an alias of something that it stands in, which would have no end, and more
 * levels than {@link MAX_YAML_DEPTH}. Takes time linear in the size of the document.
 */
export function findUnbounded(document: Document): YamlFault | undefined {
  const anchored = new Map<string, unknown>();
  let fault: YamlFault | undefined;
  const offsetOf = (node: Node): number => node.range?.[0] ?? 0;
  visit(document, {
    Node(_key, node, path) {
      if (isAlias(node)) {
        const target = anchored.get(node.source);
        if (target === undefined || !path.some((parent) => parent === target)) return undefined;
        const message = `alias *${node.source} stands inside what &${node.source} names, which would have no end; write out what is meant`;
        fault = { offset: offsetOf(node), message };
        return visit.BREAK;
      }
      if (node.anchor !== undefined) anchored.set(node.anchor, node);
      if (!isCollection(node) || path.length < MAX_YAML_DEPTH) return undefined;
      if (path.filter(isNode).length < MAX_YAML_DEPTH) return undefined;
      fault = { offset: offsetOf(node), message: TOO_DEEP };
      return visit.BREAK;
    },
  });
  return fault;
}

/**
 * Finds what aliases have made too deep or too large.
 *
 * @param value of a document in which {@link findUnbounded} has found nothing
 */
export function findExcess(value: unknown): string | undefined {
  let values = 0;
  let level: unknown[] = [value];
  for (let depth = 0; level.length > 0; depth += 1) {
    values += level.length;
    if (depth > MAX_YAML_DEPTH) return TOO_DEEP;
    if (values > MAX_VALUES) return `holds more than ${MAX_VALUES} values; split it`;
    level = level.flatMap((item): unknown[] => {
      if (Array.isArray(item)) return item as unknown[];
      return isObject(item) ? Object.values(item) : [];
    });
  }
  return undefined;
}

/** Finds a key that stands twice in its map, whatever it is called once placeholders are filled in. */
export function findDuplicateKey(document: Document): YamlFault | undefined {
  let fault: YamlFault | undefined;
  visit(document, {
    Map(_key, map) {
      const seen = new Set<string>();
      for (const { key } of map.items) {
        const name = isScalar(key) ? String(key.value) : String(key);
        if (seen.has(name)) {
          const offset = isScalar(key) ? (key.range?.[0] ?? 0) : 0;
          const message = `the key "${name}" stands twice in its map; keys must differ, also once placeholders are filled in`;
          fault = { offset, message };
          return visit.BREAK;
        }
        seen.add(name);
      }
      return undefined;
    },
  });
  return fault;
}

/** The first document of a text, or why it cannot be read, in one line. */
export type ReadYaml = { ok: true; value: unknown } | { ok: false; problem: string };

/** Reads YAML or JSON that holds no placeholders. Never throws. */
export function readYaml(text: string): ReadYaml {
  try {
    const documents = parseAllDocuments(text, KUBECTL_YAML);
    const [document] = Array.isArray(documents) ? documents : [];
    if (document === undefined) return { ok: true, value: null };
    const [broken] = document.errors;
    if (broken !== undefined) return { ok: false, problem: firstLine(broken.message) };
    const fault = findUnbounded(document) ?? findDuplicateKey(document);
    if (fault !== undefined) return { ok: false, problem: fault.message };
    visit(document, {
      Scalar(_key, node) {
        if (typeof node.value === 'bigint') node.value = Number(node.value);
      },
    });
    const value = document.toJS({ maxAliasCount: MAX_YAML_ALIASES }) as unknown;
    const excess = findExcess(value);
    return excess === undefined ? { ok: true, value } : { ok: false, problem: excess };
  } catch (error) {
    if (error instanceof RangeError) return { ok: false, problem: TOO_DEEP };
    return { ok: false, problem: firstLine(error instanceof Error ? error.message : String(error)) };
  }
}

const firstLine = (text: string): string => text.split('\n', 1)[0]?.slice(0, 300) ?? '';

/** What kubectl's YAML reads differently from YAML 1.2. */
const KUBECTL_TAGS: ScalarTag[] = [
  {
    tag: 'tag:yaml.org,2002:bool',
    default: true,
    test: /^(?:y|Y|yes|Yes|YES|on|On|ON)$/,
    resolve: () => true,
  },
  {
    tag: 'tag:yaml.org,2002:bool',
    default: true,
    test: /^(?:n|N|no|No|NO|off|Off|OFF)$/,
    resolve: () => false,
  },
  {
    tag: 'tag:yaml.org,2002:int',
    default: true,
    test: /^[-+]?(?:0[0-7_]+|0b[01_]+|0x[0-9a-fA-F_]+|[1-9][0-9]*_[0-9_]*)$/,
    resolve: (text) => integer(text),
  },
];

function integer(text: string): bigint {
  const digits = text.replaceAll('_', '').replace(/^[-+]/, '');
  const value = BigInt(/^0[0-7]+$/.test(digits) ? `0o${digits.slice(1)}` : digits);
  return text.startsWith('-') ? -value : value;
}

/** Options with which the YAML library reads text as kubectl does. Keys that stand twice are for the caller to find. */
export const KUBECTL_YAML: ParseOptions & DocumentOptions & SchemaOptions = {
  version: '1.2',
  schema: 'core',
  merge: true,
  intAsBigInt: true,
  prettyErrors: false,
  // The library's own check takes quadratic time, and cannot see what placeholders become.
  uniqueKeys: false,
  logLevel: 'silent',
  customTags: (tags) => [...KUBECTL_TAGS, ...tags],
};
