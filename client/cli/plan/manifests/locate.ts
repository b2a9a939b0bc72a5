import { isAlias, isMap, isScalar, isSeq, Scalar } from 'yaml';
import type { Document } from 'yaml';

/** A place in a file: both from 1. */
export interface Position {
  line: number;
  column: number;
}

/** Turns offsets of a text into positions. */
export type PositionOf = (offset: number) => Position;

/** Names of a field path such as `spec.stages[2].params["a b"]`. */
export function segmentsOf(path: string): (string | number)[] {
  const pattern = /\[(\d+)\]|\[("(?:[^"\\]|\\.)*")\]|([^.[\]]+)/y;
  const segments: (string | number)[] = [];
  let at = 0;
  while (at < path.length) {
    if (path[at] === '.') at += 1;
    pattern.lastIndex = at;
    const match = pattern.exec(path);
    if (match === null) break;
    const [, index, quoted, name] = match;
    if (index !== undefined) segments.push(Number(index));
    else if (quoted !== undefined) segments.push(JSON.parse(quoted) as string);
    else if (name !== undefined) segments.push(name);
    at = pattern.lastIndex;
  }
  return segments;
}

/**
 * Where a field stands in a document; a field that is missing is where its object stands. A message that begins with
 * `line N` speaks of a text inside the field: then the place is that line of the file, when the text is a literal
 * block.
 */
export function locate(
  document: Document,
  path: readonly (string | number)[],
  positionOf: PositionOf,
  message = '',
): Position {
  let node: unknown = document.contents;
  let offset = offsetOf(node) ?? 0;
  for (const segment of path) {
    const next = step(document, node, segment);
    if (next === undefined) break;
    offset = next.offset ?? offset;
    node = next.node;
  }
  const inner = /^(?:document \d+: )?line (\d+)(?:, column (\d+))?/.exec(message);
  const start = offsetOf(node);
  if (inner !== null && start !== undefined && isScalar(node) && node.type === Scalar.BLOCK_LITERAL) {
    return { line: positionOf(start).line + Number(inner[1]), column: Number(inner[2] ?? 1) };
  }
  return positionOf(offset);
}

function step(
  document: Document,
  from: unknown,
  segment: string | number,
): { node: unknown; offset: number | undefined } | undefined {
  const node = isAlias(from) ? from.resolve(document) : from;
  if (isMap(node)) {
    // The last one counts where a key stands twice.
    const pair = node.items.findLast(({ key }) => isScalar(key) && String(key.value) === String(segment));
    return pair && { node: pair.value, offset: offsetOf(pair.key) };
  }
  if (isSeq(node) && typeof segment === 'number' && segment < node.items.length) {
    const item = node.items[segment];
    return { node: item, offset: offsetOf(item) };
  }
  return undefined;
}

function offsetOf(node: unknown): number | undefined {
  return (node as { range?: readonly number[] | null } | null | undefined)?.range?.[0];
}
