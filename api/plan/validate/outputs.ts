import { z } from 'zod';
import { blockOf, rollbackOf } from '../actions/action-defaults.js';
import { ACTIONS, findDescriptor } from '../actions/table.js';
import type { ActionDescriptor } from '../actions/descriptor.js';
import { findPlaceholders } from '../template/placeholders.js';
import type { Problem } from '../../core/problem.js';
import { actionOutputsSchema } from '../schema/execution.js';
import type { Action } from '../types.js';
import { error } from '../../core/fields.js';
import { textsOf } from './sample.js';

/** Outputs that actions of one type have and others never, with that type. */
const OWNERS: ReadonlyMap<string, string> = new Map(
  Object.entries<ActionDescriptor>(ACTIONS).flatMap(([type, { outputs = {} }]) =>
    Object.keys(outputs).map((name): [string, string] => [name, type]),
  ),
);

/**
 * Placeholders of outputs that an action can never have: misspelt ones, and those of another type. Reason
 * `UndefinedOutput`. One with a default is left alone, as is one of an action that does not exist, which the check of
 * references reports.
 */
export function checkOutputFields(actions: readonly Action[], path: string): Problem[] {
  const types = new Map(actions.map((action) => [action.name, action.type]));
  const places = actions.flatMap((action, index) => {
    const rollback = rollbackOf(action);
    return [
      { step: action, where: `${path}[${index}]` },
      ...(rollback === undefined ? [] : [{ step: rollback, where: `${path}[${index}].rollback` }]),
    ];
  });
  return places.flatMap(({ step, where }) => {
    const field = findDescriptor(step.type)?.field;
    if (field === undefined) return [];
    const found = textsOf(blockOf(step)).flatMap((text) => findPlaceholders(text).placeholders);
    return found.flatMap(({ reference, fallback, text }): Problem[] => {
      if (reference.kind !== 'output' || fallback !== undefined) return [];
      const type = types.get(reference.action);
      const fault = type === undefined ? undefined : faultOf(reference.path, type);
      return fault === undefined ? [] : [error(`${where}.${field}`, 'UndefinedOutput', `${text}: ${fault}`)];
    });
  });
}

function faultOf(path: readonly string[], type: string): string | undefined {
  const [first = '', ...rest] = path;
  if (first === 'phase') return rest.length === 0 ? undefined : 'phase is a text and has no fields';
  const isOpen = (name: string): boolean => (OWNERS.get(name) ?? type) === type;
  const known = Object.keys(actionOutputsSchema.shape).filter(isOpen);
  if (!Object.hasOwn(actionOutputsSchema.shape, first) || !isOpen(first)) {
    return `an action of type ${type} has no output "${first}"; it has ${['phase', ...known].join(', ')}`;
  }
  return walk(actionOutputsSchema.shape[first as keyof typeof actionOutputsSchema.shape], rest, first);
}

/** What is wrong with a path below an output, by the schema of outputs. */
function walk(schema: unknown, path: readonly string[], at: string): string | undefined {
  const bare = schema instanceof z.ZodOptional ? (schema.unwrap() as unknown) : schema;
  const [key, ...rest] = path;
  if (bare instanceof z.ZodObject) {
    const fields = Object.keys(bare.shape);
    if (key === undefined) return `output "${at}" is not a single value; name one of ${fields.join(', ')}`;
    if (!fields.includes(key)) return `output "${at}" has no field "${key}"; it has ${fields.join(', ')}`;
    return walk(bare.shape[key], rest, `${at}.${key}`);
  }
  if (bare instanceof z.ZodArray) {
    if (key === undefined || !/^[0-9]+$/.test(key)) {
      return `output "${at}" is a list; name an entry by its number, as in ${at}.0.name`;
    }
    return walk(bare.element, rest, `${at}.${key}`);
  }
  return key === undefined ? undefined : `output "${at}" is a single value and has no field "${key}"`;
}
