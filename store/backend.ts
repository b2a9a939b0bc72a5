/**
 * What a store keeps, and how safely, without knowing what it means: records and blobs of workspaces, on files or in
 * PostgreSQL. All rules are above it, written once.
 */

/** Records of one workspace, inside a transaction. Keys are words of letters, digits and `-`, parted by `/`. */
export interface Records {
  get: (key: string) => Promise<Buffer | undefined>;
  /** What was written is read by later calls of the same transaction. */
  put: (key: string, value: Buffer) => Promise<void>;
  delete: (key: string) => Promise<void>;
  /** Keys that begin with `<folder>/`, in their order. */
  keys: (folder: string) => Promise<string[]>;
  /** The same with their values. */
  entries: (folder: string) => Promise<{ key: string; value: Buffer }[]>;
}

/** A blob that is kept. */
export interface BlobEntry {
  name: string;
  /** When it was begun, in milliseconds since the epoch. */
  at: number;
}

/** A place where records and blobs are kept. Everything throws {@link StoreUnavailable} where the place cannot be reached. */
export interface Backend {
  /**
   * Carries out some work with the records of a workspace, one at a time for each workspace, whoever asks. What it writes
   * is there as a whole once this has resolved, also after a loss of power; if the work throws, nothing of it is.
   *
   * @param options.soft what is written may be lost with the power, as it is said again each second
   */
  transact<T>(
    workspace: string,
    work: (records: Records) => Promise<T>,
    options?: { soft?: boolean },
  ): Promise<T>;
  /** Says which workspace a run is of, unless that was said already. @returns what counts: the first */
  bindRun(run: string, workspace: string): Promise<string>;
  workspaceOf(run: string): Promise<string | undefined>;
  /** Of all workspaces that have records. */
  workspaces(): Promise<string[]>;
  /**
   * Keeps a blob. If the source throws, nothing is left of it.
   *
   * @param name asked for once the source has ended
   */
  putBlob(workspace: string, source: AsyncIterable<Uint8Array>, name: () => string): Promise<void>;
  /** @throws BlobMissing at the first read where it is not there */
  getBlob(workspace: string, name: string): AsyncIterable<Uint8Array>;
  deleteBlob(workspace: string, name: string): Promise<void>;
  /** Of a workspace; those that are being written are left out. */
  blobs(workspace: string): Promise<BlobEntry[]>;
  /** Removes what writers that are gone have left, begun before a time. */
  sweepDrafts(before: number): Promise<void>;
  close(): Promise<void>;
}

/** The place where the store is cannot be reached or written: what was asked may have been done, and may be asked again. */
export class StoreUnavailable extends Error {
  override readonly name = 'StoreUnavailable';
}

/** A blob that a record names is not there. */
export class BlobMissing extends Error {
  override readonly name = 'BlobMissing';
}

/** What is kept does not open: it was changed, or cut, or belongs elsewhere. */
export class StoreDamaged extends Error {
  override readonly name = 'StoreDamaged';
}
