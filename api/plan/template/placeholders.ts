import type { Problem } from '../../core/problem.js';
import type { Scalar } from '../schema/common.js';

/** Names beside `params` and `outputs` that a placeholder may use (S2.7). */
export type BuiltIn = 'planName' | 'executionName' | 'operation' | 'mode';

/** What a placeholder stands for. */
export type Reference =
  | { kind: 'param'; name: string }
  | { kind: 'output'; action: string; path: string[] }
  | { kind: 'builtIn'; name: BuiltIn };

/** A placeholder found in a text. */
export interface Placeholder {
  /** Offset of its first character. */
  start: number;
  /** Offset after its last character. */
  end: number;
  /** As it is written. */
  text: string;
  reference: Reference;
  /** Value of `| default …`. */
  fallback?: Scalar;
}

/** What a text holds. */
export interface FoundPlaceholders {
  /** In the order of the text; they never overlap. */
  placeholders: Placeholder[];
  /** Error `InvalidPlaceholder`; warning `SuspectPlaceholder`. Paths are empty: the caller knows the field. */
  problems: Problem[];
}

const NAME = String.raw`[A-Za-z0-9_][A-Za-z0-9_-]*`;
const ROOTS = 'params|outputs|planName|executionName|operation|mode';
const REFERENCE = `(?:params\\.(?<param>${NAME})|outputs\\.(?<action>${NAME})(?<path>(?:\\.${NAME})+)|(?<builtIn>planName|executionName|operation|mode))`;
// Inside a JSON or YAML string the quotes of the default may be written with a backslash.
const LITERAL =
  String.raw`"(?:[^"\\\n]|\\.)*"|\\"[^"\\\n]*\\"|` +
  '`[^`\\n]*`' +
  String.raw`|-?[0-9]+(?:\.[0-9]+)?|true|false`;
const BRACES = new RegExp(
  String.raw`\{\{[ \t]*\.${REFERENCE}(?:[ \t]*\|[ \t]*default[ \t]+(?<fallback>${LITERAL}))?[ \t]*\}\}`,
  'y',
);
const PARENTHESES = new RegExp(String.raw`\$\(${REFERENCE}\)`, 'y');
const BEGINS_LIKE_OURS = new RegExp(String.raw`\{\{-?[ \t]*\.(?:${ROOTS})(?![A-Za-z0-9_])`, 'y');
// `.Values.params` and `$x.mode` belong to others: ours has nothing before its dot.
const NAMES_OURS = new RegExp(String.raw`(?<![\w)\]$.-])\.(?:${ROOTS})(?![\w-])`);
/** More problems of one text than anyone reads; each costs a count of its lines. */
const MAX_PROBLEMS = 50;
const QUOTED = /"(?:[^"\\]|\\.)*"|`[^`]*`/g;

/**
 * Finds the placeholders of a text: `{{ .params.x }}`, `{{ .params.x | default "3" }}`, `$(params.x)`, and the same
 * for `planName`, `executionName`, `operation`, `mode` and `outputs.<action>.<field>…` (S2.7).
 *
 * Any other `{{ }}` that names one of these is an error, so that nothing is silently left out; every other `{{ }}`
 * and `$( )` is literal text. Takes time linear in the length of the text.
 */
export function findPlaceholders(text: string): FoundPlaceholders {
  const placeholders: Placeholder[] = [];
  const problems: Problem[] = [];
  const opener = /\{\{|\$\(/g;
  let close = -2;

  for (let found = opener.exec(text); found !== null; found = opener.exec(text)) {
    if (problems.length >= MAX_PROBLEMS) break;
    const start = found.index;
    const pattern = found[0] === '{{' ? BRACES : PARENTHESES;
    pattern.lastIndex = start;
    const match = pattern.exec(text);
    if (match !== null) {
      const placeholder = read(match, start);
      if (placeholder === undefined) problems.push(invalid(text, start, match[0]));
      else placeholders.push(placeholder);
      opener.lastIndex = start + match[0].length;
      continue;
    }
    if (found[0] === '$(') {
      if (text.startsWith('params.', start + 2)) problems.push(suspect(text, start));
      continue;
    }
    if (text[start + 2] === '{') {
      opener.lastIndex = start + 1;
      continue;
    }
    if (close !== -1 && close < start + 2) close = text.indexOf('}}', start + 2);
    const next = text.indexOf('{{', start + 2);
    if (close === -1 || (next !== -1 && next < close)) {
      BEGINS_LIKE_OURS.lastIndex = start;
      if (BEGINS_LIKE_OURS.test(text)) {
        problems.push(invalid(text, start, text.slice(start, start + 60).split('\n', 1)[0] ?? ''));
      }
      continue;
    }
    if (NAMES_OURS.test(text.slice(start + 2, close).replace(QUOTED, '""'))) {
      problems.push(invalid(text, start, text.slice(start, close + 2)));
    }
  }
  return { placeholders, problems };
}

/** What a value refers to. */
export interface References {
  /** Parameters that are named. */
  params: Set<string>;
  /** Those of them that are named at least once without a default: they must have a value. */
  requiredParams: Set<string>;
  /** Actions whose outputs are named. */
  outputs: Set<string>;
  /** Which of their outputs, as paths such as `httpResponse.statusCode`. */
  outputPaths: Map<string, Set<string>>;
  /** Problems of the placeholders, each with the path of its string. */
  problems: Problem[];
}

/**
 * Collects what the strings of a JSON value refer to, keys of objects included. `path` is the field path of the
 * value itself, for problems.
 */
export function referencesOf(value: unknown, path = ''): References {
  const references: References = {
    params: new Set(),
    requiredParams: new Set(),
    outputs: new Set(),
    outputPaths: new Map(),
    problems: [],
  };
  collect(value, path, references);
  return references;
}

/** Line and column, counted from 1, of an offset. */
export function positionOf(text: string, offset: number): { line: number; column: number } {
  const before = text.slice(0, offset);
  const lineStart = before.lastIndexOf('\n') + 1;
  let line = 1;
  for (let at = before.indexOf('\n'); at !== -1; at = before.indexOf('\n', at + 1)) line += 1;
  return { line, column: offset - lineStart + 1 };
}

function collect(value: unknown, path: string, into: References): void {
  if (typeof value === 'string') {
    const { placeholders, problems } = findPlaceholders(value);
    for (const { reference, fallback } of placeholders) {
      if (reference.kind === 'output') {
        into.outputs.add(reference.action);
        const paths = into.outputPaths.get(reference.action) ?? new Set();
        into.outputPaths.set(reference.action, paths.add(reference.path.join('.')));
      }
      if (reference.kind !== 'param') continue;
      into.params.add(reference.name);
      if (fallback === undefined) into.requiredParams.add(reference.name);
    }
    into.problems.push(...problems.map((problem) => ({ ...problem, path })));
    return;
  }
  if (Array.isArray(value)) {
    for (const [index, item] of value.entries()) collect(item, `${path}[${index}]`, into);
    return;
  }
  if (typeof value !== 'object' || value === null) return;
  for (const [key, item] of Object.entries(value)) {
    const inner = path === '' ? key : `${path}.${key}`;
    collect(key, inner, into);
    collect(item, inner, into);
  }
}

function read(match: RegExpExecArray, start: number): Placeholder | undefined {
  const { param, action, path, builtIn, fallback } = match.groups ?? {};
  const [text] = match;
  let reference: Reference;
  if (param !== undefined) reference = { kind: 'param', name: param };
  else if (action !== undefined)
    reference = { kind: 'output', action, path: (path ?? '').slice(1).split('.') };
  else reference = { kind: 'builtIn', name: builtIn as BuiltIn };
  const placeholder: Placeholder = { start, end: start + text.length, text, reference };
  if (fallback === undefined) return placeholder;
  const value = literal(fallback);
  return value === undefined ? undefined : { ...placeholder, fallback: value };
}

function literal(written: string): Scalar | undefined {
  if (written.startsWith('`')) return written.slice(1, -1);
  if (written.startsWith('\\"')) return written.slice(2, -2);
  try {
    return JSON.parse(written) as Scalar;
  } catch {
    return undefined;
  }
}

function invalid(text: string, start: number, written: string): Problem {
  const { line } = positionOf(text, start);
  const shown = written.length > 80 ? `${written.slice(0, 80)}…` : written;
  return {
    severity: 'error',
    path: '',
    reason: 'InvalidPlaceholder',
    message: `line ${line}: ${shown} cannot be filled in; allowed are {{ .params.NAME }}, {{ .params.NAME | default "VALUE" }}, {{ .outputs.ACTION.FIELD }}, {{ .planName }}, {{ .executionName }}, {{ .operation }} and {{ .mode }}, where names hold letters, digits, "_" and "-"`,
  };
}

function suspect(text: string, start: number): Problem {
  const { line } = positionOf(text, start);
  const shown = text.slice(start, start + 40).split(/[\n)]/, 1)[0] ?? '';
  return {
    severity: 'warning',
    path: '',
    reason: 'SuspectPlaceholder',
    message: `line ${line}: ${shown}… looks like a placeholder but is not one and stays as it is; write $(params.NAME), where names hold letters, digits, "_" and "-"`,
  };
}
