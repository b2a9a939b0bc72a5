/** Records as sealed JSON, each bound to its workspace and key. */
import type { Backend, Records } from './backend.js';
import type { Seals } from './seals.js';
import type { WorkspaceRow } from './rows.js';

/** Rows of one workspace, inside a transaction. */
export interface Documents {
  readonly workspace: string;
  get<T>(key: string): Promise<T | undefined>;
  put(key: string, row: unknown): Promise<void>;
  delete(key: string): Promise<void>;
  /** Rows whose keys begin with `<folder>/`, in the order of their keys. */
  list<T>(folder: string): Promise<{ key: string; row: T }[]>;
  keys(folder: string): Promise<string[]>;
  /** Bytes instead of JSON. */
  getBytes(key: string): Promise<Buffer | undefined>;
  putBytes(key: string, bytes: Uint8Array): Promise<void>;
  /** The row of the workspace itself; a fresh one where there is none. */
  workspaceRow(): Promise<WorkspaceRow>;
  putWorkspace(row: WorkspaceRow): Promise<void>;
  /** A blob that is not needed any more once the transaction counts. */
  drop(blob: string): void;
}

/** Carries out work on the rows of a workspace as one transaction. */
export type Transact = <T>(
  workspace: string,
  work: (documents: Documents) => Promise<T>,
  options?: { soft?: boolean },
) => Promise<T>;

const WORKSPACE = 'workspace';

/** Transactions on sealed rows. Blobs that a transaction drops are removed after it; what is left then is swept. */
export function createTransact(backend: Backend, seals: Seals): Transact {
  return async (workspace, work, options) => {
    const dropped: string[] = [];
    const result = await backend.transact(
      workspace,
      (records) => work(documentsOf(records, { workspace, seals, dropped })),
      options,
    );
    for (const blob of dropped) await backend.deleteBlob(workspace, blob).catch(() => undefined);
    return result;
  };
}

function documentsOf(
  records: Records,
  { workspace, seals, dropped }: { workspace: string; seals: Seals; dropped: string[] },
): Documents {
  const placeOf = (key: string): string => `${workspace}/${key}`;
  const documents: Documents = {
    workspace,
    async getBytes(key) {
      const sealed = await records.get(key);
      return sealed === undefined ? undefined : seals.openRecord(placeOf(key), sealed);
    },
    putBytes: async (key, bytes) => records.put(key, await seals.sealRecord(placeOf(key), bytes)),
    async get<T>(key: string) {
      const bytes = await documents.getBytes(key);
      return bytes === undefined ? undefined : (JSON.parse(bytes.toString('utf8')) as T);
    },
    put: (key, row) => documents.putBytes(key, Buffer.from(JSON.stringify(row))),
    delete: (key) => records.delete(key),
    keys: (folder) => records.keys(folder),
    async list<T>(folder: string) {
      const found: { key: string; row: T }[] = [];
      for (const { key, value } of await records.entries(folder)) {
        const bytes = await seals.openRecord(placeOf(key), value);
        found.push({ key, row: JSON.parse(bytes.toString('utf8')) as T });
      }
      return found;
    },
    workspaceRow: async () => (await documents.get<WorkspaceRow>(WORKSPACE)) ?? { turn: 0, lastVersion: 0 },
    putWorkspace: (row) => documents.put(WORKSPACE, row),
    drop: (blob) => dropped.push(blob),
  };
  return documents;
}
