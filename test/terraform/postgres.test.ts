/** The store in PostgreSQL: what every store does, its tables, and a server of the database that is away. */
import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Backend } from '../../store/backend.js';
import { openPostgresBackend } from '../../store/postgres/postgres-backend.js';
import { MIGRATIONS } from '../../store/postgres/schema.js';
import { describeStore } from '../../store/testing/store.suite.js';
import { startPostgres, type OwnPostgres } from './support/own-postgres.js';
import { until } from './support/rig.js';

let postgres: OwnPostgres;
beforeAll(async () => {
  postgres = await startPostgres();
});
afterAll(() => postgres.close());

const open = (url: string): Promise<Backend> => openPostgresBackend({ url, onTrouble: () => undefined });

async function ask<Row extends pg.QueryResultRow>(url: string, text: string): Promise<Row[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query<Row>(text)).rows;
  } finally {
    await client.end();
  }
}

describeStore('a store in PostgreSQL', async () => {
  const url = await postgres.database();
  return {
    open: () => open(url),
    async damageBlobs() {
      await ask(
        url,
        'UPDATE chunks SET bytes = set_byte(bytes, length(bytes) - 20, get_byte(bytes, length(bytes) - 20) # 1)',
      );
    },
  };
});

describe('tables', () => {
  it('are made by one of several servers that start at once, and once', async () => {
    const url = await postgres.database();
    const backends = await Promise.all([open(url), open(url), open(url)]);
    await Promise.all(backends.map((backend) => backend.close()));
    const steps = await ask<{ n: number }>(url, 'SELECT n FROM migrations ORDER BY n');
    expect(steps.map(({ n }) => n)).toEqual(MIGRATIONS.map((_, index) => index + 1));
  });

  it('of a newer release are left alone', async () => {
    const url = await postgres.database();
    await (await open(url)).close();
    await ask(url, 'INSERT INTO migrations VALUES (999, now())');
    await expect(open(url)).rejects.toThrow(/tables of a newer release \(step 999/);
  });
});

it('transactions of several servers on one workspace come one after the other [T9.1]', async () => {
  const url = await postgres.database();
  const backends = await Promise.all([open(url), open(url)]);
  const workspace = randomUUID();
  const count = async (backend: Backend): Promise<void> =>
    backend.transact(workspace, async ({ get, put }) => {
      const before = Number((await get('n'))?.toString() ?? 0);
      await put('n', Buffer.from(String(before + 1)));
    });
  await Promise.all(Array.from({ length: 40 }, (_, i) => count(backends[i % 2]!)));
  const n = await backends[0].transact(workspace, ({ get }) => get('n'));
  expect(n?.toString()).toBe('40');
  await Promise.all(backends.map((backend) => backend.close()));
});

it('a database that is away is told apart from a refusal, and is back when it is back [T16.4]', async () => {
  const url = await postgres.database();
  const backend = await open(url);
  const workspace = randomUUID();
  await backend.transact(workspace, ({ put }) => put('kept', Buffer.from('yes')));
  await postgres.kill();
  await expect(backend.workspaceOf('x')).rejects.toMatchObject({ name: 'StoreUnavailable' });
  await expect(backend.transact(workspace, ({ get }) => get('kept'))).rejects.toMatchObject({
    name: 'StoreUnavailable',
  });
  await postgres.start();
  const kept = await until('the database', () =>
    backend.transact(workspace, ({ get }) => get('kept')).catch(() => undefined),
  );
  expect(kept.toString()).toBe('yes');
  await backend.close();
});
