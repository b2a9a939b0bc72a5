import { findPlaceholders } from './placeholders.js';
import type { Problem } from '../../core/problem.js';
import type { Parameter, Scalar } from '../schema/common.js';
import { checkValueFrom, isPending } from './value-from.js';

/** Parameter lists that apply to one use of a workflow, lowest first. */
export interface ParameterLevels {
  /** Declarations of the workflow, with their defaults. */
  workflow: readonly Parameter[];
  /** `globalParams` of the plan. */
  plan?: readonly Parameter[];
  /** `params` of the reference in the stage. */
  stage?: readonly Parameter[];
  /** `params` of the execution. */
  execution?: readonly Parameter[];
}

/** How parameters are merged. */
export interface MergeOptions {
  /**
   * `plan`: a plan is checked; an unmet `required` only warns, since an execution may still give the value.
   * `start`: a run is about to start; it is an error.
   */
  at: 'plan' | 'start';
  /** Field path of each list, for problems. Defaults: the paths of the fields in their own object. */
  paths?: Partial<Record<keyof ParameterLevels, string>>;
}

/** Outcome of a merge. */
export interface MergedParameters {
  /** Value by name, without a prototype: a parameter may be called `__proto__`. Names without a value are absent. */
  values: Record<string, Scalar>;
  /** Names whose value is looked up when a run starts. */
  pending: ReadonlySet<string>;
  problems: Problem[];
}

const LEVELS = ['workflow', 'plan', 'stage', 'execution'] as const;

const DEFAULT_PATHS: Record<keyof ParameterLevels, string> = {
  workflow: 'spec.parameters',
  plan: 'spec.globalParams',
  stage: 'params',
  execution: 'spec.params',
};

interface Candidate {
  path: string;
  type?: Parameter['type'];
  required: boolean;
  value?: Scalar;
  valuePath: string;
  pending?: boolean;
}

/**
 * Merges the parameters of one use of a workflow, low to high: workflow default, plan, stage reference, execution;
 * `value ?? default` in each, and an entry with neither overrides nothing (S2.1).
 *
 * The type is the one that the workflow declares; without a declaration the type of the highest entry that gives
 * one; string where none does. An empty string is a value, but does not satisfy `required`.
 * Never throws; what is wrong is in `problems`, with reasons `MissingParameter`, `InvalidParameter`,
 * `UnsupportedField` and those of `checkValueFrom` (errors), `UnknownParameter` (a stage gives what the workflow does not declare) and
 * `DuplicateParameter` (warnings). For plan and execution parameters see {@link unknownParameters}: whether they
 * are known depends on every workflow of the plan.
 */
export function mergeParameters(levels: ParameterLevels, options: MergeOptions): MergedParameters {
  const problems: Problem[] = [];
  const candidates = new Map<string, Candidate>();
  const declared = new Set(levels.workflow.map((parameter) => parameter.name));

  for (const level of LEVELS) {
    const base = options.paths?.[level] ?? DEFAULT_PATHS[level];
    const seen = new Set<string>();
    for (const [index, entry] of (levels[level] ?? []).entries()) {
      const path = `${base}[${index}]`;
      const { name } = entry;
      if (seen.has(name)) {
        problems.push({
          severity: 'warning',
          path,
          reason: 'DuplicateParameter',
          message: `parameter "${name}" is given twice in this list; the last entry counts, remove the other`,
        });
      }
      seen.add(name);
      if (isPending(entry)) {
        problems.push(
          ...(level === 'workflow' ? [declaredPending(name, path)] : checkValueFrom(entry, path)),
        );
      }
      if (level === 'stage' && !declared.has(name)) problems.push(unknown(name, path));
      apply(candidates, entry, path, level === 'workflow' || !declared.has(name));
    }
  }

  const values: Record<string, Scalar> = Object.create(null) as Record<string, Scalar>;
  const pending = new Set<string>();
  for (const [name, candidate] of candidates) {
    const { value } = candidate;
    if (candidate.pending === true) {
      pending.add(name);
      continue;
    }
    if (candidate.required && (value === undefined || value === '')) {
      problems.push(missing(name, candidate, options.at));
    }
    if (value === undefined) continue;
    const typed = candidate.required && value === '' ? value : coerce(value, candidate.type);
    if (typed === undefined) {
      problems.push(invalid(name, value, candidate));
    } else {
      values[name] = typed;
    }
  }
  return { values, pending, problems };
}

/**
 * Warns about parameters that no workflow of the plan knows: most likely a typing mistake (S2.5).
 * `known` holds the names that workflows declare or use; `path` is the field path of the list.
 */
export function unknownParameters(
  entries: readonly Parameter[],
  known: ReadonlySet<string>,
  path: string,
): Problem[] {
  return entries.flatMap((entry, index) =>
    known.has(entry.name) ? [] : [unknown(entry.name, `${path}[${index}]`)],
  );
}

/**
 * Warns about values and defaults that hold a placeholder: values go in once, so it stays the text that it is (S2.6).
 * For the lists that a person has written; `path` is the field path of the list.
 */
export function literalPlaceholders(entries: readonly Parameter[], path: string): Problem[] {
  return entries.flatMap((entry, index): Problem[] => {
    const isDefault = entry.value === undefined || entry.value === null;
    const found = placeholderIn(isDefault ? entry.default : entry.value);
    if (found === undefined) return [];
    return [
      {
        severity: 'warning',
        path: `${path}[${index}].${isDefault ? 'default' : 'value'}`,
        reason: 'LiteralPlaceholder',
        message: describeLiteral(entry.name, found),
      },
    ];
  });
}

/** The first placeholder that a value holds. */
export function placeholderIn(value: Scalar | null | undefined): string | undefined {
  return typeof value === 'string' ? findPlaceholders(value).placeholders[0]?.text : undefined;
}

/** What is said of a parameter whose value holds a placeholder. */
export const describeLiteral = (name: string, placeholder: string): string =>
  `the value of parameter "${name}" holds ${placeholder}, which stays this text: values are not filled in again; give the value itself, or write the placeholder where the parameter is used`;

function apply(candidates: Map<string, Candidate>, entry: Parameter, path: string, declares: boolean): void {
  const previous = candidates.get(entry.name);
  const next: Candidate = previous ?? { path, required: false, valuePath: path };
  candidates.set(entry.name, next);
  if (declares) next.type = entry.type ?? next.type;
  if (entry.required === true) next.required = true;
  if (isPending(entry)) {
    next.pending = true;
    return;
  }
  const value = entry.value ?? entry.default;
  if (value === undefined || value === null) return;
  next.pending = false;
  next.value = value;
  next.valuePath = entry.value === undefined || entry.value === null ? `${path}.default` : `${path}.value`;
}

const declaredPending = (name: string, path: string): Problem => ({
  severity: 'error',
  path: `${path}.valueFrom`,
  reason: 'UnsupportedField',
  message: `parameter "${name}" is declared here and cannot take its value from an object; write valueFrom in globalParams or params of a plan, or in an execution`,
});

const DECIMAL = /^[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?$/;

/** The value in its declared type, or undefined when it cannot be that. */
function coerce(value: Scalar, type: Parameter['type']): Scalar | undefined {
  switch (type) {
    case undefined:
    case 'string':
      return String(value);
    case 'number': {
      if (typeof value === 'boolean') return undefined;
      if (typeof value === 'string' && !DECIMAL.test(value)) return undefined;
      const number = Number(value);
      // Beyond 2^53 digits would change silently.
      const exact = Number.isInteger(number) ? Number.isSafeInteger(number) : Number.isFinite(number);
      return exact ? number : undefined;
    }
    case 'boolean':
      if (typeof value === 'boolean') return value;
      if (value === 'true' || value === 'True' || value === 'TRUE') return true;
      if (value === 'false' || value === 'False' || value === 'FALSE') return false;
      return undefined;
    default:
      return undefined;
  }
}

const ALLOWED = {
  string: 'text',
  number: 'a number that can be kept exactly, such as 3 or 1.5',
  boolean: 'true or false',
} as const;

function invalid(name: string, value: Scalar, candidate: Candidate): Problem {
  const type = candidate.type ?? 'string';
  const shown = JSON.stringify(
    typeof value === 'string' && value.length > 100 ? `${value.slice(0, 100)}…` : value,
  );
  const allowed = Object.hasOwn(ALLOWED, type) ? ALLOWED[type] : 'a known type: string, number or boolean';
  return {
    severity: 'error',
    path: candidate.valuePath,
    reason: 'InvalidParameter',
    message: `parameter "${name}" is declared as ${type}, but its value is ${shown}; allowed is ${allowed}`,
  };
}

function missing(name: string, candidate: Candidate, at: MergeOptions['at']): Problem {
  const empty = candidate.value === '' ? 'its value is empty' : 'no level gives it a value';
  return {
    severity: at === 'plan' ? 'warning' : 'error',
    path: candidate.path,
    reason: 'MissingParameter',
    message: `parameter "${name}" is required, but ${empty}; give it in the plan, in the stage or in spec.params of the execution`,
  };
}

function unknown(name: string, path: string): Problem {
  return {
    severity: 'warning',
    path,
    reason: 'UnknownParameter',
    message: `parameter "${name}" is not declared by the workflow; check the spelling, or declare it in spec.parameters of the workflow`,
  };
}
