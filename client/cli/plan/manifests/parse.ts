import { type Document, isScalar, LineCounter, parseAllDocuments, visit } from 'yaml';
import { isObject } from '../../../../api/core/json.js';
import { findExcess, findUnbounded, KUBECTL_YAML, MAX_YAML_ALIASES } from '../../../../api/core/yaml.js';
import { locate, type Position, type PositionOf, segmentsOf } from './locate.js';
import type { SourceFault, SourceText } from './sources.js';

/** An object of a file. */
export interface ManifestObject {
  file: string;
  /** The YAML document it stands in. */
  document: Document;
  /** Where in the document, as a field path: empty, or `items[3]` in a List. */
  base: string;
  value: Record<string, unknown>;
  /** Where a field of it stands; a message may name a line inside the field. */
  locate(path: string, message?: string): Position;
}

/** What a file holds. */
export interface ParsedFile {
  file: string;
  documents: Document[];
  objects: ManifestObject[];
  faults: SourceFault[];
}

const MAX_FAULTS = 20;
/** What Helm's template language looks like, and no placeholder of a plan does. */
const CHART_TEMPLATE =
  /\{\{(?:-|\s*(?:\.(?:Values|Release|Chart|Capabilities|Files|Template)\b|(?:include|template|define|block|if|else|range|with|end|toYaml|fail|required|tpl|lookup)\b|\$|\/\*))/;
const RENDER_FIRST =
  'is a template of a chart, not YAML; render it first: helm template CHART | drover validate -';
/** Deeper than any object is; the library needs stack for each level. */
const MAX_DEPTH = 500;

/**
 * Reads a file as kubectl does: one or several documents of YAML or JSON, Lists opened. What cannot be read is
 * reported with line and column, and the other documents are read all the same.
 */
export function parseManifests({ file, text }: SourceText): ParsedFile {
  const lines = new LineCounter();
  const positionOf: PositionOf = (offset) => {
    const { line, col } = lines.linePos(offset);
    return { line: Math.max(1, line), column: Math.max(1, col) };
  };
  const parsed: ParsedFile = { file, documents: [], objects: [], faults: [] };
  const fault = (at: Position, message: string): void => {
    if (parsed.faults.length < MAX_FAULTS) parsed.faults.push({ file, ...at, message });
  };
  const hostile = findHostile(text);
  if (hostile !== undefined) {
    fault(positionIn(text, hostile.offset), hostile.message);
    return parsed;
  }
  // A plan may hold such text as a value: only where it is what cannot be read is the file taken for a template.
  const chart = CHART_TEMPLATE.exec(text);
  const textLines = chart === null ? [] : text.split('\n');
  const asChart = (): ParsedFile =>
    chart === null || !parsed.faults.some(({ line }) => textLines[line - 1]?.includes('{{'))
      ? parsed
      : {
          ...parsed,
          documents: [],
          objects: [],
          faults: [{ file, ...positionIn(text, chart.index), message: RENDER_FIRST }],
        };
  let documents: Document[];
  try {
    const read = parseAllDocuments(text, { ...KUBECTL_YAML, lineCounter: lines });
    documents = Array.isArray(read) ? read : [];
  } catch (error) {
    fault({ line: 1, column: 1 }, reasonOf(error));
    return asChart();
  }
  for (const document of documents) {
    const problems = [...document.errors, ...document.warnings];
    for (const { pos, message } of problems) fault(positionOf(pos[0]), plainly(message));
    if (problems.length > 0) continue;
    const value = read(document, (offset, message) => fault(positionOf(offset), message));
    parsed.documents.push(document);
    if (value === undefined || value === null) continue;
    if (!isObject(value)) {
      fault(
        positionOf(document.contents?.range?.[0] ?? 0),
        'is no object; write apiVersion, kind and metadata',
      );
      continue;
    }
    const isList =
      typeof value.kind === 'string' && value.kind.endsWith('List') && Array.isArray(value.items);
    const entries: [string, unknown][] = isList
      ? (value.items as unknown[]).map((item, index) => [`items[${index}]`, item])
      : [['', value]];
    for (const [base, object] of entries) {
      const at = (path: string, message?: string): Position =>
        locate(document, segmentsOf(base === '' ? path : `${base}.${path}`), positionOf, message);
      if (isObject(object)) parsed.objects.push({ file, document, base, value: object, locate: at });
      else fault(at(''), 'is no object; every entry of a List must be one');
    }
  }
  return asChart();
}

/** The content of a document, unless something is wrong with it. */
function read(document: Document, fault: (offset: number, message: string) => void): unknown {
  let broken = false;
  let aliases = 0;
  const reject = (node: unknown, message: string): void => {
    broken = true;
    fault((node as { range?: readonly number[] }).range?.[0] ?? 0, message);
  };
  try {
    const unbounded = findUnbounded(document);
    if (unbounded !== undefined) {
      fault(unbounded.offset, unbounded.message);
      return undefined;
    }
    visit(document, {
      Map(_key, map) {
        const seen = new Set<string>();
        for (const { key } of map.items) {
          if (!isScalar(key)) {
            reject(key ?? map, 'a key must be a single text');
            continue;
          }
          // A symbol is the merge key.
          if (typeof key.value === 'symbol') continue;
          const name = String(key.value);
          if (seen.has(name)) {
            reject(key, `key ${JSON.stringify(short(name))} stands twice in its map; remove one`);
          }
          seen.add(name);
        }
      },
      Scalar(_key, node) {
        if (typeof node.value !== 'bigint' && typeof node.value !== 'number') return;
        const number = Number(node.value);
        const exact = typeof node.value === 'bigint' ? Number.isSafeInteger(number) : Number.isFinite(number);
        if (exact) node.value = number;
        else
          reject(
            node,
            `${short(node.source ?? 'the number')} cannot be kept exactly as a number; write it in quotes`,
          );
      },
      Alias(_key, node) {
        // Counted before they are resolved, which takes time for each of them.
        aliases += 1;
        if (aliases === MAX_YAML_ALIASES + 1) {
          reject(node, `has more than ${MAX_YAML_ALIASES} aliases; write out what they stand for`);
        }
      },
    });
    if (broken) return undefined;
    const value = document.toJS({ maxAliasCount: MAX_YAML_ALIASES }) as unknown;
    const excess = findExcess(value);
    if (excess !== undefined) reject(document.contents ?? {}, excess);
    return broken ? undefined : value;
  } catch (error) {
    fault(document.contents?.range?.[0] ?? 0, reasonOf(error));
    return undefined;
  }
}

/** What no reader should be given: control characters, and brackets nested as no object is. Takes linear time. */
function findHostile(text: string): { offset: number; message: string } | undefined {
  // oxlint-disable-next-line no-control-regex -- control characters are what is looked for
  const control = /[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]/.exec(text);
  if (control !== null) {
    const code = control[0].charCodeAt(0).toString(16).padStart(2, '0');
    return {
      offset: control.index,
      message: `holds the control character \\x${code}, which YAML does not allow; remove it, or write it as an escape in double quotes`,
    };
  }
  // A text in quotes may hold brackets, but hardly hundreds without one that closes.
  let depth = 0;
  for (let at = 0; at < text.length; at += 1) {
    const char = text.charCodeAt(at);
    if (char === 0x5b || char === 0x7b) depth += 1;
    else if ((char === 0x5d || char === 0x7d) && depth > 0) depth -= 1;
    if (depth > MAX_DEPTH) {
      return { offset: at, message: `is nested more than ${MAX_DEPTH} levels deep; flatten it` };
    }
  }
  const indent = /^(?:[ \t]*(?:[-?][ \t]+)){500}/m.exec(text);
  if (indent !== null) {
    return { offset: indent.index, message: `is nested more than ${MAX_DEPTH} levels deep; flatten it` };
  }
  return undefined;
}

function positionIn(text: string, offset: number): Position {
  const before = text.slice(0, offset);
  const lineStart = before.lastIndexOf('\n') + 1;
  return { line: before.split('\n').length, column: offset - lineStart + 1 };
}

function reasonOf(error: unknown): string {
  if (error instanceof RangeError) return 'is nested too deeply; flatten it';
  if (error instanceof ReferenceError && error.message.startsWith('Excessive')) {
    return `${firstLine(error.message)}: a few aliases stand for too much; write out what they stand for`;
  }
  if (error instanceof Error) return plainly(error.message);
  return String(error);
}

/** A message of the YAML library, for a person. */
const plainly = (message: string): string =>
  message.startsWith('Maximum call stack') ? 'is nested too deeply; flatten it' : firstLine(message);
const firstLine = (text: string): string => short(text.split('\n', 1)[0] ?? '', 300);
const short = (text: string, max = 80): string => (text.length > max ? `${text.slice(0, max)}…` : text);
