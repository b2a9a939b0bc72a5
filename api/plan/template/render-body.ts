import { positionOf } from './placeholders.js';
import { parseTemplate, plainType, RenderError, resolve } from './render-scope.js';
import type { RenderScope, Template } from './render-scope.js';
import { renderYamlText } from './render-yaml.js';

/**
 * Renders the body of a request, or any text whose language is not known (the value of an override).
 *
 * - An object or array in JSON, whatever `contentType` says, and any JSON when it names JSON: stays byte for byte as
 *   written except for the values. Inside a string a value is escaped; outside it becomes the JSON of its YAML type.
 * - YAML when `contentType` names YAML: likewise, scalars with placeholders are rewritten in double quotes.
 * - A form (`application/x-www-form-urlencoded`): values are percent-encoded.
 * - A body that is nothing but one placeholder is the value itself; where JSON is announced and the value is no
 *   JSON, its JSON string.
 * - Everything else: plain text.
 *
 * Throws {@link RenderError} `InvalidBody` when JSON or YAML is announced and the template is not that, and those of
 * placeholders.
 */
export function renderBody(text: string, scope: RenderScope, contentType = ''): string {
  const template = parseTemplate(text);
  if (template.placeholders.length === 0) return text;
  const mediaType = (contentType.split(';', 1)[0] ?? '').trim().toLowerCase();
  const saysJson = /[/+]json$/.test(mediaType);
  const [only] = template.placeholders;
  if (only !== undefined && only.text === text.trim()) {
    const value = resolve(template, only, scope);
    const raw = String(value);
    return saysJson && parseJson(raw) === undefined ? JSON.stringify(value) : raw;
  }
  const slots = findSlots(template);
  const shape = parseJson(
    join(template, (index) => (slots[index] === 'string' ? token(index) : `"${token(index)}"`)),
  );
  if (shape !== undefined && (saysJson || (typeof shape.value === 'object' && shape.value !== null))) {
    return fillJson(template, slots, shape.value, scope);
  }
  if (saysJson) {
    throw new RenderError(
      'InvalidBody',
      `the body is announced as ${mediaType}, but is not JSON${jsonPosition(template, slots)}; correct it, or change the Content-Type`,
    );
  }
  if (/[/+.-]yaml$/.test(mediaType)) return renderYamlText(text, scope);
  const form = mediaType === 'application/x-www-form-urlencoded';
  return join(template, (index) => {
    const value = String(valueOf(template, index, scope));
    return form ? encodeForm(value) : value;
  });
}

/** Where a placeholder stands in JSON text. */
type Slot = 'string' | 'key' | 'value';

function findSlots(template: Template): Slot[] {
  let inString = false;
  return template.texts.slice(0, -1).map((text, index) => {
    for (let at = 0; at < text.length; at += 1) {
      if (text[at] === '\\' && inString) at += 1;
      else if (text[at] === '"') inString = !inString;
    }
    if (inString) return 'string';
    return /^\s*:/.test(template.texts[index + 1] ?? '') ? 'key' : 'value';
  });
}

function fillJson(template: Template, slots: Slot[], shape: unknown, scope: RenderScope): string {
  const body = join(template, (index) => {
    const value = valueOf(template, index, scope);
    switch (slots[index]) {
      case 'string':
        return JSON.stringify(String(value)).slice(1, -1);
      case 'key':
        return JSON.stringify(String(value));
      default:
        return JSON.stringify(plainType(value));
    }
  });
  const result = parseJson(body);
  if (result === undefined || countKeys(result.value) !== countKeys(shape)) {
    throw new RenderError(
      'InvalidBody',
      'a placeholder gives a key of the JSON body that its object holds already; keys must differ',
    );
  }
  return body;
}

function countKeys(value: unknown): number {
  let count = 0;
  const open: unknown[] = [value];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (typeof next !== 'object' || next === null) continue;
    const inner = Object.values(next);
    if (!Array.isArray(next)) count += inner.length;
    for (const item of inner) open.push(item);
  }
  return count;
}

function parseJson(text: string): { value: unknown } | undefined {
  try {
    return { value: JSON.parse(text) as unknown };
  } catch {
    return undefined;
  }
}

function jsonPosition(template: Template, slots: Slot[]): string {
  // Tokens as long as what they replace, so that positions stay true.
  const text = join(template, (index) => {
    const length = template.placeholders[index]?.text.length ?? 0;
    return slots[index] === 'string' ? 'x'.repeat(length) : `"${'x'.repeat(Math.max(0, length - 2))}"`;
  });
  try {
    JSON.parse(text);
    return '';
  } catch (error) {
    const offset = /position (\d+)/.exec(error instanceof Error ? error.message : '')?.[1];
    if (offset === undefined) return '';
    const { line, column } = positionOf(template.source, Number(offset));
    return ` at line ${line}, column ${column}`;
  }
}

function join(template: Template, fill: (index: number) => string): string {
  return template.texts.reduce((before, after, index) => before + fill(index - 1) + after);
}

function valueOf(template: Template, index: number, scope: RenderScope) {
  const placeholder = template.placeholders[index];
  if (placeholder === undefined) throw new RangeError(`placeholder ${index} of a template does not exist`);
  return resolve(template, placeholder, scope);
}

const token = (index: number): string => `placeholder ${index}`;

function encodeForm(value: string): string {
  try {
    return encodeURIComponent(value);
  } catch {
    throw new RenderError(
      'InvalidBody',
      'a value for the form holds half of a surrogate pair and is no valid text; correct the value',
    );
  }
}
