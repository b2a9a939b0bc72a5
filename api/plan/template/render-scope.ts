import { findPlaceholders, positionOf } from './placeholders.js';
import type { Placeholder } from './placeholders.js';
import type { Scalar } from '../schema/common.js';

/** Why a template could not be rendered. None of these goes away by trying again. */
export type RenderReason =
  | 'InvalidPlaceholder'
  | 'UndefinedParameter'
  | 'UndefinedOutput'
  | 'UndefinedName'
  | 'InvalidManifest'
  | 'InvalidBody'
  | 'InvalidURL'
  | 'InvalidHeader';

/** A template that cannot be rendered; its message is for a person. */
export class RenderError extends Error {
  override readonly name = 'RenderError';
  /** Stable CamelCase reason, for statuses. */
  readonly reason: RenderReason;

  constructor(reason: RenderReason, message: string) {
    super(message);
    this.reason = reason;
  }
}

/** What placeholders are filled from. */
export interface RenderScope {
  /** Merged parameters. */
  params: Record<string, Scalar>;
  planName: string;
  executionName: string;
  /** `Execute` or `Revert`. */
  operation: string;
  /** Absent while the execution sets no mode. */
  mode?: string;
  /** Outputs of the ended actions of the same workflow instance, each with its `phase`. */
  outputs: Readonly<Record<string, object>>;
}

/** A text split at its placeholders: `texts` has one element more than `placeholders`. */
export interface Template {
  source: string;
  texts: string[];
  placeholders: Placeholder[];
}

/** Splits a text at its placeholders. Throws `InvalidPlaceholder`. */
export function parseTemplate(source: string): Template {
  const { placeholders, problems } = findPlaceholders(source);
  const error = problems.find((problem) => problem.severity === 'error');
  if (error !== undefined) throw new RenderError('InvalidPlaceholder', error.message);
  const texts: string[] = [];
  let at = 0;
  for (const placeholder of placeholders) {
    texts.push(source.slice(at, placeholder.start));
    at = placeholder.end;
  }
  texts.push(source.slice(at));
  return { source, texts, placeholders };
}

/**
 * Value of a placeholder. `| default` counts when there is no value or an empty one.
 * Throws `UndefinedParameter`, `UndefinedOutput` or `UndefinedName`.
 */
export function resolve(template: Template, placeholder: Placeholder, scope: RenderScope): Scalar {
  const { reference, fallback } = placeholder;
  let value: unknown;
  switch (reference.kind) {
    case 'param':
      value = own(scope.params, reference.name);
      break;
    case 'output':
      value = own(scope.outputs, reference.action);
      for (const segment of reference.path) value = own(value, segment);
      break;
    case 'builtIn':
      value = scope[reference.name];
      break;
  }
  if ((value === undefined || value === null || value === '') && fallback !== undefined) return fallback;
  if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean') return value;
  return undefinedValue(template, placeholder, value, scope);
}

/**
 * The YAML type of a value that takes a whole unquoted scalar: numbers and booleans, also those given as text, as
 * long as the text is exactly how they are written ("1.10" or "007" would change and stay text). Never null: in a
 * patch that would delete a field.
 */
export function plainType(value: Scalar): Scalar {
  if (typeof value !== 'string') return value;
  if (value === 'true') return true;
  if (value === 'false') return false;
  if (!/^-?[0-9]/.test(value) || value.length > 32) return value;
  const number = Number(value);
  return Number.isFinite(number) && String(number) === value ? number : value;
}

function own(object: unknown, key: string): unknown {
  if (typeof object !== 'object' || object === null || !Object.hasOwn(object, key)) return undefined;
  return (object as Record<string, unknown>)[key];
}

function undefinedValue(
  template: Template,
  placeholder: Placeholder,
  found: unknown,
  scope: RenderScope,
): never {
  const { reference, text, start } = placeholder;
  const { line, column } = positionOf(template.source, start);
  const where = template.source.includes('\n') ? `${text} at line ${line}, column ${column}` : text;
  switch (reference.kind) {
    case 'param':
      throw new RenderError(
        'UndefinedParameter',
        `${where}: parameter "${reference.name}" has no value; known are ${list(scope.params)}. Give it a value, or a default in the workflow`,
      );
    case 'output': {
      const action = `action "${reference.action}"`;
      if (!Object.hasOwn(scope.outputs, reference.action)) {
        throw new RenderError(
          'UndefinedOutput',
          `${where}: ${action} has no outputs here; ended actions of this workflow are ${list(scope.outputs)}`,
        );
      }
      const path = reference.path.join('.');
      const problem =
        typeof found === 'object' && found !== null
          ? `output "${path}" of ${action} is not a single value; name one of its fields: ${list(found)}`
          : `${action} has no output "${path}"; it has ${list(scope.outputs[reference.action] ?? {})}`;
      throw new RenderError('UndefinedOutput', `${where}: ${problem}`);
    }
    case 'builtIn':
      throw new RenderError(
        'UndefinedName',
        `${where}: the execution sets no ${reference.name}; set it, or write a default: {{ .${reference.name} | default "VALUE" }}`,
      );
  }
}

function list(object: object): string {
  const keys = Object.keys(object);
  const shown = keys.slice(0, 20).join(', ');
  if (keys.length === 0) return 'none';
  return keys.length > 20 ? `${shown} and ${keys.length - 20} more` : shown;
}
