import { isAlias, isCollection, parseAllDocuments, Scalar as YamlScalar, visit } from 'yaml';
import type { Document } from 'yaml';
import { positionOf } from './placeholders.js';
import { parseTemplate, plainType, RenderError, resolve } from './render-scope.js';
import type { RenderReason, RenderScope, Template } from './render-scope.js';
import type { Scalar } from '../schema/common.js';
import {
  findDuplicateKey,
  findExcess,
  findUnbounded,
  KUBECTL_YAML,
  MAX_YAML_ALIASES,
  MAX_YAML_DEPTH,
} from '../../core/yaml.js';

/**
 * Renders a manifest: one or several YAML documents, as JSON values; empty documents are left out, so the list may be
 * empty. The YAML is read as kubectl reads it (`yes` and `on` are booleans, `0644` is octal, `<<` merges).
 *
 * A placeholder that is a whole unquoted scalar takes the YAML type of its value (number, boolean or text); a quoted
 * one, a part of a scalar and one in a block scalar are text. Placeholders in keys give the key's text; two keys of
 * one map that become equal are refused, like duplicate keys, tags of other languages, numbers that JSON cannot
 * hold, and placeholders in anchors, aliases and tags.
 * Throws {@link RenderError} `InvalidManifest`, with line and column of the text, and those of placeholders.
 */
export function renderDocuments(text: string, scope: RenderScope): unknown[] {
  const documents = parse(text, 'InvalidManifest');
  const rendered: unknown[] = [];
  for (const document of documents.list) {
    fill(document, documents, scope);
    const json = toJson(document, documents);
    if (json !== null && json !== undefined) rendered.push(json);
  }
  return rendered;
}

/**
 * Renders YAML text in place: only scalars that hold placeholders are rewritten, everything else stays as it is
 * written. Throws {@link RenderError} `InvalidBody` and those of placeholders.
 */
export function renderYamlText(text: string, scope: RenderScope): string {
  const documents = parse(text, 'InvalidBody');
  const edits: Edit[] = [];
  for (const document of documents.list) edits.push(...fill(document, documents, scope));
  for (const document of documents.list) toJson(document, documents);
  edits.sort((a, b) => a.start - b.start);
  let result = '';
  let at = 0;
  for (const edit of edits) {
    result += documents.text.slice(at, edit.start) + edit.text;
    at = edit.end;
  }
  result += documents.text.slice(at);
  const [broken] = guard(documents.reason, () => parseAllDocuments(result, KUBECTL_YAML)).flatMap(
    (one) => one.errors,
  );
  if (broken !== undefined) {
    throw new RenderError('InvalidBody', `with its values the YAML is no longer valid: ${broken.message}`);
  }
  // What is left stands in comments.
  return result.replace(documents.token, (token) => documents.written(token));
}

interface Edit {
  start: number;
  end: number;
  text: string;
}

interface Parsed {
  template: Template;
  reason: RenderReason;
  /** The text with every placeholder replaced by a token. */
  text: string;
  /** Matches any token. */
  token: RegExp;
  /** Placeholder of a token, as it is written. */
  written(token: string): string;
  /** Refuses the text, naming line and column of what stands at an offset of {@link Parsed.text}. */
  fail(offset: number, message: string): never;
  list: Document.Parsed[];
}

function parse(source: string, reason: RenderReason): Parsed {
  const template = parseTemplate(source);
  // oxlint-disable-next-line no-control-regex -- control characters are what is looked for
  const control = /[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]/.exec(source);
  if (control !== null) {
    const { line, column } = positionOf(source, control.index);
    throw new RenderError(
      reason,
      `line ${line}, column ${column}: control characters are not allowed in YAML; remove it, or write it as an escape in double quotes`,
    );
  }
  let nonce = '';
  do {
    // Begins with a letter that is no escape in YAML or JSON; random, so that no text can be made to hold it.
    nonce = `p${globalThis.crypto.randomUUID().replaceAll('-', '')}n`;
  } while (source.includes(nonce));
  const text = template.texts.reduce((before, after, index) => `${before}${nonce}${index - 1}e${after}`);
  const token = new RegExp(`${nonce}([0-9]+)e`, 'g');
  const written = (found: string): string =>
    template.placeholders[Number(found.slice(nonce.length, -1))]?.text ?? found;
  const parsed: Parsed = {
    template,
    reason,
    text,
    token,
    written,
    fail(offset, message) {
      const { line, column } = positionOf(source, text.slice(0, offset).replace(token, written).length);
      throw new RenderError(reason, `line ${line}, column ${column}: ${message.replace(token, written)}`);
    },
    list: [],
  };
  const documents = guard(reason, () => parseAllDocuments(text, KUBECTL_YAML));
  parsed.list = Array.isArray(documents) ? documents : [];
  for (const document of parsed.list) {
    const [problem] = [...document.errors, ...document.warnings];
    if (problem !== undefined) parsed.fail(problem.pos[0], plainly(problem.message));
    const fault = guard(reason, () => findUnbounded(document));
    if (fault !== undefined) parsed.fail(fault.offset, fault.message);
    guard(reason, () => {
      visit(document, {
        Node(_key, node) {
          const offset = node.range?.[0] ?? 0;
          const names = [node.tag, isAlias(node) ? node.source : node.anchor];
          if (names.some((name) => name?.includes(nonce) === true)) {
            parsed.fail(offset, 'a placeholder cannot stand in an anchor, an alias or a tag');
          }
        },
        Pair(_key, pair) {
          if (isCollection(pair.key)) parsed.fail(pair.key.range?.[0] ?? 0, 'a key must be a single text');
          if (isAlias(pair.key)) parsed.fail(pair.key.range?.[0] ?? 0, 'a key cannot be an alias');
        },
      });
    });
  }
  return parsed;
}

/** Puts values into the scalars of a document and tells which parts of the text they take. */
function fill(document: Document.Parsed, parsed: Parsed, scope: RenderScope): Edit[] {
  const edits: Edit[] = [];
  const substitute = (node: YamlScalar): void => {
    if (typeof node.value !== 'string') return;
    const value = render(node.value, node, parsed, scope);
    if (value === undefined) return;
    const [start, end] = node.range ?? [0, 0];
    const block = node.type === YamlScalar.BLOCK_FOLDED || node.type === YamlScalar.BLOCK_LITERAL;
    edits.push({ start, end, text: `${JSON.stringify(value)}${block ? '\n' : ''}` });
    node.value = value;
    // Plain text could still be read as a merge key.
    node.type = YamlScalar.QUOTE_DOUBLE;
  };
  guard(parsed.reason, () => {
    visit(document, {
      Scalar(_key, node) {
        substitute(node);
      },
    });
    const fault = findDuplicateKey(document);
    if (fault !== undefined) parsed.fail(fault.offset, fault.message);
  });
  return edits;
}

/** Value of a scalar, or undefined when it holds no placeholder. */
function render(text: string, node: YamlScalar, parsed: Parsed, scope: RenderScope): Scalar | undefined {
  let last = 0;
  let result = '';
  let whole: Scalar | undefined;
  let found = false;
  for (const match of text.matchAll(parsed.token)) {
    const placeholder = parsed.template.placeholders[Number(match[1])];
    if (placeholder === undefined) continue;
    found = true;
    const value = resolve(parsed.template, placeholder, scope);
    result += text.slice(last, match.index) + String(value);
    last = match.index + match[0].length;
    if (match[0] === text && node.type === YamlScalar.PLAIN && node.tag === undefined)
      whole = plainType(value);
  }
  if (!found) return undefined;
  return whole ?? result + text.slice(last);
}

const TOO_DEEP = `is nested more than ${MAX_YAML_DEPTH} levels deep; flatten it`;

/** A message of the YAML library, for a person. */
function plainly(message: string): string {
  return message.startsWith('Maximum call stack') ? TOO_DEEP : message;
}

function toJson(document: Document.Parsed, parsed: Parsed): unknown {
  return guard(parsed.reason, () => {
    visit(document, {
      Scalar(_key, node) {
        node.value = jsonScalar(node, parsed);
      },
    });
    const json = document.toJS({ maxAliasCount: MAX_YAML_ALIASES }) as unknown;
    const excess = findExcess(json);
    if (excess !== undefined) parsed.fail(document.contents?.range[0] ?? 0, excess);
    return json;
  });
}

function jsonScalar(node: YamlScalar, parsed: Parsed): unknown {
  const { value } = node;
  // A symbol is the merge key.
  if (value === null || ['string', 'boolean', 'symbol'].includes(typeof value)) return value;
  const number = Number(value);
  const exact = typeof value === 'bigint' ? Number.isSafeInteger(number) : Number.isFinite(number);
  if (exact && (typeof value === 'bigint' || typeof value === 'number')) return number;
  return parsed.fail(
    node.range?.[0] ?? 0,
    `${node.source ?? 'the number'} cannot be kept exactly as a number; write it in quotes, or use a number that JSON can hold`,
  );
}

/** Runs the YAML library and turns what it throws on hostile input into a {@link RenderError}. */
function guard<T>(reason: RenderReason, run: () => T): T {
  try {
    return run();
  } catch (error) {
    if (error instanceof RenderError) throw error;
    if (error instanceof RangeError) throw new RenderError(reason, `the YAML ${TOO_DEEP}`);
    if (error instanceof ReferenceError) {
      throw new RenderError(reason, `${error.message}; write out what the aliases stand for`);
    }
    throw error;
  }
}
