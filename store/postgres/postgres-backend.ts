/**
 * A store in a database of PostgreSQL 15 or newer, for any number of processes. A transaction locks the row of its
 * workspace first, so those of one workspace come one after the other, whichever process asks.
 */
import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { BlobMissing, StoreUnavailable, type Backend, type Records } from '../backend.js';
import { MIGRATIONS, MIGRATION_LOCK } from './schema.js';

/** What queries are asked of: the pool, or the connection of a transaction. */
type Asker = Pick<pg.ClientBase, 'query'>;

const OLDEST_SERVER = 150_000;
const CONNECT_MS = 5000;
/** A server that does not answer is away: requests wait no longer. */
const QUERY_MS = 30_000;

/**
 * Opens a store in a database, and brings its tables up to date.
 *
 * @param options.url `postgres://USER:PASSWORD@HOST/DATABASE`, with `?sslmode=verify-full` and the like
 * @param options.connections at most at once; default 10
 * @param options.onTrouble told of connections that break while nobody uses them
 * @throws StoreUnavailable where it is not reached; Error where it is too old, or newer than this program
 */
export async function openPostgresBackend(options: {
  url: string;
  connections?: number;
  onTrouble: (error: Error) => void;
}): Promise<Backend> {
  const { url, connections = 10, onTrouble } = options;
  const pool = new pg.Pool({
    connectionString: url,
    max: connections,
    connectionTimeoutMillis: CONNECT_MS,
    query_timeout: QUERY_MS,
    statement_timeout: QUERY_MS,
    application_name: 'drover-server',
  });
  pool.on('error', onTrouble);
  try {
    await guarded(() => migrate(pool));
  } catch (error) {
    await pool.end();
    throw error;
  }

  const workspaceOf = async (run: string): Promise<string | undefined> =>
    (await ask<{ workspace: string }>(pool, 'SELECT workspace FROM runs WHERE run = $1', [run]))[0]
      ?.workspace;

  return {
    transact: (workspace, work, { soft = false } = {}) =>
      guarded(() =>
        inTransaction(pool, async (client) => {
          if (soft) await client.query('SET LOCAL synchronous_commit = off');
          await client.query('INSERT INTO workspaces VALUES ($1) ON CONFLICT DO NOTHING', [workspace]);
          await client.query('SELECT uid FROM workspaces WHERE uid = $1 FOR UPDATE', [workspace]);
          return work(recordsOf(client, workspace));
        }),
      ),
    workspaceOf,
    async bindRun(run, workspace) {
      await ask(pool, 'INSERT INTO runs VALUES ($1, $2) ON CONFLICT DO NOTHING', [run, workspace]);
      return (await workspaceOf(run)) ?? workspace;
    },
    workspaces: async () =>
      (await ask<{ uid: string }>(pool, 'SELECT uid FROM workspaces ORDER BY uid')).map(({ uid }) => uid),
    putBlob: (workspace, source, name) => putBlob(pool, { workspace, source, name }),
    getBlob: (workspace, name) => readBlob(pool, workspace, name),
    async deleteBlob(workspace, name) {
      await ask(pool, 'DELETE FROM blobs WHERE workspace = $1 AND name = $2', [workspace, name]);
    },
    async blobs(workspace) {
      const rows = await ask<{ name: string; begun_at: Date }>(
        pool,
        'SELECT name, begun_at FROM blobs WHERE workspace = $1 AND name IS NOT NULL',
        [workspace],
      );
      return rows.map(({ name, begun_at: at }) => ({ name, at: at.getTime() }));
    },
    async sweepDrafts(before) {
      await ask(pool, 'DELETE FROM blobs WHERE name IS NULL AND begun_at < $1', [new Date(before)]);
    },
    close: () => pool.end(),
  };
}

async function migrate(pool: pg.Pool): Promise<void> {
  const [server] = await ask<{ server_version_num: string }>(pool, 'SHOW server_version_num');
  const version = server?.server_version_num ?? '';
  if (Number(version) < OLDEST_SERVER)
    throw new Error(`PostgreSQL 15 or newer is needed; this one is ${version}`);
  await inTransaction(pool, async (client) => {
    await client.query('SELECT pg_advisory_xact_lock($1)', [MIGRATION_LOCK]);
    await client.query(
      'CREATE TABLE IF NOT EXISTS migrations (n integer PRIMARY KEY, at timestamptz NOT NULL)',
    );
    const [before] = await ask<{ done: number }>(
      client,
      'SELECT coalesce(max(n), 0)::integer AS done FROM migrations',
    );
    const done = before?.done ?? 0;
    if (done > MIGRATIONS.length) {
      throw new Error(
        `the database has tables of a newer release (step ${done}; this one knows ${MIGRATIONS.length})`,
      );
    }
    for (const [index, step] of MIGRATIONS.entries()) {
      if (index < done) continue;
      await client.query(step);
      await client.query('INSERT INTO migrations VALUES ($1, now())', [index + 1]);
    }
  });
}

async function inTransaction<T>(pool: pg.Pool, work: (client: pg.PoolClient) => Promise<T>): Promise<T> {
  const client = await pool.connect();
  let broken: Error | undefined;
  // A connection that breaks between two queries must not end the program.
  const onError = (error: Error): void => {
    broken = error;
  };
  client.on('error', onError);
  try {
    await client.query('BEGIN');
    const result = await work(client);
    await client.query('COMMIT');
    return result;
  } catch (error) {
    await client.query('ROLLBACK').catch((failure: Error) => {
      broken = failure;
    });
    throw error;
  } finally {
    client.off('error', onError);
    client.release(broken);
  }
}

function recordsOf(client: Asker, workspace: string): Records {
  return {
    async get(key) {
      const rows = await ask<{ value: Buffer }>(
        client,
        'SELECT value FROM records WHERE workspace = $1 AND key = $2',
        [workspace, key],
      );
      return rows[0]?.value;
    },
    async put(key, value) {
      await client.query(
        'INSERT INTO records VALUES ($1, $2, $3) ON CONFLICT (workspace, key) DO UPDATE SET value = $3',
        [workspace, key, value],
      );
    },
    async delete(key) {
      await client.query('DELETE FROM records WHERE workspace = $1 AND key = $2', [workspace, key]);
    },
    keys: async (folder) =>
      (await ask<{ key: string }>(client, `SELECT key ${UNDER}`, under(workspace, folder))).map(
        ({ key }) => key,
      ),
    entries: (folder) => ask(client, `SELECT key, value ${UNDER}`, under(workspace, folder)),
  };
}

/** Keys that begin with a folder; `0` comes next to `/` in the order of bytes. */
const UNDER = 'FROM records WHERE workspace = $1 AND key > $2 AND key < $3 ORDER BY key';
const under = (workspace: string, folder: string): string[] => [workspace, `${folder}/`, `${folder}0`];

/** Writes the row of the blob first and its name last: without a name it is none, and is swept one day. */
async function putBlob(
  pool: pg.Pool,
  options: { workspace: string; source: AsyncIterable<Uint8Array>; name: () => string },
): Promise<void> {
  const { workspace, source, name } = options;
  const id = randomUUID();
  await ask(pool, 'INSERT INTO blobs (id, workspace) VALUES ($1, $2)', [id, workspace]);
  try {
    let n = 0;
    for await (const chunk of source) {
      await ask(pool, 'INSERT INTO chunks VALUES ($1, $2, $3)', [id, n, Buffer.from(chunk)]);
      n += 1;
    }
    await ask(pool, 'UPDATE blobs SET name = $2 WHERE id = $1', [id, name()]);
  } catch (error) {
    await ask(pool, 'DELETE FROM blobs WHERE id = $1', [id]).catch(() => undefined);
    throw error;
  }
}

async function* readBlob(pool: pg.Pool, workspace: string, name: string): AsyncIterable<Uint8Array> {
  const [blob] = await ask<{ id: string; count: number }>(
    pool,
    'SELECT id, (SELECT count(*) FROM chunks WHERE blob = id)::integer AS count FROM blobs WHERE workspace = $1 AND name = $2',
    [workspace, name],
  );
  if (blob === undefined) throw new BlobMissing(`the content ${name} is not there`);
  for (let n = 0; n < blob.count; n += 1) {
    const [chunk] = await ask<{ bytes: Buffer }>(
      pool,
      'SELECT bytes FROM chunks WHERE blob = $1 AND n = $2',
      [blob.id, n],
    );
    if (chunk === undefined) throw new BlobMissing(`the content ${name} was removed while it was read`);
    yield chunk.bytes;
  }
}

const ask = <Row extends pg.QueryResultRow>(asker: Asker, text: string, values?: unknown[]): Promise<Row[]> =>
  guarded(async () => (await asker.query<Row>(text, values)).rows);

/** What goes wrong between here and the database, or inside it, is the store's absence. */
async function guarded<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw isTrouble(error)
      ? new StoreUnavailable(`the database of the store: ${(error as Error).message}`, { cause: error })
      : error;
  }
}

const CONNECTION = /^(ECONN|EPIPE|ETIMEDOUT|EHOST|ENET|ENOTFOUND|EAI_AGAIN)/;
const LOST = /terminated|timeout|not queryable|Client has encountered a connection error/i;

function isTrouble(error: unknown): boolean {
  if (error instanceof StoreUnavailable) return false;
  if (error instanceof pg.DatabaseError) return true;
  const { code = '', message } = error as NodeJS.ErrnoException;
  return error instanceof Error && (CONNECTION.test(code) || LOST.test(message));
}
