/** kill -9 of the server, and of its database, while states are written: what was acknowledged is there (T16.4). */
import { randomBytes, randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { DIGEST_HEADER } from '../../api/terraform/operation.js';
import type { KeyRing } from '../../runtime/encryption/key-ring.js';
import { mintToken, type TokenBearer } from '../../runtime/server-tokens.js';
import { startPostgres, type OwnPostgres } from './support/own-postgres.js';
import { askWith, digestOf, good, makeKeys, ringIn, type Ask, type OwnServer } from './support/own-server.js';
import { until } from './support/rig.js';
import { bringPlan, makeRun, prepareApply } from './support/runs.js';
import { ServerEnded, startServerProcess, type ServerProcess } from './support/server-process.js';

let folder: string;
let ring: KeyRing;
let settings: Record<string, string>;
let running: ServerProcess | undefined;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'drover-server-'));
  const keys = await makeKeys(folder);
  ring = await ringIn(keys);
  settings = { DROVER_STORE_KEYS: keys };
});
afterEach(async () => {
  await running?.kill();
  running = undefined;
  await rm(folder, { recursive: true, force: true });
});

async function start(): Promise<Pick<OwnServer, 'as' | 'bridge' | 'worker'>> {
  running = await startServerProcess(settings);
  const { url } = running;
  const as = (bearer: TokenBearer): Ask => askWith(url, () => mintToken(ring, bearer));
  return { as, bridge: as({ purpose: 'bridge', id: '' }), worker: as({ purpose: 'worker', id: '' }) };
}

const RUNNER = { hostId: 'host-1', bootId: 'b', pid: 1, startTime: '1' };
const ENGINE = { name: 'terraform', version: '1.11.4', digest: 'e'.repeat(64) };

/** A state that no other serial has, of some size. */
function stateOf(serial: number): Buffer {
  const filling = randomBytes(50_000).toString('hex');
  return Buffer.from(
    JSON.stringify({
      version: 4,
      terraform_version: '1.11.4',
      serial,
      lineage: 'l',
      outputs: {},
      resources: [],
      filling,
    }),
  );
}

/** An apply that has begun, by a runner that is only said to be there. @returns its id */
async function beginApply(
  server: Pick<OwnServer, 'as' | 'bridge' | 'worker'>,
  workspace: string,
): Promise<string> {
  const own = server as OwnServer;
  const run = await makeRun(own, workspace, { archive: Buffer.from('a'), variables: Buffer.from('[]') });
  const plan = { hasChanges: true, add: 1, change: 0, destroy: 0, resources: [], resourceCount: 0 };
  await bringPlan(own, run, {
    artefacts: new Map([['planFile', Buffer.from('plan')]]),
    result: {
      ...{ operation: '', kind: 'plan', runner: RUNNER, engine: ENGINE as never, step: 'saving_plan' },
      end: { kind: 'engine', end: { kind: 'exited', code: 2 } },
      plan: { ...plan, outputs: [], drifted: [], driftedCount: 0 },
      ...{ diagnostics: [], moves: [], inDoubt: [], inDoubtCount: 0, leftProcesses: 0 },
    },
  });
  const { operation } = await prepareApply(own, run);
  const { id, lineage, serial } = operation;
  const nonce = randomBytes(32).toString('hex');
  const begin = { nonce, runner: RUNNER, engine: ENGINE, lineage, serial };
  await good(server.as({ purpose: 'operation', id })('POST', `/ops/v1/${id}/begin`, begin));
  return id;
}

/** Writes states one after the other until the server does not answer. @returns the serial that was acknowledged last */
async function writeUntilGone(ask: Ask, id: string, from: number): Promise<number> {
  for (let serial = from; ; serial += 1) {
    try {
      const state = stateOf(serial);
      await good(ask('PUT', `/ops/v1/${id}/state`, state, { [DIGEST_HEADER]: digestOf(state) }));
      await good(ask('POST', `/ops/v1/${id}/state`, { digest: digestOf(state) }));
    } catch {
      return serial - 1;
    }
  }
}

/** The serial of the newest final state, read whole. */
async function newestSerial(ask: Ask, workspace: string): Promise<number> {
  const { status, bytes } = await ask('GET', `/state/v1/${workspace}`);
  if (status === 204) return 0;
  expect(status).toBe(200);
  return (JSON.parse(bytes.toString('utf8')) as { serial: number }).serial;
}

/** Kills again and again while somebody writes. */
async function strike(rounds: number, kill: () => Promise<void>, heal: () => Promise<void>): Promise<void> {
  const workspace = randomUUID();
  let server = await start();
  const id = await beginApply(server, workspace);
  let last = 0;
  for (let round = 0; round < rounds; round += 1) {
    const writing = writeUntilGone(server.as({ purpose: 'operation', id }), id, last + 1);
    await sleep(150 + Math.random() * 250);
    await kill();
    const acknowledged = await writing;
    await heal();
    server = await until('a server', () => (running === undefined ? start() : server));
    const found = await until('the store', () =>
      newestSerial(server.worker, workspace).catch(() => undefined),
    );
    // What nobody was told of may be there too.
    expect(found).toBeGreaterThanOrEqual(acknowledged);
    expect(found).toBeLessThanOrEqual(acknowledged + 1);
    expect(acknowledged).toBeGreaterThan(last);
    last = found;
  }
}

async function killServer(): Promise<void> {
  await running?.kill();
  running = undefined;
}

describe('on files', () => {
  beforeEach(() => {
    settings.DROVER_STORE_DIR = join(folder, 'store');
  });

  it('a server that is killed again and again loses no state that it has acknowledged [T9.1] [T16.4]', async () => {
    await strike(5, killServer, () => Promise.resolve());
  });

  it('a second server ends, and names the first [T9.1]', async () => {
    await start();
    const second = await startServerProcess(settings).catch((error: unknown) => error);
    expect(second).toBeInstanceOf(ServerEnded);
    expect((second as ServerEnded).code).toBe(1);
    expect((second as ServerEnded).message).toMatch(/in use by process \d+/);
  });

  it('a server without a key that was used does not start, and says which [T9.1]', async () => {
    await start();
    expect(await running!.stop()).toBe(0);
    running = undefined;
    const other = await mkdtemp(join(folder, 'other-'));
    const ended = await startServerProcess({ ...settings, DROVER_STORE_KEYS: await makeKeys(other) }).catch(
      (error: unknown) => error,
    );
    expect(ended).toMatchObject({ code: 1, message: expect.stringMatching(/k1\W+ is another one/) });
  });
});

describe('in PostgreSQL', { tags: ['nightly'] }, () => {
  let postgres: OwnPostgres;
  beforeEach(async () => {
    postgres = await startPostgres();
    settings.DROVER_STORE_URL = await postgres.database();
  });
  afterEach(() => postgres.close());

  it('a server that is killed again and again loses no state that it has acknowledged [T9.1] [T16.4]', async () => {
    await strike(5, killServer, () => Promise.resolve());
  });

  it('nor does a database that is killed under it [T16.4]', async () => {
    await strike(3, postgres.kill, postgres.start);
  });
});
