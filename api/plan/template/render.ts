/**
 * Rendering: structure first, values second. A template is parsed with its placeholders opaque, then values are put
 * into leaves, in a single pass, so that a value can add no key, no document, no header and no other placeholder
 * (S2.11, S2.12).
 *
 * Every function throws {@link RenderError} for what a person must correct, and nothing else.
 */
import { parseTemplate, RenderError, resolve } from './render-scope.js';
import type { RenderScope } from './render-scope.js';
import type { Scalar } from '../schema/common.js';

export { RenderError } from './render-scope.js';
export type { RenderReason, RenderScope } from './render-scope.js';
export { renderBody } from './render-body.js';
export { isHostOf, renderHeaderValue, renderUrl, userInfoProblem, withoutUserInfo } from './render-http.js';
export { renderDocuments } from './render-yaml.js';

/** Renders a text that stands alone: a name, a namespace, a method, an operation. */
export function renderString(text: string, scope: RenderScope): string {
  const template = parseTemplate(text);
  return template.texts.reduce((before, after, index) => {
    const placeholder = template.placeholders[index - 1];
    return placeholder === undefined ? after : before + String(resolve(template, placeholder, scope)) + after;
  });
}

/** Fields whose members Kubernetes always reads as strings, so that a number parameter must become text there. */
const STRING_MEMBERS = new Set([
  'annotations',
  'args',
  'command',
  'labels',
  'matchLabels',
  'nodeSelector',
  'values',
]);

/**
 * Renders JSON that is already structured (a Job template, a nested spec). Keys are rendered too.
 *
 * How a string leaf was quoted in YAML is no longer known. One that is exactly one placeholder takes a number or a
 * boolean only when the value itself is one (its parameter is declared `number` or `boolean`); text always stays
 * text. Where Kubernetes reads nothing but strings (labels, annotations, selectors, `command`, `args`, `value` of a
 * variable in `env`) the result is always a string.
 */
export function renderValue(json: unknown, scope: RenderScope): unknown {
  try {
    return walk(json, [], scope);
  } catch (error) {
    if (error instanceof RangeError) {
      throw new RenderError('InvalidManifest', 'the value is nested too deeply; flatten it');
    }
    throw error;
  }
}

function walk(value: unknown, path: readonly (string | number)[], scope: RenderScope): unknown {
  if (typeof value === 'string') return leaf(value, path, scope);
  if (Array.isArray(value)) return value.map((item, index) => walk(item, [...path, index], scope));
  if (typeof value !== 'object' || value === null) return value;
  const entries: [string, unknown][] = [];
  const keys = new Set<string>();
  for (const [written, item] of Object.entries(value)) {
    const key = located([...path, written], () => renderString(written, scope));
    if (keys.has(key)) {
      throw new RenderError(
        'InvalidManifest',
        `${show([...path, written])}: the key becomes "${key}", which stands here already; keys must differ`,
      );
    }
    keys.add(key);
    entries.push([key, walk(item, [...path, written], scope)]);
  }
  // fromEntries defines properties: a key may be called __proto__.
  return Object.fromEntries(entries);
}

function leaf(text: string, path: readonly (string | number)[], scope: RenderScope): Scalar {
  return located(path, () => {
    const template = parseTemplate(text);
    const [placeholder] = template.placeholders;
    if (placeholder?.text !== text || isStringField(path)) return renderString(text, scope);
    return resolve(template, placeholder, scope);
  });
}

function isStringField(path: readonly (string | number)[]): boolean {
  const parent = path.at(-2);
  if (typeof parent === 'string' && STRING_MEMBERS.has(parent)) return true;
  return path.at(-1) === 'value' && typeof parent === 'number' && path.at(-3) === 'env';
}

function located<T>(path: readonly (string | number)[], render: () => T): T {
  try {
    return render();
  } catch (error) {
    if (!(error instanceof RenderError) || path.length === 0) throw error;
    throw new RenderError(error.reason, `${show(path)}: ${error.message}`);
  }
}

function show(path: readonly (string | number)[]): string {
  return path.reduce<string>(
    (text, part) => (typeof part === 'number' ? `${text}[${part}]` : text === '' ? part : `${text}.${part}`),
    '',
  );
}
