/** What the store keeps of runs: pin, snapshot, permit, artefacts (T2.6, T5.1, T6.2, T6.5). What comes first counts. */
import type { Backend } from './backend.js';
import type { Contents } from './contents.js';
import type { Documents, Transact } from './documents.js';
import { StoreRefused } from './refused.js';
import type { ArtefactRow, Content, PinRow } from './rows.js';

/** What is done with runs. Each may be asked again, and has the same answer. */
export interface Runs {
  /**
   * Pins a run: says that it is one, of which workspace, and what it is to do. A run is pinned once.
   *
   * @returns what is pinned: the first that was said
   * @throws StoreRefused `UnknownRun` where it is over for long
   */
  pin(run: string, workspace: string, pin: unknown): Promise<PinRow>;
  /** @throws StoreRefused `UnknownRun` */
  pinOf(run: string): Promise<PinRow>;
  /** A document that is written once: `snapshot` or `permit`. @returns what counts */
  putOnce(run: string, name: OnceName, value: unknown): Promise<unknown>;
  once(run: string, name: OnceName): Promise<unknown>;
  /** Keeps an artefact. @throws StoreRefused `OtherDigest` where another content has its name */
  putArtefact(run: string, name: string, content: Content): Promise<ArtefactRow>;
  artefacts(run: string): Promise<ArtefactRow[]>;
  /** Removes artefacts that are to be made anew. */
  discard(run: string, names: readonly string[]): Promise<void>;
  /** The run is over: what is kept of it goes in time. */
  finish(run: string): Promise<PinRow>;
}

/** Documents of a run that are written once. */
export type OnceName = 'snapshot' | 'permit';

/** Runs of a store. */
export function createRuns(options: {
  backend: Pick<Backend, 'bindRun' | 'workspaceOf'>;
  transact: Transact;
  contents: Contents;
  now: () => Date;
}): Runs {
  const { backend, transact, contents, now } = options;

  /** Carries out work in the workspace of a run that is pinned. */
  async function within<T>(run: string, work: (documents: Documents, row: PinRow) => Promise<T>): Promise<T> {
    const workspace = await backend.workspaceOf(run);
    if (workspace === undefined) throw unknownRun(run);
    return transact(workspace, async (documents) => {
      const row = await documents.get<PinRow>(`pin/${run}`);
      if (row === undefined || row.isGone === true) throw unknownRun(run);
      return work(documents, row);
    });
  }

  return {
    async pin(run, workspace, pin) {
      // A crash between the two leaves a run that is bound and not pinned: it is pinned when that is asked again.
      const bound = await backend.bindRun(run, workspace);
      if (bound !== workspace)
        throw new StoreRefused('BadRequest', `run ${run} is of workspace ${bound}, not of ${workspace}`);
      return transact(workspace, async (documents) => {
        const before = await documents.get<PinRow>(`pin/${run}`);
        if (before?.isGone === true) throw unknownRun(run);
        if (before !== undefined) return before;
        const row: PinRow = { run, workspace, pin, at: now().toISOString() };
        await documents.put(`pin/${run}`, row);
        return row;
      });
    },
    pinOf: (run) => within(run, (_, row) => Promise.resolve(row)),
    putOnce: (run, name, value) =>
      within(run, async (documents) => {
        const before = await documents.get(`${name}/${run}`);
        if (before !== undefined) return before;
        await documents.put(`${name}/${run}`, value);
        return value;
      }),
    once: (run, name) => within(run, (documents) => documents.get(`${name}/${run}`)),
    putArtefact: (run, name, content) =>
      within(run, async (documents, { workspace }) => {
        const before = await documents.get<ArtefactRow>(artefactKey(run, name));
        if (before !== undefined) await contents.discard(workspace, content);
        if (before?.digest === content.digest) return before;
        if (before !== undefined)
          throw new StoreRefused(
            'OtherDigest',
            `${name} of run ${run} is stored with digest ${before.digest}`,
          );
        const row: ArtefactRow = { ...content, name, at: now().toISOString() };
        await documents.put(artefactKey(run, name), row);
        return row;
      }),
    artefacts: (run) =>
      within(run, async (documents) =>
        (await documents.list<ArtefactRow>(`artefact/${run}`)).map(({ row }) => row),
      ),
    discard: (run, names) =>
      within(run, async (documents) => {
        for (const name of names) await dropArtefact(documents, artefactKey(run, name));
      }),
    finish: (run) =>
      within(run, async (documents, row) => {
        if (row.endedAt !== undefined) return row;
        const ended: PinRow = { ...row, endedAt: now().toISOString() };
        await documents.put(`pin/${run}`, ended);
        return ended;
      }),
  };
}

const artefactKey = (run: string, name: string): string => `artefact/${run}/${name}`;
const unknownRun = (run: string): StoreRefused =>
  new StoreRefused('UnknownRun', `no run ${run} is pinned, or it is over for long`);

/** Removes an artefact with its content. */
export async function dropArtefact(documents: Documents, key: string): Promise<void> {
  const row = await documents.get<ArtefactRow>(key);
  if (row === undefined) return;
  await documents.delete(key);
  documents.drop(row.blob);
}
