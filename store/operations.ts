/**
 * Records of operations: prepared, started, ended; or revoked before they began; or lost (T7.1). Each step is a
 * compare-and-set, and may be asked for again.
 */
import { isDeepStrictEqual } from 'node:util';
import type { Backend } from './backend.js';
import type { Documents, Transact } from './documents.js';
import { appendLog, readLog, type LogPart } from './logs.js';
import { StoreRefused } from './refused.js';
import type { BeatRow, ControlRow, OperationRow, RecordRow, VersionRow } from './rows.js';
import { heldBy, holdsSlot } from './slots.js';
import { newestOf } from './versions.js';

/** An operation with its last sign of life. */
export interface OperationState {
  operation: OperationRow;
  beat?: BeatRow;
  /** Rises with every change but for heartbeats. */
  revision: number;
}

/** What `begin` is asked with (T8.2). */
export interface Begin {
  nonce: string;
  runner: unknown;
  lineage: string;
  serial: number;
  /** Of an apply: digest of the plan that it carries out, which the permit must name. */
  planDigest?: string;
}

/** A sign of life. */
export interface Sync {
  runner: { hostId: string };
  step: string;
  moves: BeatRow['moves'];
  interrupted?: unknown;
  log: Record<string, LogPart | undefined>;
}

/** What is done with operations. */
export interface Operations {
  /** Makes an operation, unless it is there. @throws StoreRefused `UnknownOperation` where its run is not pinned */
  prepare(operation: Pick<OperationRow, 'id' | 'run' | 'kind' | 'spec' | 'hostId'>): Promise<OperationState>;
  /** @throws StoreRefused `UnknownOperation` */
  operation(id: string): Promise<OperationState>;
  /** All of a run. */
  ofRun(run: string): Promise<OperationRow[]>;
  /** The fence: yes to one nonce, for ever (T8.2). @throws StoreRefused */
  begin(id: string, begin: Begin): Promise<OperationState>;
  /** @returns bytes of each stream that are stored, and what the runner is to do */
  sync(id: string, sync: Sync): Promise<{ log: Record<string, number>; control: ControlRow }>;
  /** How it ended. @throws StoreRefused `Ended`, `OtherRunner`, `BadRequest` */
  end(id: string, end: { runner: unknown; result: unknown; hasBegun: boolean }): Promise<OperationState>;
  /** It has not begun, and never will. @throws StoreRefused `Begun` */
  revoke(id: string, reason: string): Promise<OperationState>;
  /** It has begun, and its runner is dead. @throws StoreRefused `BadRequest` where it has not begun */
  lose(
    id: string,
    lost: { proof: unknown; found?: unknown; release?: { reason: string } },
  ): Promise<OperationState>;
  /** Tells the runner something, once and for all. @throws StoreRefused `BadRequest` */
  control(id: string, control: ControlRow): Promise<OperationState>;
  /** Text of a stream, from an offset on. */
  log(id: string, stream: string, offset: number): AsyncIterable<Buffer>;
}

/** Rows that one beat keeps. */
const MAX_MOVES = 200;

/** Operations of a store. */
export function createOperations(options: {
  backend: Pick<Backend, 'workspaceOf'>;
  transact: Transact;
  streams: readonly string[];
  /** Of one stream. */
  maxLogBytes: number;
  now: () => Date;
  /** Called after an operation has changed. */
  onChange: (id: string) => void;
}): Operations {
  const { backend, transact, streams, maxLogBytes, now, onChange } = options;
  const at = (): string => now().toISOString();

  async function within<T>(
    id: string,
    work: (documents: Documents, row: OperationRow) => Promise<T>,
    how?: { soft?: boolean },
  ): Promise<T> {
    const workspace = await backend.workspaceOf(runOf(id));
    if (workspace === undefined) throw unknown(id);
    return transact(
      workspace,
      async (documents) => {
        const row = await documents.get<OperationRow>(`operation/${id}`);
        if (row === undefined) throw unknown(id);
        return work(documents, row);
      },
      how,
    );
  }

  /** A step from one row to the next; the same row where nothing is to be changed. */
  async function change(
    id: string,
    next: (row: OperationRow, documents: Documents) => Promise<OperationRow> | OperationRow,
  ): Promise<OperationState> {
    const state = await within(id, async (documents, row) => {
      const after = await next(row, documents);
      if (after === row) return stateOf(documents, row);
      const changed = { ...after, revision: row.revision + 1 };
      await documents.put(`operation/${id}`, changed);
      return stateOf(documents, changed);
    });
    onChange(id);
    return state;
  }

  return {
    async prepare({ id, run, kind, spec, hostId }) {
      const workspace = await backend.workspaceOf(run);
      if (workspace === undefined) throw unknown(id);
      const state = await transact(workspace, async (documents) => {
        const before = await documents.get<OperationRow>(`operation/${id}`);
        if (before === undefined) {
          const turn = await turnOf(documents, run, kind);
          const record: RecordRow = { state: 'prepared', at: at() };
          const row: OperationRow = { ...{ id, run, kind, spec, record, hostId }, control: {}, revision: 1 };
          const made = turn === undefined ? row : { ...row, turn };
          await documents.put(`operation/${id}`, made);
          return stateOf(documents, made);
        }
        // Another host has it from now on; what the first has said of itself is not about this one.
        const isMoved = before.record.state === 'prepared' && before.hostId !== hostId;
        if (!isMoved) return stateOf(documents, before);
        const moved = { ...before, hostId, revision: before.revision + 1 };
        await documents.put(`operation/${id}`, moved);
        return stateOf(documents, moved);
      });
      onChange(id);
      return state;
    },
    operation: (id) => within(id, stateOf),
    async ofRun(run) {
      const workspace = await backend.workspaceOf(run);
      if (workspace === undefined) return [];
      return transact(workspace, (documents) => operationsOf(documents, run));
    },
    begin: (id, begin) => change(id, (row, documents) => begun(documents, row, begin, at())),
    async sync(id, sync) {
      let isNews = false;
      const answer = await within(
        id,
        async (documents, row) => {
          const before = await documents.get<BeatRow>(`beat/${id}`);
          refuseOther(row, before, sync.runner);
          const log = { ...before?.log };
          for (const stream of streams) {
            const stored = log[stream] ?? 0;
            log[stream] = await appendLog(documents, `${id}/${stream}`, sync.log[stream], {
              ...{ stored, maxBytes: maxLogBytes },
            });
          }
          const beat = nextBeat(before, sync, { at: at(), log });
          isNews = beat.revision !== before?.revision;
          await documents.put(`beat/${id}`, beat);
          return { log, control: row.control };
        },
        { soft: true },
      );
      if (isNews) onChange(id);
      return answer;
    },
    end: (id, end) => change(id, (row) => ended(row, end, at())),
    revoke: (id, reason) =>
      change(id, (row) => {
        const { record } = row;
        if (record.state === 'revoked') return row;
        if (record.state !== 'prepared')
          throw new StoreRefused('Begun', `operation ${id} is ${record.state} already`);
        const control: ControlRow = { interrupt: { by: 'revoked', reason }, ...row.control };
        return { ...row, control, record: { state: 'revoked', at: at(), reason } };
      }),
    lose: (id, { proof, found, release }) =>
      change(id, (row) => {
        const { record } = row;
        if (record.state === 'lost' || record.state === 'ended') return row;
        if (record.state !== 'started')
          throw new StoreRefused('BadRequest', `operation ${id} is ${record.state}: it has not begun`);
        const control: ControlRow =
          release === undefined
            ? row.control
            : { interrupt: { by: 'released', reason: release.reason }, ...row.control };
        const lost: RecordRow = { state: 'lost', at: at(), proof, ...(found !== undefined && { found }) };
        return { ...row, control, record: lost };
      }),
    control: (id, { interrupt, kill }) =>
      change(id, (row) => {
        const { control } = row;
        const next: ControlRow = {
          ...((control.interrupt ?? interrupt) && { interrupt: control.interrupt ?? interrupt }),
          ...((control.kill ?? kill) && { kill: control.kill ?? kill }),
        };
        if (next.kill !== undefined && next.interrupt === undefined)
          throw new StoreRefused('BadRequest', 'a kill comes after an interrupt only');
        return isDeepStrictEqual(next, control) ? row : { ...row, control: next };
      }),
    log: (id, stream, offset) =>
      readLog((work) => within(id, (documents) => work(documents)), `${id}/${stream}`, offset),
  };
}

const unknown = (id: string): StoreRefused =>
  new StoreRefused(
    'UnknownOperation',
    `there is no operation ${id}: it is not prepared, or its run is not pinned`,
  );

/** An id begins with the uid of its run. */
const runOf = (id: string): string => id.slice(0, 36);

async function stateOf(documents: Documents, operation: OperationRow): Promise<OperationState> {
  const beat = await documents.get<BeatRow>(`beat/${operation.id}`);
  const revision = operation.revision + (beat?.revision ?? 0);
  return { operation, revision, ...(beat !== undefined && { beat }) };
}

async function operationsOf(documents: Documents, run: string): Promise<OperationRow[]> {
  const rows = await documents.list<OperationRow>('operation');
  return rows.map(({ row }) => row).filter((row) => row.run === run);
}

/** The turn that an operation is bound to: the slot's when a plan is prepared, then the plan's. */
async function turnOf(
  documents: Documents,
  run: string,
  kind: OperationRow['kind'],
): Promise<number | undefined> {
  if (kind === 'plan') {
    const { held, turn } = await documents.workspaceRow();
    return held?.kind === 'run' && held.holder === run ? turn : undefined;
  }
  const plans = (await operationsOf(documents, run)).filter((each) => each.kind === 'plan');
  return plans.sort((a, b) => a.id.localeCompare(b.id, 'en', { numeric: true })).at(-1)?.turn;
}

async function begun(
  documents: Documents,
  row: OperationRow,
  begin: Begin,
  at: string,
): Promise<OperationRow> {
  const { id, record, nonce } = row;
  if (record.state === 'revoked') throw new StoreRefused('Revoked', record.reason);
  if (nonce !== undefined && nonce !== begin.nonce)
    throw new StoreRefused('OtherNonce', `operation ${id} has begun with another nonce`);
  if (nonce !== undefined) return row;
  if (record.state !== 'prepared') throw new StoreRefused('Ended', `operation ${id} is over already`);
  if (row.kind === 'apply') await refuseApply(documents, row, begin);
  return {
    ...row,
    nonce: begin.nonce,
    runner: begin.runner,
    record: { state: 'started', at, runner: begin.runner },
  };
}

/** All that must hold for an apply to begin, looked at in the transaction that lets it (T8.2). */
async function refuseApply(documents: Documents, row: OperationRow, begin: Begin): Promise<void> {
  const { run } = row;
  const permit = await documents.get<{ planDigest: string }>(`permit/${run}`);
  if (permit === undefined) throw new StoreRefused('NoPermit', `run ${run} has no permit to apply its plan`);
  if (begin.planDigest === undefined || permit.planDigest !== begin.planDigest)
    throw new StoreRefused('NoPermit', `the permit of run ${run} is for another plan`);
  const workspace = await documents.workspaceRow();
  const { held, locked, turn } = workspace;
  if (locked !== undefined) throw new StoreRefused('Locked', `the workspace is locked: ${locked.reason}`);
  if (held?.kind !== 'run' || held.holder !== run)
    throw new StoreRefused(
      'NotHolder',
      `run ${run} does not have the slot${held === undefined ? '' : `: it is held ${heldBy(held)}`}`,
    );
  if (!holdsSlot(workspace, row))
    throw new StoreRefused(
      'OtherTurn',
      `the plan is of turn ${row.turn ?? 'none'}; the slot is in turn ${turn}`,
    );
  refuseStale(await newestOf(documents, workspace), begin);
  await documents.putWorkspace({ ...workspace, lastApply: run });
}

function refuseStale(newest: VersionRow | undefined, { lineage, serial }: Begin): void {
  const stored = newest?.facts ?? { lineage: '', serial: 0 };
  if (stored.lineage === lineage && stored.serial === serial) return;
  throw new StoreRefused(
    'StaleState',
    `the plan was made from lineage "${lineage}", serial ${serial}; now there is lineage "${stored.lineage}", serial ${stored.serial}`,
  );
}

/** A runner that has begun is the only one; before that, only the host counts. */
function refuseOther(row: OperationRow, beat: BeatRow | undefined, runner: Sync['runner']): void {
  const isOther =
    row.runner !== undefined
      ? !isDeepStrictEqual(row.runner, runner)
      : row.hostId !== runner.hostId ||
        // Of one host the first runner has the folder.
        (beat !== undefined &&
          (beat.runner as Sync['runner']).hostId === row.hostId &&
          !isDeepStrictEqual(beat.runner, runner));
  if (isOther) throw new StoreRefused('OtherRunner', `another runner has operation ${row.id}`);
}

function nextBeat(
  before: BeatRow | undefined,
  { runner, step, moves, interrupted = before?.interrupted }: Sync,
  { at, log }: Pick<BeatRow, 'at' | 'log'>,
): BeatRow {
  const known = new Map((before?.moves ?? []).map((move) => [`${move.action} ${move.address}`, move]));
  for (const move of moves) {
    const name = `${move.action} ${move.address}`;
    if (known.has(name) || known.size < MAX_MOVES) known.set(name, move);
  }
  const said = { step, moves: [...known.values()], ...(interrupted !== undefined && { interrupted }) };
  const isNews =
    before === undefined ||
    before.step !== step ||
    !isDeepStrictEqual([before.moves, before.interrupted], [said.moves, interrupted]);
  return { at, runner, log, ...said, revision: (before?.revision ?? 0) + (isNews ? 1 : 0) };
}

function ended(
  row: OperationRow,
  { runner, result, hasBegun }: { runner: unknown; result: unknown; hasBegun: boolean },
  at: string,
): OperationRow {
  const { id, record } = row;
  switch (record.state) {
    case 'revoked':
      // It has found out: there is nothing to be said.
      return row;
    case 'ended':
      if (isDeepStrictEqual(record.result, result)) return row;
      throw new StoreRefused('Ended', `operation ${id} has ended with another result`);
    case 'lost':
      if (isDeepStrictEqual(record.found, result)) return row;
      throw new StoreRefused('Ended', `operation ${id} was given up, as its runner was taken to be dead`);
    case 'prepared':
      if (hasBegun)
        throw new StoreRefused(
          'BadRequest',
          `operation ${id} has not begun, and this is the result of one that has`,
        );
      return { ...row, record: { state: 'ended', at, result } };
    case 'started':
      if (!isDeepStrictEqual(row.runner, runner))
        throw new StoreRefused('OtherRunner', `another runner has operation ${id}`);
      return { ...row, record: { state: 'ended', at, result } };
  }
}
