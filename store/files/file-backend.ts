/**
 * A store in a folder, for one process. Below it: `hold-<n>` says who has it, `runs/` which workspace a run is of, and
 * `workspaces/<uid>/` has the records and blobs of each.
 */
import { randomUUID } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { open, readFile, readdir, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { PRIVATE_FILE, syncFolder, writeOnce } from '../../runtime/durable-files.js';
import { BlobMissing, StoreUnavailable, type Backend, type Records } from '../backend.js';
import { holdFolder, type Hold, type HoldTimes } from './hold.js';
import { createRecordFolder, makeFolder, unlessMissing } from './records.js';

/** A backend in a folder. */
export interface FileBackend extends Backend {
  /** Rejects when another process has taken the folder. */
  lost: Promise<never>;
}

const READ_BYTES = 1024 ** 2;

/**
 * Opens a store in a folder, which is made where it is not there.
 *
 * @throws FolderTaken where another process has it
 */
export async function openFileBackend(options: { folder: string; times?: HoldTimes }): Promise<FileBackend> {
  const { folder, times } = options;
  await makeFolder(folder);
  const hold = await holdFolder(folder, times);
  const runs = join(folder, 'runs');
  const drafts = join(folder, 'drafts');
  const workspaces = join(folder, 'workspaces');
  for (const each of [runs, drafts, workspaces]) await makeFolder(each);
  const lanes = createLanes(workspaces);
  const blobFolder = (workspace: string): string => join(workspaces, workspace, 'blobs');
  const blobPath = (workspace: string, name: string): string => join(blobFolder(workspace), fileName(name));
  const workspaceOf = (run: string): Promise<string | undefined> =>
    guarded(hold, () => readFile(join(runs, run), 'utf8').catch(unlessMissing));

  return {
    lost: hold.lost,
    transact: (workspace, work, { soft = false } = {}) => lanes.transact(hold, workspace, work, soft),
    workspaceOf,
    async bindRun(run, workspace) {
      await guarded(hold, () => writeOnce(join(runs, run), workspace));
      return (await workspaceOf(run)) ?? workspace;
    },
    workspaces: () => guarded(hold, () => readdir(workspaces)),
    putBlob: (workspace, source, name) =>
      guarded(hold, async () => {
        const draft = join(drafts, randomUUID());
        try {
          await writeStream(draft, source);
          await makeFolder(blobFolder(workspace));
          await rename(draft, blobPath(workspace, name()));
          await syncFolder(blobFolder(workspace));
        } finally {
          await rm(draft, { force: true });
        }
      }),
    getBlob: (workspace, name) => readBlob(blobPath(workspace, name), name),
    deleteBlob: (workspace, name) => guarded(hold, () => rm(blobPath(workspace, name), { force: true })),
    blobs: (workspace) =>
      guarded(hold, async () => {
        const names = (await readdir(blobFolder(workspace)).catch(unlessMissing)) ?? [];
        const entries = await Promise.all(
          names.map(async (name) => {
            const found = await stat(join(blobFolder(workspace), name)).catch(unlessMissing);
            return found === undefined ? [] : [{ name: blobName(name), at: found.mtimeMs }];
          }),
        );
        return entries.flat();
      }),
    sweepDrafts: (before) =>
      guarded(hold, async () => {
        for (const name of await readdir(drafts)) {
          const found = await stat(join(drafts, name)).catch(unlessMissing);
          if (found !== undefined && found.mtimeMs < before) await rm(join(drafts, name), { force: true });
        }
      }),
    async close() {
      await lanes.idle();
      await hold.release();
    },
  };
}

/** One transaction at a time for each workspace. */
function createLanes(workspaces: string) {
  const folders = new Map<string, ReturnType<typeof createRecordFolder>>();
  const lanes = new Map<string, Promise<unknown>>();
  return {
    async transact<T>(
      hold: Hold,
      workspace: string,
      work: (records: Records) => Promise<T>,
      soft: boolean,
    ): Promise<T> {
      const folder = folders.get(workspace) ?? createRecordFolder(join(workspaces, workspace));
      folders.set(workspace, folder);
      const before = lanes.get(workspace) ?? Promise.resolve();
      const mine = before.then(() => guarded(hold, () => folder.transact(work, soft)));
      const settled = mine.catch(() => undefined);
      lanes.set(workspace, settled);
      void settled.then(() => {
        if (lanes.get(workspace) === settled) lanes.delete(workspace);
      });
      return mine;
    },
    async idle(): Promise<void> {
      await Promise.all(lanes.values());
    },
  };
}

/** Errors of the disk are the store's absence; a folder that another process has is not written. */
async function guarded<T>(hold: Hold, work: () => Promise<T>): Promise<T> {
  if (hold.isLost()) throw new StoreUnavailable('another process has taken the folder of the store');
  try {
    return await work();
  } catch (error) {
    throw asUnavailable(error);
  }
}

function asUnavailable(error: unknown): unknown {
  const { code, syscall } = error as NodeJS.ErrnoException;
  if (code === undefined || syscall === undefined) return error;
  // Errors of sockets that a source reads from are not the disk's.
  return ['open', 'write', 'fsync', 'rename', 'mkdir', 'read', 'link', 'unlink', 'scandir'].includes(
    syscall,
  ) && code !== 'ECONNRESET'
    ? new StoreUnavailable(`the folder of the store: ${(error as Error).message}`, { cause: error })
    : error;
}

async function writeStream(path: string, source: AsyncIterable<Uint8Array>): Promise<void> {
  const file = await open(path, 'wx', PRIVATE_FILE);
  try {
    for await (const chunk of source) await file.writeFile(chunk);
    await file.sync();
  } finally {
    await file.close();
  }
}

async function* readBlob(path: string, name: string): AsyncIterable<Uint8Array> {
  try {
    yield* createReadStream(path, { highWaterMark: READ_BYTES }) as AsyncIterable<Buffer>;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw asUnavailable(error);
    throw new BlobMissing(`the content ${name} is not there`);
  }
}

/** Keys of a ring may have names that are none of files. */
const fileName = (name: string): string => encodeURIComponent(name);
const blobName = (file: string): string => decodeURIComponent(file);
