/** How far an apply is, and what is not known of it afterwards (T4.4, T8.9). */
import { MAX_DIAGNOSTICS } from './bounds.js';
import type { Diagnostic, InDoubt, ResourceMove } from './operation-result.js';
import type { StateInstance } from './state.js';
import { readStreamLine } from './stream.js';

/** What a state knows, by the keys of resources. */
export interface KnownInstances {
  current: ReadonlySet<string>;
  deposed: ReadonlySet<string>;
}

/** Gathers what a reader of a state tells. */
export function gatherInstances(): KnownInstances & { add: (instance: StateInstance) => void } {
  const current = new Set<string>();
  const deposed = new Set<string>();
  return {
    current,
    deposed,
    add: ({ key, isDeposed }) => void (isDeposed ? deposed : current).add(key),
  };
}

/** Follows the lines of an engine. */
export interface EngineProgress {
  /** Takes a line in. @returns what moved by it */
  line(text: string): ResourceMove | undefined;
  /** How far each action is that was begun, in the order in which they were. */
  moves(): ResourceMove[];
  /** Errors first. */
  diagnostics(): Diagnostic[];
  /**
   * What may have been done, by the end of an apply: begun without an end; created, but not in the state; deleted, but
   * still in it.
   *
   * @param after the last whole state
   */
  inDoubt(before: KnownInstances, after: KnownInstances): InDoubt[];
}

/** Follows one run of an engine. */
export function followEngine(): EngineProgress {
  const moves = new Map<string, { move: ResourceMove; key: string }>();
  const errors: Diagnostic[] = [];
  const warnings: Diagnostic[] = [];
  return {
    line(text) {
      const event = readStreamLine(text);
      if (event === undefined) return undefined;
      if (event.type === 'diagnostic') {
        const list = event.diagnostic.severity === 'error' ? errors : warnings;
        if (list.length < MAX_DIAGNOSTICS) list.push(event.diagnostic);
        return undefined;
      }
      const { move, key } = event;
      const name = `${move.action} ${move.address}`;
      const id = move.id ?? moves.get(name)?.move.id;
      const kept = { ...move, ...(id !== undefined && { id }) };
      moves.set(name, { move: kept, key });
      return kept;
    },
    moves: () => [...moves.values()].map(({ move }) => move),
    diagnostics: () => [...errors, ...warnings].slice(0, MAX_DIAGNOSTICS),
    inDoubt: (before, after) => doubts([...moves.values()], before, after),
  };
}

function doubts(
  moves: readonly { move: ResourceMove; key: string }[],
  before: KnownInstances,
  after: KnownInstances,
): InDoubt[] {
  const created = new Set(
    moves.filter(({ move }) => move.action === 'create' && move.status !== 'failed').map(({ key }) => key),
  );
  const doubtOf = ({ move, key }: { move: ResourceMove; key: string }): InDoubt['why'] | undefined => {
    if (move.status === 'applying') return 'noEnd';
    if (move.status === 'failed') return undefined;
    if (move.action === 'create') return after.current.has(key) ? undefined : 'notInState';
    // A replacement stands in the state after its deletion; and what was deposed has the key of what took its place.
    const mayBeThere = created.has(key) || before.deposed.has(key);
    return move.action === 'delete' && after.current.has(key) && !mayBeThere ? 'stillInState' : undefined;
  };
  return moves.flatMap((each) => {
    const why = doubtOf(each);
    const { address, action, id } = each.move;
    return why === undefined ? [] : [{ address, action, ...(id !== undefined && { id }), why }];
  });
}
