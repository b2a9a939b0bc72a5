/** What a task shows of other actions: what is read of them, and no more. */
import { arePacked, packPhases } from './packed-phases.js';
import type { ActionInput, OutputViews, Reads, StageInput } from './run.js';
import type { ActionStatus, StageStatus } from '../types.js';

/** Views of other actions, as a task carries them. */
export interface Views {
  outputs: OutputViews;
  /** Phases that a condition asks for, by name. */
  phases: Record<string, string>;
  /** Phases of all actions of the workflow, where a condition goes through them and they are too many to be named. */
  packedPhases?: string;
}

/**
 * What an action sees of the others of its workflow when it is carried out.
 *
 * @param actions of its workflow, by position
 */
export function viewsOf(
  input: Pick<ActionInput, 'uses' | 'reads' | 'undoReads'>,
  actions: readonly ActionStatus[],
  self: number,
): Views {
  return isEarlier(input) ? wholeViews(input.uses ?? [], actions) : viewsFor(input.reads, actions, self);
}

/** The same when it is undone: its own rollback may read the action itself. */
export function undoViewsOf(
  input: Pick<ActionInput, 'uses' | 'reads' | 'undoReads' | 'rollback'>,
  actions: readonly ActionStatus[],
  self: number,
): Views {
  if (!isEarlier(input)) return viewsFor(input.undoReads, actions);
  const own = actions[self]?.name;
  const names = input.rollback === undefined || own === undefined ? [] : [own];
  return wholeViews([...(input.uses ?? []), ...names], actions);
}

/** What the condition of a stage sees of the stages of its plan. */
export function stageViewsOf(
  { when, whenReads }: Pick<StageInput, 'when' | 'whenReads'>,
  stages: readonly StageStatus[],
): Pick<Views, 'phases' | 'packedPhases'> {
  if (when === undefined) return { phases: {} };
  const isEvery = whenReads === undefined || whenReads.every !== undefined;
  if (isEvery && arePacked(stages.map(({ name }) => name)) && whenReads !== undefined) {
    return { phases: {}, packedPhases: packPhases(stages.map(({ phase }) => phase)) };
  }
  const seen = stages.filter(({ name }) => isEvery || whenReads?.phases?.includes(name) === true);
  return { phases: Object.fromEntries(seen.map(({ name, phase }) => [name, phase])) };
}

/** Whether an action reads any of these when it is carried out. */
export function readsAny(
  input: Pick<ActionInput, 'uses' | 'reads' | 'undoReads'>,
  names: ReadonlySet<string>,
): boolean {
  const { reads, uses = [] } = input;
  if (isEarlier(input)) return uses.some((name) => names.has(name));
  if (reads?.every !== undefined) return names.size > 0;
  return [...Object.keys(reads?.outputs ?? {}), ...(reads?.phases ?? [])].some((name) => names.has(name));
}

/** Runs of earlier releases do not say what is read of the actions that they name. */
const isEarlier = ({ reads, undoReads }: Pick<ActionInput, 'reads' | 'undoReads'>): boolean =>
  reads === undefined && undoReads === undefined;

/** What an action with these reads sees of its workflow. */
function viewsFor(reads: Reads | undefined, actions: readonly ActionStatus[], self?: number): Views {
  const outputs: OutputViews = {};
  const phases: Record<string, string> = {};
  if (reads === undefined) return { outputs, phases };
  const others = actions.filter((_, index) => index !== self);
  const byName = new Map(others.map((action) => [action.name, action]));
  const { every } = reads;
  const packed = every !== undefined && arePacked(actions.map(({ name }) => name));
  if (every !== undefined && (!packed || every.length > 0)) {
    for (const action of others) {
      outputs[action.name] = viewOf(action, [...every, ...(reads.outputs?.[action.name] ?? [])]);
    }
  }
  if (every !== undefined && !packed) for (const { name, phase } of others) phases[name] = phase;
  for (const [name, paths] of Object.entries(reads.outputs ?? {})) {
    const action = byName.get(name);
    if (action !== undefined) outputs[name] ??= viewOf(action, paths);
  }
  for (const name of packed ? [] : (reads.phases ?? [])) {
    const action = byName.get(name);
    if (action !== undefined) phases[name] = action.phase;
  }
  return {
    outputs,
    phases,
    ...(packed && { packedPhases: packPhases(actions.map(({ phase }) => phase)) }),
  };
}

/** All that actions of these names have put out. */
function wholeViews(names: readonly string[], actions: readonly ActionStatus[]): Views {
  const seen = actions.filter(({ name }) => names.includes(name));
  return {
    outputs: Object.fromEntries(seen.map(({ name, phase, outputs }) => [name, { phase, ...outputs }])),
    phases: Object.fromEntries(seen.map(({ name, phase }) => [name, phase])),
  };
}

/** An action with what these paths lead to. */
function viewOf({ phase, outputs = {} }: ActionStatus, paths: readonly string[]): OutputViews[string] {
  if (paths.includes('')) return { phase, ...outputs };
  const view: Record<string, unknown> = { phase };
  const missing: string[] = [];
  for (const path of paths) if (!pick(outputs, view, path.split('.'))) missing.push(path);
  // What is there in its place, by name: for the message to the author.
  for (const path of missing) nameOthers(outputs, view, path.split('.'));
  return view as OutputViews[string];
}

/**
 * Copies what a path leads to. Lists keep the places of their items: what is not read of them is null.
 *
 * @returns false where the path leads nowhere
 */
function pick(
  from: unknown,
  into: Record<string, unknown>,
  [step = '', ...rest]: readonly string[],
): boolean {
  const value = own(from, step);
  if (value === undefined) return false;
  if (rest.length === 0 || typeof value !== 'object' || value === null) {
    put(into, step, value);
    return rest.length === 0;
  }
  const known = own(into, step);
  const inner = typeof known === 'object' && known !== null ? known : Array.isArray(value) ? [] : {};
  put(into, step, inner);
  return known === value || pick(value, inner as Record<string, unknown>, rest);
}

function nameOthers(
  from: unknown,
  into: Record<string, unknown>,
  [step = '', ...rest]: readonly string[],
): void {
  const [value, known] = [own(from, step), own(into, step)];
  if (rest.length > 0 && isRecord(value) && isRecord(known)) {
    nameOthers(value, known, rest);
    return;
  }
  if (!isRecord(from) || Array.isArray(from)) return;
  for (const key of Object.keys(from)) if (!Object.hasOwn(into, key)) into[key] = null;
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null;

function own(object: unknown, key: string): unknown {
  return isRecord(object) && Object.hasOwn(object, key) ? object[key] : undefined;
}

/** Items before the one that is put are null rather than holes, which JSON has not. */
function put(into: Record<string, unknown>, key: string, value: unknown): void {
  if (Array.isArray(into)) {
    const index = Number(key);
    while (into.length < index) into.push(null);
  }
  into[key] = value;
}
