/** The slot of a workspace: who may change it (T3.2 to T3.4, T8.8, T9.2). */
import type { Documents, Transact } from './documents.js';
import { StoreRefused } from './refused.js';
import type { Holding, RecoveryHolding, WorkspaceRow } from './rows.js';

/** What is done with slots. Each may be asked again, and has the same answer. */
export interface Slots {
  slot(workspace: string): Promise<WorkspaceRow>;
  /** Where its object is, if that is not known yet. Creates the row. */
  locate(workspace: string, object: { namespace: string; name: string }): Promise<WorkspaceRow>;
  /** Where its object is, and whether a person has locked it. Creates the row. */
  describe(
    workspace: string,
    what: { object: { namespace: string; name: string }; locked?: { reason: string } },
  ): Promise<WorkspaceRow>;
  /**
   * Gives the slot to a run: raises the turn by one.
   *
   * @param grant.turn that was read before: no other grant has come between
   * @throws StoreRefused `OtherTurn`, `Locked`, `NotHolder` where another has it
   */
  grant(workspace: string, grant: { run: string; turn: number; reconcile: boolean }): Promise<WorkspaceRow>;
  /** The run gives it back; `recovery` keeps it for a run that reconciles. Of a run that has it no more: nothing. */
  release(
    workspace: string,
    release: { run: string; turn: number; to: { kind: 'free' } | { kind: 'recovery'; reason: string } },
  ): Promise<WorkspaceRow>;
  /** A person frees it from whoever has it in this turn. */
  free(workspace: string, turn: number): Promise<WorkspaceRow>;
  /**
   * A person's engine takes it.
   *
   * @param lock.mayMend takes over a recovery row too
   * @returns the holder where that is another
   */
  lock(
    workspace: string,
    lock: { id: string; info: string; user: string; mayMend: boolean },
  ): Promise<{ kind: 'locked' } | { kind: 'held'; row: WorkspaceRow }>;
  /**
   * Gives it back.
   *
   * @param id absent: whoever's it is, unless it is a run's
   * @throws StoreRefused `NotHolder`
   */
  unlock(workspace: string, id: string | undefined): Promise<void>;
}

/** Slots of a store. */
export function createSlots(transact: Transact, now: () => Date): Slots {
  const since = (): string => now().toISOString();
  /** Reads the row, and writes what comes of it. */
  const change = (
    workspace: string,
    next: (row: WorkspaceRow, documents: Documents) => WorkspaceRow,
  ): Promise<WorkspaceRow> =>
    transact(workspace, async (documents) => {
      const row = await documents.workspaceRow();
      const after = next(row, documents);
      if (after !== row) await documents.putWorkspace(after);
      return after;
    });

  return {
    slot: (workspace) => transact(workspace, (documents) => documents.workspaceRow()),
    locate: (workspace, object) =>
      change(workspace, (row) => (row.object === undefined ? { ...row, object } : row)),
    describe: (workspace, { object, locked }) =>
      change(workspace, ({ locked: before, ...row }) => ({
        ...row,
        object,
        ...(locked !== undefined && { locked: { reason: locked.reason, since: before?.since ?? since() } }),
      })),
    grant: (workspace, { run, turn, reconcile }) =>
      change(workspace, (row) => {
        const { held, locked } = row;
        if (held?.kind === 'run' && held.holder === run) return row;
        if (row.turn !== turn) throw otherTurn(row, turn);
        if (locked !== undefined)
          throw new StoreRefused('Locked', `the workspace is locked: ${locked.reason}`);
        if (held !== undefined && !(held.kind === 'recovery' && reconcile)) throw notFree(held);
        const over = held?.kind === 'recovery' ? { over: held } : {};
        return { ...row, turn: turn + 1, held: { kind: 'run', holder: run, since: since(), ...over } };
      }),
    release: (workspace, { run, turn, to }) =>
      change(workspace, (row) => {
        const { held, ...rest } = row;
        if (held?.kind !== 'run' || held.holder !== run) return row;
        if (row.turn !== turn) throw otherTurn(row, turn);
        if (to.kind === 'free') return rest;
        return { ...rest, held: { kind: 'recovery', holder: run, since: since(), reason: to.reason } };
      }),
    free: (workspace, turn) =>
      change(workspace, (row) => {
        if (row.turn !== turn) throw otherTurn(row, turn);
        const { held: _, ...rest } = row;
        return rest;
      }),
    async lock(workspace, { id, info, user, mayMend }) {
      let isHeld = false;
      const row = await change(workspace, (before) => {
        const { held } = before;
        isHeld = false;
        if (held?.kind === 'user' && held.holder === id) return before;
        isHeld =
          before.locked !== undefined || (held !== undefined && !(held.kind === 'recovery' && mayMend));
        if (isHeld) return before;
        const over: { over?: RecoveryHolding } = held?.kind === 'recovery' ? { over: held } : {};
        const taken: Holding = { kind: 'user', holder: id, since: since(), user, info, ...over };
        return { ...before, turn: before.turn + 1, held: taken };
      });
      return isHeld ? { kind: 'held', row } : { kind: 'locked' };
    },
    async unlock(workspace, id) {
      await change(workspace, (row) => {
        const { held, ...rest } = row;
        if (held === undefined) return row;
        if (held.kind !== 'user') throw notFree(held);
        if (id !== undefined && id !== held.holder) throw notFree(held);
        return held.over === undefined ? rest : { ...rest, held: held.over };
      });
    },
  };
}

const otherTurn = ({ turn }: WorkspaceRow, asked: number): StoreRefused =>
  new StoreRefused('OtherTurn', `the slot is in turn ${turn}, not ${asked}: read it again`);

function notFree(held: Holding): StoreRefused {
  return new StoreRefused('NotHolder', `the slot is held ${heldBy(held)}`);
}

/** Who has a slot, for a person. */
export function heldBy(held: Holding): string {
  switch (held.kind) {
    case 'run':
      return `by run ${held.holder} since ${held.since}`;
    case 'recovery':
      return `for the recovery of run ${held.holder} since ${held.since}: ${held.reason}`;
    case 'user':
      return `by ${held.user} with lock ${held.holder} since ${held.since}`;
  }
}

/** Whether an operation's run still has the slot in its turn. */
export const holdsSlot = ({ held, turn }: WorkspaceRow, operation: { run: string; turn?: number }): boolean =>
  held?.kind === 'run' && held.holder === operation.run && operation.turn === turn;
