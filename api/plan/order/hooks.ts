/**
 * Modes and hooks (the original's later releases): which actions a run of a mode carries out, and in which order. Free of
 * the schemas, as workflow code reads it.
 */
import { dependencies, isGraph } from '../../core/graph.js';
import type { GraphNode } from '../../core/graph.js';

/** Modes of an execution; a Revert has the mode Rollback. */
export const MODES = ['Install', 'Upgrade', 'Delete', 'Rollback'] as const;
/** A mode. */
export type Mode = (typeof MODES)[number];

/** What `hookType` may be, as Helm names it. */
export const HOOK_TYPES = [
  'pre-install',
  'post-install',
  'pre-upgrade',
  'post-upgrade',
  'pre-delete',
  'post-delete',
  'pre-rollback',
  'post-rollback',
] as const;

/** Where a hook stands: before or after the actions that are none. */
export type HookPosition = 'pre' | 'post';

/** A hook type, taken apart. */
export interface Hook {
  position: HookPosition;
  mode: Mode;
}

/** The hook that an action is; undefined for one that is none. */
export function hookOf({ hookType }: { hookType?: string | undefined }): Hook | undefined {
  if (!(HOOK_TYPES as readonly (string | undefined)[]).includes(hookType)) return undefined;
  const [position, name] = (hookType ?? '').split('-');
  const mode = MODES.find((candidate) => candidate.toLowerCase() === name);
  return mode === undefined ? undefined : { position: position as HookPosition, mode };
}

/** Whether a hook belongs to a Revert: it runs around the undoing. */
export const isRollbackHook = (item: { hookType?: string | undefined }): boolean =>
  hookOf(item)?.mode === 'Rollback';

/**
 * Whether a hook runs in a mode. While the execution sets none, hooks of Install and Upgrade run, as conditions on `mode`
 * are true then; those of Delete and Rollback never run by omission.
 */
export function runsIn(hook: Hook, mode: string | undefined): boolean {
  if (mode === undefined || mode === '') return hook.mode === 'Install' || hook.mode === 'Upgrade';
  return hook.mode === mode;
}

/** Something with a place among hooks. */
export interface Ranked extends GraphNode {
  hook?: HookPosition | undefined;
}

/** 0 for what runs first, 2 for what runs last. */
export function rankOf({ hook }: Pick<Ranked, 'hook'>): 0 | 1 | 2 {
  if (hook === 'pre') return 0;
  return hook === 'post' ? 2 : 1;
}

/** Positions in the order in which a list without dependencies runs: pre hooks, the others, post hooks. */
export function sequenceOf(items: readonly Pick<Ranked, 'hook'>[]): number[] {
  return items
    .map((item, index) => ({ index, rank: rankOf(item) }))
    .sort((a, b) => a.rank - b.rank || a.index - b.index)
    .map(({ index }) => index);
}

/** What an action of a workflow waits for. */
export interface Waits {
  /** Whether a dependency has to succeed; in list order it only has to end. */
  graph: boolean;
  /** Positions that each action waits for. */
  needs: number[][];
}

/**
 * What the actions of a workflow wait for: in a graph what they depend on, else the one before. In a graph hooks come
 * first and last as well, which is left to whoever walks it: an action may start once no action of a lower
 * {@link rankOf} is open.
 */
export function waitsOf(items: readonly Ranked[]): Waits {
  if (isGraph(items)) return { graph: true, needs: dependencies(items) };
  const needs = items.map((): number[] => []);
  let before: number | undefined;
  for (const index of sequenceOf(items)) {
    if (before !== undefined) needs[index] = [before];
    before = index;
  }
  return { graph: false, needs };
}

/** Positions in an order in which each comes after what it waits for, those that are free in list order. */
export function topologicalOrder(items: readonly Ranked[]): number[] {
  const sequence = sequenceOf(items);
  if (!isGraph(items)) return sequence;
  const needs = dependencies(items);
  const done = new Set<number>();
  const order: number[] = [];
  for (let progress = true; progress;) {
    progress = false;
    for (const index of sequence) {
      if (done.has(index) || (needs[index] ?? []).some((need) => need !== index && !done.has(need))) continue;
      done.add(index);
      order.push(index);
      progress = true;
    }
  }
  // What is left is a cycle, which the check of the workflow reports.
  return [...order, ...sequence.filter((index) => !done.has(index))];
}

/** A mode as conditions, placeholders and parameters see it: in lower case. */
export const modeText = (mode: string): string => mode.toLowerCase();
