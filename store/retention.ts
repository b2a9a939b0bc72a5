/** What is kept no longer (T1.6, T5.1, T9.3). */
import type { Backend } from './backend.js';
import type { Documents, Transact } from './documents.js';
import type { ArtefactRow, OperationRow, PinRow, VersionRow } from './rows.js';
import { dropArtefact } from './runs.js';
import { allOf, remove } from './versions.js';

const DAY_MS = 24 * 60 * 60 * 1000;
const TEMP_MS = DAY_MS;
const LATE_MS = 30 * DAY_MS;
const RUN_MS = 7 * DAY_MS;
/** A blob that no row names after this time was written by somebody who is gone. */
const ORPHAN_MS = DAY_MS;

/** Removes from all workspaces what is kept no longer. May be repeated, and cut off at any point. */
export async function sweep(
  {
    backend,
    transact,
    isWorkspace,
  }: { backend: Backend; transact: Transact; isWorkspace: (uid: string) => boolean },
  now: number,
): Promise<void> {
  await backend.sweepDrafts(now - ORPHAN_MS);
  for (const workspace of (await backend.workspaces()).filter(isWorkspace)) {
    // Listed first: what is written after it is not looked at.
    const blobs = await backend.blobs(workspace);
    const named = await transact(workspace, async (documents) => {
      await sweepVersions(documents, now);
      await sweepRuns(documents, now);
      return namedBlobs(documents);
    });
    for (const { name, at } of blobs) {
      if (at < now - ORPHAN_MS && !named.has(name)) await backend.deleteBlob(workspace, name);
    }
  }
}

async function sweepVersions(documents: Documents, now: number): Promise<void> {
  for (const { row } of await documents.list<VersionRow>('aside')) {
    const age = row.kind === 'late' ? LATE_MS : TEMP_MS;
    if (Date.parse(row.at) < now - age) await remove(documents, row);
  }
}

async function sweepRuns(documents: Documents, now: number): Promise<void> {
  const { lastApply } = await documents.workspaceRow();
  for (const { key, row } of await documents.list<PinRow>('pin')) {
    const { run, endedAt, isGone } = row;
    if (isGone === true || endedAt === undefined || run === lastApply) continue;
    if (Date.parse(endedAt) >= now - RUN_MS) continue;
    await forgetRun(documents, run);
    // What stays says that it is never pinned anew.
    await documents.put(key, { ...row, pin: null, isGone: true });
  }
}

async function forgetRun(documents: Documents, run: string): Promise<void> {
  for (const key of await documents.keys(`artefact/${run}`)) await dropArtefact(documents, key);
  for (const name of ['snapshot', 'permit']) await documents.delete(`${name}/${run}`);
  for (const { key, row } of await documents.list<OperationRow>('operation')) {
    if (row.run !== run) continue;
    for (const piece of await documents.keys(`log/${row.id}`)) await documents.delete(piece);
    await documents.delete(`beat/${row.id}`);
    await documents.delete(key);
  }
}

async function namedBlobs(documents: Documents): Promise<Set<string>> {
  const artefacts = await documents.list<ArtefactRow>('artefact');
  const versions = await allOf(documents);
  return new Set([...artefacts.map(({ row }) => row.blob), ...versions.map(({ content }) => content.blob)]);
}
