/**
 * The part of kubectl's JSONPath that finds values: `{.status.conditions[?(@.type=="Ready")].status}`. Fields, indexes,
 * `*` and filters that compare one field with one value; no scripts, no recursion, nothing that could run away.
 */
import { isObject } from './json.js';

type Step =
  | { kind: 'field'; name: string }
  | { kind: 'index'; at: number }
  | { kind: 'all' }
  | { kind: 'filter'; path: string[]; equal: boolean; value: string };

/** A path that can be followed, or what is wrong with it. */
export type JsonPath = { ok: true; steps: Step[] } | { ok: false; problem: string };

const STEP =
  /\.([A-Za-z0-9_-]+)|\[\s*(?:'([^']*)'|"([^"]*)")\s*\]|\[\s*(-?\d+)\s*\]|\.\*|\[\s*\*\s*\]|\[\?\(\s*@((?:\.[A-Za-z0-9_-]+)+)\s*(==|!=)\s*(?:'([^']*)'|"([^"]*)"|([A-Za-z0-9_.-]+))\s*\)\]/y;

/** Reads a path; braces around it and a `$` before it may be left out. */
export function readJsonPath(text: string): JsonPath {
  let path = text.trim();
  if (path.startsWith('{') && path.endsWith('}')) path = path.slice(1, -1).trim();
  if (path.startsWith('$')) path = path.slice(1);
  if (path !== '' && !path.startsWith('.') && !path.startsWith('[')) path = `.${path}`;
  const steps: Step[] = [];
  let at = 0;
  while (at < path.length) {
    STEP.lastIndex = at;
    const match = STEP.exec(path);
    if (match === null) {
      return {
        ok: false,
        problem: `cannot be read from ${JSON.stringify(path.slice(at, at + 40))} on; allowed are .field, ['field'], [0], [*] and [?(@.field=="value")]`,
      };
    }
    steps.push(stepOf(match));
    at = STEP.lastIndex;
  }
  return steps.length === 0 ? { ok: false, problem: 'names no field' } : { ok: true, steps };
}

function stepOf(match: RegExpExecArray): Step {
  const [all, field, single, double, index, filterPath, operator, ...values] = match;
  const name = field ?? single ?? double;
  if (name !== undefined) return { kind: 'field', name };
  if (index !== undefined) return { kind: 'index', at: Number(index) };
  if (filterPath === undefined) return { kind: 'all' };
  return {
    kind: 'filter',
    path: filterPath.slice(1).split('.'),
    equal: operator === '==',
    value: values.find((value) => value !== undefined) ?? all,
  };
}

/** All values that a path finds, in order. */
export function findByPath(steps: readonly Step[], value: unknown): unknown[] {
  return steps.reduce<unknown[]>((found, step) => found.flatMap((item) => follow(step, item)), [value]);
}

function follow(step: Step, value: unknown): unknown[] {
  switch (step.kind) {
    case 'field':
      return isObject(value) && Object.hasOwn(value, step.name) ? [value[step.name]] : [];
    case 'index':
      return Array.isArray(value) && value.at(step.at) !== undefined ? [value.at(step.at)] : [];
    case 'all':
      return Array.isArray(value) ? (value as unknown[]) : isObject(value) ? Object.values(value) : [];
    case 'filter':
      return (Array.isArray(value) ? (value as unknown[]) : []).filter((item) => {
        const [own] = findByPath(
          step.path.map((name) => ({ kind: 'field', name })),
          item,
        );
        return (textOf(own) === step.value) === step.equal;
      });
  }
}

/** A value as it is compared: texts as they are, everything else as JSON. */
export const textOf = (value: unknown): string =>
  typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
