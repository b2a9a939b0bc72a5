/** Renders templates with made-up values, so that their structure can be checked before the real ones are known. */
import { findPlaceholders } from '../template/placeholders.js';
import type { Problem } from '../../core/problem.js';
import { RenderError } from '../template/render.js';
import type { RenderScope } from '../template/render.js';
import { error } from '../../core/fields.js';

/** Mark of a made-up value; whatever holds it cannot be judged yet. */
const MARK = 'sample-of-';
/** Made-up value of {@link blankScope}: a character for private use, which no name may hold. */
const BLANK = '\ue000';

/** Whether a rendered value comes from a placeholder, so that nothing can be said about it. */
export function isSample(value: unknown): boolean {
  return typeof value === 'string' && value.includes(MARK);
}

/** Whether a text holds a placeholder. */
export function isTemplated(text: string): boolean {
  return findPlaceholders(text).placeholders.length > 0;
}

/** A scope in which every placeholder of the texts has a made-up value of its own. */
export function sampleScope(texts: readonly string[]): RenderScope {
  return scopeOf(texts, (what) => `${MARK}${what}`);
}

/** A scope whose values {@link withoutBlanks} takes out again: what is left of a text was written there. */
export function blankScope(texts: readonly string[]): RenderScope {
  return { ...scopeOf(texts, () => BLANK), operation: BLANK };
}

/** What was written in a text that {@link blankScope} has filled. */
export const withoutBlanks = (text: string): string => text.replaceAll(BLANK, '');

function scopeOf(texts: readonly string[], sample: (what: string) => string): RenderScope {
  const params = Object.create(null) as RenderScope['params'];
  const outputs = Object.create(null) as Record<string, Record<string, unknown>>;
  for (const { reference } of texts.flatMap((text) => findPlaceholders(text).placeholders)) {
    if (reference.kind === 'param') params[reference.name] = sample(reference.name);
    if (reference.kind === 'output') {
      const view = (outputs[reference.action] ??= { phase: 'Succeeded' });
      put(view, reference.path, sample(reference.action));
    }
  }
  return {
    params,
    planName: sample('plan'),
    executionName: sample('execution'),
    operation: 'Execute',
    mode: sample('mode'),
    outputs,
  };
}

/** Later paths win, so that `a.b` and `a.b.c` in one text do not stop the check of the rest. */
function put(view: Record<string, unknown>, path: readonly string[], value: string): void {
  let node = view;
  for (const [index, key] of path.entries()) {
    if (index === path.length - 1) {
      if (!(Object.hasOwn(node, key) && typeof node[key] === 'object')) define(node, key, value);
      return;
    }
    const next = Object.hasOwn(node, key) ? node[key] : undefined;
    if (typeof next === 'object' && next !== null) {
      node = next as Record<string, unknown>;
    } else {
      const child = {};
      define(node, key, child);
      node = child;
    }
  }
}

/** Assignment would call a setter for a key such as `__proto__`. */
function define(node: Record<string, unknown>, key: string, value: unknown): void {
  Object.defineProperty(node, key, { value, enumerable: true, configurable: true, writable: true });
}

/** Placeholder faults are reported once, by the check of all references. */
const REPORTED_ELSEWHERE = new Set<string>([
  'InvalidPlaceholder',
  'UndefinedParameter',
  'UndefinedOutput',
  'UndefinedName',
]);

/** Renders; what is wrong with the template becomes a problem. */
export function trySample<T>(
  path: string,
  texts: readonly string[],
  render: (scope: RenderScope) => T,
): { value: T } | { problems: Problem[] } {
  try {
    return { value: render(sampleScope(texts)) };
  } catch (thrown) {
    if (!(thrown instanceof RenderError)) throw thrown;
    return {
      problems: REPORTED_ELSEWHERE.has(thrown.reason) ? [] : [error(path, thrown.reason, thrown.message)],
    };
  }
}

/** What a template becomes with made-up values; undefined where it cannot be rendered, which other checks report. */
export function sampled<T>(texts: readonly string[], render: (scope: RenderScope) => T): T | undefined {
  const sample = trySample('', texts, render);
  return 'value' in sample ? sample.value : undefined;
}

/** All texts inside a JSON value, keys included. */
export function textsOf(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  if (Array.isArray(value)) return value.flatMap(textsOf);
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, item]) => [key, ...textsOf(item)]);
}
