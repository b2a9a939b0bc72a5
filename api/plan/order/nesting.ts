/** How a run is part of another: written by the bridge on the execution that it makes for a nested plan. */
import { isObject, parseJson } from '../../core/json.js';

/** Levels of nested plans that a run may have below it. */
export const MAX_NESTING = 5;

/** The action that a run belongs to. */
export interface Nesting {
  /** The execution that the action is part of. */
  parent: { name: string; uid: string };
  /** Position of the action, `stage/workflow/action`. */
  at: string;
  /** Plans above this run, outermost first: as many as it is deep. */
  plans: string[];
}

/** Reads the annotation; undefined where there is none, or none that can be read. */
export function readNesting(text: string | undefined): Nesting | undefined {
  if (text === undefined) return undefined;
  const value = parseJson(text);
  return isNesting(value) ? value : undefined;
}

function isNesting(value: unknown): value is Nesting {
  if (!isObject(value) || !isObject(value.parent)) return false;
  const { parent, at, plans } = value;
  return (
    typeof parent.name === 'string' &&
    typeof parent.uid === 'string' &&
    typeof at === 'string' &&
    Array.isArray(plans) &&
    plans.every((name) => typeof name === 'string')
  );
}
