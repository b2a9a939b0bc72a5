/** Versions of a state (T8.4, T8.6, T9.2, T9.3). */
import type { Contents } from './contents.js';
import type { Documents, Transact } from './documents.js';
import { StoreRefused } from './refused.js';
import type { Content, OperationRow, StateFacts, VersionRow, WorkspaceRow } from './rows.js';
import { holdsSlot } from './slots.js';

/** Final versions of a workspace that are kept. */
const MAX_FINAL = 100;
/** Versions of an operation that are kept beside its final one. */
const MAX_TEMP = 3;

/** A state that was read to its end and kept, and belongs to no row yet. */
export interface NewState {
  content: Content;
  facts: StateFacts;
  resourceCount: number;
}

/** What is done with versions. */
export interface Versions {
  /** The newest final one. */
  newest(workspace: string): Promise<VersionRow | undefined>;
  /** All, oldest first. */
  list(workspace: string): Promise<VersionRow[]>;
  version(workspace: string, n: number): Promise<VersionRow | undefined>;
  /** Bytes of a version. */
  read(workspace: string, version: VersionRow): AsyncIterable<Buffer>;
  /**
   * A content of an apply that goes on. The one of an operation whose run has gone on without it is `late`.
   *
   * @throws StoreRefused `UnknownOperation`, `Revoked`, `BadRequest` before it has begun, `StateRefused`
   */
  addTemp(workspace: string, operation: string, state: NewState): Promise<VersionRow>;
  /** The content of this digest becomes the final one. @throws StoreRefused `NotStored`, `StateRefused` */
  makeFinal(workspace: string, operation: string, digest: string): Promise<VersionRow>;
  /**
   * A state of a person, who has the slot by a lock. Equal bytes change nothing.
   *
   * @throws StoreRefused `NotHolder`, `StateRefused`
   */
  addByPerson(
    workspace: string,
    by: { lock: string; user: string; rollbackOf?: number },
    state: NewState,
  ): Promise<VersionRow>;
}

/** Versions of a store. */
export function createVersions(transact: Transact, contents: Contents, now: () => Date): Versions {
  /** A state that becomes no row is not kept. */
  const orDiscard = async (
    workspace: string,
    state: NewState,
    work: (documents: Documents) => Promise<VersionRow>,
  ): Promise<VersionRow> => {
    try {
      const row = await transact(workspace, work);
      if (row.content.blob !== state.content.blob) await contents.discard(workspace, state.content);
      return row;
    } catch (error) {
      // Where it is not known whether the row counts, the sweep decides.
      if (error instanceof StoreRefused) await contents.discard(workspace, state.content);
      throw error;
    }
  };

  return {
    newest: (workspace) => transact(workspace, async (documents) => newestOf(documents)),
    list: (workspace) => transact(workspace, allOf),
    version: (workspace, n) =>
      transact(workspace, async (documents) => (await allOf(documents)).find((version) => version.n === n)),
    read: (workspace, { content }) => contents.read(workspace, content),
    addTemp: (workspace, operation, state) =>
      orDiscard(workspace, state, (documents) => addTemp(documents, operation, state, now)),
    makeFinal: (workspace, operation, digest) =>
      transact(workspace, (documents) => makeFinal(documents, operation, digest)),
    addByPerson: (workspace, by, state) =>
      orDiscard(workspace, state, (documents) => addByPerson(documents, by, state, now)),
  };
}

/** Final ones are together; others stand under their operation. */
function keyOf({ n, kind, by }: Pick<VersionRow, 'n' | 'kind' | 'by'>): string {
  const number = String(n).padStart(10, '0');
  if (kind === 'final' || !('operation' in by)) return `version/${number}`;
  return `aside/${by.operation}/${number}`;
}

/** All versions of a workspace, oldest first. */
export async function allOf(documents: Documents): Promise<VersionRow[]> {
  const rows = [
    ...(await documents.list<VersionRow>('version')),
    ...(await documents.list<VersionRow>('aside')),
  ].map(({ row }) => row);
  return rows.sort((a, b) => a.n - b.n);
}

/** The newest final version of a workspace. */
export async function newestOf(documents: Documents, row?: WorkspaceRow): Promise<VersionRow | undefined> {
  const { final } = row ?? (await documents.workspaceRow());
  if (final === undefined) return undefined;
  return documents.get<VersionRow>(`version/${String(final).padStart(10, '0')}`);
}

async function addTemp(
  documents: Documents,
  id: string,
  state: NewState,
  now: () => Date,
): Promise<VersionRow> {
  const operation = await applyOf(documents, id);
  const row = await documents.workspaceRow();
  const own = (await documents.list<VersionRow>(`aside/${id}`)).map(({ row: each }) => each);
  const same = own.find(({ content }) => content.digest === state.content.digest);
  if (same !== undefined) return same;
  const isLate = !holdsSlot(row, operation);
  if (!isLate) refuse(state.facts, (await newestOf(documents, row))?.facts);
  const version = await add(documents, row, {
    ...{ ...state, kind: isLate ? 'late' : 'temp', by: { operation: id } },
    at: now().toISOString(),
  });
  for (const old of own.filter(({ kind }) => kind === version.kind).slice(0, -(MAX_TEMP - 1)))
    await remove(documents, old);
  return version;
}

async function makeFinal(documents: Documents, id: string, digest: string): Promise<VersionRow> {
  const operation = await applyOf(documents, id);
  const row = await documents.workspaceRow();
  const newest = await newestOf(documents, row);
  // Said again; or an apply that has changed nothing: the state is what it was.
  if (newest?.content.digest === digest) return newest;
  if (operation.final?.content.digest === digest) return operation.final;
  const found = (await documents.list<VersionRow>(`aside/${id}`)).find(
    (each) => each.row.content.digest === digest,
  );
  if (found === undefined)
    throw new StoreRefused('NotStored', `no state of this digest is stored by operation ${id}`);
  if (!holdsSlot(row, operation)) {
    const late: VersionRow = { ...found.row, kind: 'late' };
    await documents.put(found.key, late);
    return late;
  }
  refuse(found.row.facts, newest?.facts);
  const final: VersionRow = { ...found.row, kind: 'final' };
  await documents.delete(found.key);
  await documents.put(keyOf(final), final);
  await documents.putWorkspace({ ...row, final: final.n });
  await documents.put(`operation/${id}`, { ...operation, final });
  await trim(documents);
  return final;
}

async function addByPerson(
  documents: Documents,
  { lock, user, rollbackOf }: { lock: string; user: string; rollbackOf?: number },
  state: NewState,
  now: () => Date,
): Promise<VersionRow> {
  const row = await documents.workspaceRow();
  if (row.held?.kind !== 'user' || row.held.holder !== lock)
    throw new StoreRefused('NotHolder', `lock ${lock} does not hold the slot of the workspace`);
  const newest = await newestOf(documents, row);
  if (newest?.content.digest === state.content.digest) return newest;
  refuse(state.facts, newest?.facts);
  if (newest !== undefined && newest.facts.serial === state.facts.serial)
    throw new StoreRefused(
      'StateRefused',
      `the state has serial ${state.facts.serial}, as the stored one, and other content`,
    );
  const version = await add(documents, row, {
    ...{ ...state, kind: 'final', by: { user }, at: now().toISOString() },
    ...(rollbackOf !== undefined && { rollbackOf }),
  });
  await trim(documents);
  return version;
}

/** An operation that may bring states. */
async function applyOf(documents: Documents, id: string): Promise<OperationRow> {
  const operation = await documents.get<OperationRow>(`operation/${id}`);
  if (operation === undefined) throw new StoreRefused('UnknownOperation', `there is no operation ${id}`);
  if (operation.kind !== 'apply')
    throw new StoreRefused('BadRequest', `operation ${id} is a plan: it changes no state`);
  const { record } = operation;
  if (record.state === 'revoked') throw new StoreRefused('Revoked', record.reason);
  if (operation.nonce === undefined)
    throw new StoreRefused('BadRequest', `operation ${id} has not begun: it has no state to bring`);
  return operation;
}

async function add(
  documents: Documents,
  row: WorkspaceRow,
  version: Omit<VersionRow, 'n' | 'turn'>,
): Promise<VersionRow> {
  const n = row.lastVersion + 1;
  const added: VersionRow = { ...version, n, turn: row.turn };
  await documents.put(keyOf(added), added);
  await documents.putWorkspace({ ...row, lastVersion: n, ...(version.kind === 'final' && { final: n }) });
  return added;
}

/** Removes a version with its content. */
export async function remove(documents: Documents, version: VersionRow): Promise<void> {
  await documents.delete(keyOf(version));
  documents.drop(version.content.blob);
}

async function trim(documents: Documents): Promise<void> {
  const keys = await documents.keys('version');
  for (const key of keys.slice(0, -MAX_FINAL)) {
    const old = await documents.get<VersionRow>(key);
    if (old !== undefined) await remove(documents, old);
  }
}

function refuse(facts: StateFacts, stored: StateFacts | undefined): void {
  if (stored === undefined) return;
  if (facts.lineage !== stored.lineage)
    throw new StoreRefused(
      'StateRefused',
      `the state has lineage ${facts.lineage}; the stored one has ${stored.lineage}`,
    );
  if (facts.serial < stored.serial)
    throw new StoreRefused(
      'StateRefused',
      `the state has serial ${facts.serial}; the stored one has ${stored.serial} already`,
    );
}
