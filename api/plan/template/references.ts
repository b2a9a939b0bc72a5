/** What actions refer to, and whether it can be there when they run (S2.10). */
import { blockOf, rollbackOf } from '../actions/action-defaults.js';
import { findDescriptor, isActionType } from '../actions/table.js';
import { hookOf, rankOf, sequenceOf, waitsOf } from '../order/hooks.js';
import { arePacked } from '../snapshot/packed-phases.js';
import { referencesOf } from './placeholders.js';
import type { Problem } from '../../core/problem.js';
import type { ActionInput, Reads } from '../snapshot/run.js';
import type { Action, ActionType, Scalar } from '../types.js';
import { whenReferences } from '../when/when.js';
import type { OutputReads } from '../when/when-outputs.js';

/** A place that names parameters and outputs. */
export interface Mention {
  path: string;
  params: ReadonlySet<string>;
  /** Those that must have a value: named at least once without a default. */
  requiredParams: ReadonlySet<string>;
  outputs: ReadonlySet<string>;
  /** What of them. */
  outputReads: OutputReads;
  /** Actions (in an action) or stages (in a stage) whose phase is read. */
  phases: ReadonlySet<string>;
  /** Roots that are read as a whole. */
  dynamic: ReadonlySet<'params' | 'outputs' | 'phases'>;
  problems: Problem[];
  /** A rollback runs after everything, so it may read what comes later, and the action itself. */
  isRollback: boolean;
  /** Asked before the action, and not when it is undone. */
  isCondition?: true;
}

/** The places of an action that may hold placeholders: the block of its type, `target`, `when`, and its custom rollback. */
export function mentionsOf(action: Action, path: string): Mention[] {
  const mentions = blockMentions(action, path, false);
  if (action.when !== undefined) mentions.push(whenMention(action.when, `${path}.when`));
  const rollback = rollbackOf(action);
  if (rollback !== undefined) mentions.push(...blockMentions(rollback, `${path}.rollback`, true));
  return mentions;
}

const NONE: ReadonlySet<never> = new Set<never>();

function blockMentions(action: Action, path: string, isRollback: boolean): Mention[] {
  const field = findDescriptor(action.type)?.field;
  if (field === undefined) return [];
  const where = `${path}.${field}`;
  const mention = (value: unknown, at: string): Mention => {
    const { outputPaths, ...found } = referencesOf(value, at);
    const outputReads = { named: outputPaths, any: new Set<string>() };
    return { path: at, ...found, outputReads, phases: NONE, dynamic: NONE, isRollback };
  };
  const own = mention(blockOf(action), where);
  return action.target === undefined ? [own] : [own, mention(action.target, `${path}.target`)];
}

/** What the `when` of an action or a stage refers to. An expression that cannot be read refers to nothing. */
export function whenMention(expression: string, path: string): Mention {
  const found = whenReferences(expression);
  const guarded = new Set([...expression.matchAll(/\bhas\(\s*params\.(\w+)\s*\)/g)].map((match) => match[1]));
  return {
    path,
    ...found,
    requiredParams: new Set([...found.params].filter((name) => !guarded.has(name))),
    problems: [],
    isRollback: false,
    isCondition: true,
  };
}

/** Values of the parameters that are named, all of them when a place reads them as a whole. */
export function valuesUsed(
  mentions: readonly Mention[],
  values: Readonly<Record<string, Scalar>>,
): Record<string, Scalar> {
  const used = Object.create(null) as Record<string, Scalar>;
  const names = mentions.some((mention) => mention.dynamic.has('params'))
    ? Object.keys(values)
    : mentions.flatMap((mention) => [...mention.params]);
  for (const name of names) {
    const value = values[name];
    if (value !== undefined) used[name] = value;
  }
  return used;
}

/**
 * What an action reads of the others of its workflow when it is carried out, and when it is undone. An undo renders what it
 * goes by anew: the custom rollback where there is one, else the action itself, without its `when`.
 */
export function readsOf(
  mentions: readonly Mention[],
  action: Action,
): Pick<ActionInput, 'reads' | 'undoReads'> {
  const rollback = mentions.filter(({ isRollback }) => isRollback);
  const own = mentions.filter(({ isRollback }) => !isRollback);
  const hasRollback = rollbackOf(action) !== undefined;
  const undone = !hasRollback ? own.filter(({ isCondition }) => !isCondition) : rollback;
  const reads = joinReads(own, action.name);
  const undoReads = joinReads(undone);
  // Set even where it is empty: if it were absent, a rollback would get all outputs of the action.
  if (hasRollback && reads === undefined && undoReads === undefined) return { undoReads: {} };
  return { ...(reads !== undefined && { reads }), ...(undoReads !== undefined && { undoReads }) };
}

/** @param self an action that has not ended puts nothing out, and does not go by its own phase */
function joinReads(mentions: readonly Mention[], self?: string): Reads | undefined {
  const outputs = new Map<string, Set<string>>();
  const phases = new Set<string>();
  const every = new Set<string>();
  let isAny = false;
  for (const { outputs: names, outputReads, phases: conditions, dynamic } of mentions) {
    for (const name of names) {
      const paths = outputs.get(name) ?? new Set();
      for (const path of outputReads.named.get(name) ?? []) paths.add(path);
      outputs.set(name, paths);
    }
    for (const name of conditions) phases.add(name);
    for (const path of outputReads.any) every.add(path);
    isAny ||= dynamic.has('outputs') || dynamic.has('phases');
  }
  if (self !== undefined) {
    outputs.delete(self);
    phases.delete(self);
  }
  if (outputs.size + phases.size === 0 && !isAny) return undefined;
  return {
    ...(outputs.size > 0 && {
      outputs: Object.fromEntries([...outputs].map(([name, paths]) => [name, [...paths]])),
    }),
    ...(phases.size > 0 && { phases: [...phases] }),
    ...(isAny && { every: [...every] }),
  };
}

/**
 * Names of the other actions of the workflow that an action reads, for workers of an earlier release, which send all of
 * these actions' outputs. Undefined where that would be too many: such a worker fails its task until one of this
 * release takes it up.
 */
export function outputsUsed(
  { reads, undoReads }: Pick<ActionInput, 'reads' | 'undoReads'>,
  action: Action,
  actions: readonly Action[],
): string[] | undefined {
  const isAny = reads?.every !== undefined;
  const all = actions.map(({ name }) => name);
  if (isAny && arePacked(all)) return undefined;
  const read = [reads, undoReads].flatMap((one) => [
    ...Object.keys(one?.outputs ?? {}),
    ...(one?.phases ?? []),
  ]);
  const names = new Set(isAny ? all : read);
  names.delete(action.name);
  return [...names];
}

/** Type of an action's custom rollback, when it has one of a type that can be executed. */
export function rollbackTypeOf(action: Action): ActionType | undefined {
  const type = rollbackOf(action)?.type;
  return isActionType(type) ? type : undefined;
}

/**
 * Outputs that cannot be there: of an action that the workflow does not have, or of one that need not have ended before
 * the reading action starts; and phases of actions that the workflow does not have. Reason `UndefinedOutput`.
 *
 * @param mentions the mentions of each action, in the order of `actions`
 */
export function checkOutputs(actions: readonly Action[], mentions: readonly Mention[][]): Problem[] {
  const ranked = actions.map((action) => ({ ...action, hook: hookOf(action)?.position }));
  const { graph, needs } = waitsOf(ranked);
  const turn = new Map(sequenceOf(ranked).map((index, at) => [index, at]));
  const ranks = ranked.map(rankOf);
  const position = new Map(actions.map((action, index) => [action.name, index]));
  return actions.flatMap((action, index) => {
    const places = (mentions[index] ?? []).filter((place) => place.outputs.size > 0 || place.phases.size > 0);
    if (places.length === 0) return [];
    const before = graph ? ancestors(needs, index) : undefined;
    const rank = ranks[index] ?? 1;
    return places.flatMap((place) => {
      const outputs = [...place.outputs].flatMap((name): Problem[] => {
        const source = position.get(name);
        if (source === undefined) return [unknownOutput(place, name, actions)];
        const ended =
          before === undefined
            ? (turn.get(source) ?? 0) < (turn.get(index) ?? 0)
            : before.has(source) || (ranks[source] ?? 1) < rank;
        return place.isRollback || ended ? [] : [lateOutput(place, name, action.name, graph)];
      });
      const phases = [...place.phases].filter((name) => !position.has(name));
      return [...outputs, ...phases.map((name) => unknownOutput(place, name, actions))];
    });
  });
}

function unknownOutput(mention: Mention, name: string, actions: readonly Action[]): Problem {
  const names = actions.slice(0, 10).map((action) => action.name);
  return {
    severity: 'error',
    path: mention.path,
    reason: 'UndefinedOutput',
    message: `reads outputs or the phase of action "${name}", which this workflow does not have; its actions are ${names.join(', ')}${actions.length > 10 ? ', …' : ''}`,
  };
}

function lateOutput(mention: Mention, name: string, reader: string, graph: boolean): Problem {
  const advice = graph
    ? `add "${name}" to dependsOn of "${reader}"`
    : `move "${name}" before "${reader}" or give "${reader}" dependsOn: ["${name}"]`;
  return {
    severity: 'error',
    path: mention.path,
    reason: 'UndefinedOutput',
    message:
      name === reader
        ? `action "${reader}" reads its own outputs, which exist only once it has ended; only its rollback may`
        : `reads outputs of action "${name}", which need not have ended by then; ${advice}`,
  };
}

/** Everything that a node waits for, directly or not. */
function ancestors(edges: readonly number[][], index: number): Set<number> {
  const found = new Set<number>();
  const queue = [...(edges[index] ?? [])];
  for (let node = queue.pop(); node !== undefined; node = queue.pop()) {
    if (found.has(node)) continue;
    found.add(node);
    queue.push(...(edges[node] ?? []));
  }
  return found;
}
