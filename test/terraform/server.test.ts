/** The server's internal routes: who may ask what, and what it takes (T2.3, T2.6, T7.1). */
import { randomBytes, randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import {
  MAX_LOCK_FILE_BYTES,
  MAX_RESULT_BYTES,
  MAX_SYNC_BYTES,
  MAX_VARIABLES_BYTES,
} from '../../api/terraform/bounds.js';
import { DIGEST_HEADER, type OperationView } from '../../api/terraform/operation.js';
import type { OperationResult } from '../../api/terraform/operation-result.js';
import { digestOf, good, startOwnServer, type Ask, type OwnServer } from './support/own-server.js';
import { bringPlan, makeRun, prepare, prepareApply, preparePlan } from './support/runs.js';

let folder: string;
let server: OwnServer;
let workspace: string;
let run: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'drover-server-'));
  server = await startOwnServer({ folder });
});
afterAll(async () => {
  await server.close();
  await rm(folder, { recursive: true, force: true });
});
const INPUTS = { archive: Buffer.from('archive'), variables: Buffer.from('[]') };
beforeEach(async () => {
  workspace = randomUUID();
  run = await makeRun(server, workspace, INPUTS);
});

const ofOperation = (id: string): Ask => server.as({ purpose: 'operation', id });
const reasonOf = async (asked: ReturnType<Ask>): Promise<string> => {
  const { status, body } = await asked;
  return status < 300 ? 'done' : (body.error as { reason: string }).reason;
};
const RUNNER = { hostId: 'host-1', bootId: 'b', pid: 1, startTime: '1' };
const ENGINE = { name: 'terraform' as const, version: '1.11.4', digest: 'e'.repeat(64) };
const sync = (more: object = {}) => ({ runner: RUNNER, step: 'planning', log: {}, moves: [], ...more });

function planned(more: Partial<OperationResult> = {}): OperationResult {
  const plan = { hasChanges: true, add: 1, change: 0, destroy: 0, resources: [], resourceCount: 0 };
  return {
    ...{ operation: '', kind: 'plan', runner: RUNNER, engine: ENGINE, step: 'saving_plan' },
    end: { kind: 'engine', end: { kind: 'exited', code: 2 } },
    plan: { ...plan, outputs: [], drifted: [], driftedCount: 0 },
    ...{ diagnostics: [], moves: [], inDoubt: [], inDoubtCount: 0, leftProcesses: 0 },
    ...more,
  };
}
const PLAN = { result: planned(), artefacts: new Map([['planFile', Buffer.from('plan')]]) };
const beginOf = (operation: { lineage: string; serial: number }, engine = ENGINE) => ({
  ...{ nonce: randomBytes(32).toString('hex'), runner: RUNNER, engine },
  ...{ lineage: operation.lineage, serial: operation.serial },
});

describe('tokens [T2.3] [T2.6]', () => {
  it('without one, or with a wrong one, nothing is answered', async () => {
    const { id } = (await preparePlan(server, run)).operation;
    const response = await fetch(`${server.url}/ops/v1/${id}`);
    expect(response.status).toBe(401);
    expect(await reasonOf(server.withToken('drover1.worker...x')('GET', `/ops/v1/${id}`))).toBe(
      'Unauthenticated',
    );
    expect((await server.worker('GET', '/somewhere/else')).status).toBe(404);
  });

  it('each opens what is its own, and nothing else', async () => {
    const { id } = (await preparePlan(server, run)).operation;
    const other = await makeRun(server, randomUUID(), INPUTS);
    const foreign = (await preparePlan(server, other)).operation.id;
    const pool = server.as({ purpose: 'pool', id: 'north' });
    const who = {
      bridge: server.bridge,
      worker: server.worker,
      pool,
      own: ofOperation(id),
      other: ofOperation(foreign),
    };
    const permit = { planDigest: 'd'.repeat(64), answers: [] };
    const interrupt = { kind: 'interrupt', order: { by: 'request', reason: 'r' } };
    const released = { kind: 'lost', proof: { kind: 'released', by: 'b', reason: 'r' } };
    const cases: [method: string, path: string, body: unknown, allowed: (keyof typeof who)[]][] = [
      ['PUT', `/runs/v1/${run}/permit`, permit, ['bridge']],
      ['PUT', `/runs/v1/${run}/pin`, {}, ['bridge']],
      ['POST', `/runs/v1/${run}/finish`, {}, ['bridge']],
      ['POST', `/ops/v1/${id}/control`, interrupt, ['bridge']],
      ['POST', `/ops/v1/${id}/revoke`, released, ['bridge']],
      ['PUT', `/state/v1/${workspace}/workspace`, {}, ['bridge']],
      ['POST', `/state/v1/${workspace}/free`, {}, ['bridge']],
      ['GET', `/runs/v1/${run}/pin`, undefined, ['bridge', 'worker']],
      ['POST', `/runs/v1/${run}/slot`, {}, ['worker']],
      ['POST', `/runs/v1/${run}/snapshot`, {}, ['worker']],
      ['POST', `/ops/v1/${id}/prepare`, {}, ['worker']],
      ['GET', `/ops/v1/${id}`, undefined, ['bridge', 'worker', 'own']],
      ['GET', `/ops/v1/${id}/state`, undefined, ['worker', 'own']],
      ['GET', `/ops/v1/${id}/artefact/variables`, undefined, ['worker', 'own']],
      ['POST', `/ops/v1/${id}/begin`, {}, ['own']],
      ['POST', `/ops/v1/${id}/sync`, {}, ['own']],
      ['GET', `/state/v1/${workspace}`, undefined, ['worker']],
    ];
    for (const [method, path, body, allowed] of cases) {
      const open: string[] = [];
      for (const [name, ask] of Object.entries(who))
        if ((await reasonOf(ask(method, path, body))) !== 'Forbidden') open.push(name);
      expect([method, path, open]).toEqual([method, path, allowed]);
    }
  });

  it('a pool’s opens the workspaces that name it alone', async () => {
    const pin = { executionMode: 'agent', agentPool: 'north', type: 'plan_only' } as const;
    const pooled = await makeRun(server, randomUUID(), { ...INPUTS, pin });
    const asked = { executionMode: 'agent', hostId: 'h' };
    const path = `/ops/v1/${pooled}-plan-1/prepare`;
    expect(await reasonOf(server.as({ purpose: 'pool', id: 'south' })('POST', path, asked))).toBe(
      'Forbidden',
    );
    expect(await reasonOf(server.as({ purpose: 'pool', id: 'north' })('POST', path, asked))).toBe('done');
    expect(await reasonOf(server.worker('POST', path, { ...asked, executionMode: 'local' }))).toBe(
      'Forbidden',
    );
  });

  it('of an operation is for that alone, and comes from nobody but who prepares it', async () => {
    const { token, operation } = await preparePlan(server, run);
    expect(await reasonOf(server.withToken(token)('GET', `/ops/v1/${operation.id}`))).toBe('done');
    expect(await reasonOf(server.withToken(token)('GET', `/ops/v1/${run}-plan-2`))).toBe('Forbidden');
  });
});

describe('a run', () => {
  it('that nobody has pinned has no operation; what was pinned first counts [T2.6] [T5.1]', async () => {
    const unknown = randomUUID();
    const asked = { executionMode: 'local', hostId: 'h' };
    expect(await reasonOf(server.worker('POST', `/ops/v1/${unknown}-plan-1/prepare`, asked))).toBe(
      'UnknownOperation',
    );
    expect(await reasonOf(server.worker('GET', `/ops/v1/${run}-plan-0`))).toBe('UnknownOperation');
    const pin = await good(server.worker('GET', `/runs/v1/${run}/pin`));
    const changed = await good(server.bridge('PUT', `/runs/v1/${run}/pin`, { ...pin, isDestroy: true }));
    expect(changed).toEqual(pin);
    const bad = await server.bridge('PUT', `/runs/v1/${run}/pin`, { ...pin, type: 'apply', targets: 'x' });
    expect(bad.status).toBe(400);
    expect(bad.body).toMatchObject({ error: { message: expect.stringMatching(/type: .*targets: /) } });
  });

  it('is planned by what was pinned and fetched, the state that there was, and nothing else [T5.1]', async () => {
    const pin = { targets: ['a.b'], replace: ['c.d'], isDestroy: true, workdir: 'env', planTimeoutMs: 5000 };
    const other = await makeRun(server, workspace, { ...INPUTS, pin });
    const { operation, record } = await preparePlan(server, other);
    expect(operation).toEqual({
      ...{
        id: `${other}-plan-1`,
        run: other,
        workspace,
        kind: 'plan',
        workdir: 'env',
        lineage: '',
        serial: 0,
      },
      engine: { name: 'terraform', version: 'latest' },
      inputs: { archive: digestOf('archive'), variables: digestOf('[]') },
      plan: { mode: 'destroy', targets: ['a.b'], replace: ['c.d'] },
      timeoutMs: 5000,
    });
    expect(record.state).toBe('prepared');
    // Bringing other inputs later changes nothing.
    const late = server.worker('PUT', `/runs/v1/${other}/artefact/archive`, Buffer.from('other'));
    expect(await reasonOf(late)).toBe('OtherDigest');
    const snapshot = { archive: digestOf('x'), variables: digestOf('[]') };
    expect(await good(server.worker('POST', `/runs/v1/${other}/snapshot`, snapshot))).toMatchObject({
      archive: digestOf('archive'),
    });
  });

  it('without a snapshot has no operation, and a snapshot needs what it names [T5.1]', async () => {
    const pin = { ...(await good(server.worker('GET', `/runs/v1/${run}/pin`))), run: randomUUID() };
    await good(server.bridge('PUT', `/runs/v1/${pin.run}/pin`, pin));
    const asked = { executionMode: 'local', hostId: 'h' };
    expect(await reasonOf(server.worker('POST', `/ops/v1/${pin.run}-plan-1/prepare`, asked))).toBe(
      'UnknownOperation',
    );
    const snapshot = { archive: digestOf('archive'), variables: digestOf('[]') };
    expect(await reasonOf(server.worker('POST', `/runs/v1/${pin.run}/snapshot`, snapshot))).toBe('NotStored');
  });

  it('is applied by its own plan, once it is permitted: a permit for another plan or engine lets nothing begin [T6.3] [T6.5] [T8.2]', async () => {
    await bringPlan(server, run, PLAN);
    const { planDigest } = await good(server.worker('GET', `/runs/v1/${run}/plan`));
    expect(planDigest).toMatch(/^[0-9a-f]{64}$/);
    const { operation } = await prepareApply(server, run, { isPermitted: false });
    expect(operation).toMatchObject({
      kind: 'apply',
      inputs: { planFile: digestOf('plan') },
      engine: { digest: ENGINE.digest },
    });
    const begin = (engine = ENGINE) =>
      reasonOf(
        ofOperation(operation.id)('POST', `/ops/v1/${operation.id}/begin`, beginOf(operation, engine)),
      );
    expect(await begin()).toBe('NoPermit');
    const forged = { planDigest: 'f'.repeat(64), answers: [] };
    expect(await reasonOf(server.worker('PUT', `/runs/v1/${run}/permit`, forged))).toBe('Forbidden');
    await good(server.bridge('PUT', `/runs/v1/${run}/permit`, { planDigest, answers: ['first'] }));
    expect(await good(server.bridge('PUT', `/runs/v1/${run}/permit`, forged))).toMatchObject({
      answers: ['first'],
    });
    expect(await begin({ ...ENGINE, digest: 'f'.repeat(64) })).toBe('NoPermit');
    expect(await begin()).toBe('done');
    expect(await begin()).toBe('OtherNonce');
  });

  it('with a permit for another plan begins nothing [T6.5]', async () => {
    await bringPlan(server, run, PLAN);
    const { operation } = await prepareApply(server, run, { isPermitted: false });
    await good(server.bridge('PUT', `/runs/v1/${run}/permit`, { planDigest: 'f'.repeat(64), answers: [] }));
    const begin = ofOperation(operation.id)('POST', `/ops/v1/${operation.id}/begin`, beginOf(operation));
    expect(await reasonOf(begin)).toBe('NoPermit');
  });

  it('that only plans has no slot and no apply [T3.2]', async () => {
    const plain = await makeRun(server, workspace, { ...INPUTS, pin: { type: 'plan_only' } });
    expect(await reasonOf(server.worker('POST', `/runs/v1/${plain}/slot`, { turn: 1 }))).toBe('BadRequest');
    await bringPlan(server, plain, PLAN);
    const asked = { executionMode: 'local', hostId: 'host-1' };
    expect(await reasonOf(server.worker('POST', `/ops/v1/${plain}-apply/prepare`, asked))).toBe(
      'UnknownOperation',
    );
  });

  it('gets the providers that the last apply had [T5.1]', async () => {
    const lock = Buffer.from('provider "x" {}');
    const artefacts = new Map([...PLAN.artefacts, ['planLockFile', lock]]);
    await bringPlan(server, run, { ...PLAN, artefacts });
    const { operation } = await prepareApply(server, run);
    await good(ofOperation(operation.id)('POST', `/ops/v1/${operation.id}/begin`, beginOf(operation)));
    const next = await makeRun(server, workspace, INPUTS);
    const { inputs } = (await preparePlan(server, next)).operation;
    expect(inputs.lockFile).toBe(digestOf(lock));
    expect((await server.worker('GET', `/runs/v1/${next}/artefact/lockFile`)).bytes.equals(lock)).toBe(true);
  });
});

describe('an operation', () => {
  it('is made once, whoever asks; a second plan waits for the end of the first and takes its place [T7.1]', async () => {
    const first = await preparePlan(server, run);
    expect(await preparePlan(server, run)).toEqual(first);
    const second = `${run}-plan-2`;
    const asked = { executionMode: 'local', hostId: 'host-1' };
    expect(await reasonOf(server.worker('POST', `/ops/v1/${second}/prepare`, asked))).toBe('Begun');
    const { id } = first.operation;
    const ask = ofOperation(id);
    await good(ask('POST', `/ops/v1/${id}/begin`, beginOf(first.operation)));
    const plan = Buffer.from('plan');
    await good(ask('PUT', `/ops/v1/${id}/artefact/planFile`, plan));
    const proof = { kind: 'noProcess', bootId: 'b' };
    await good(server.worker('POST', `/ops/v1/${id}/revoke`, { kind: 'lost', proof }));
    await prepare(server, second);
    expect(await reasonOf(server.worker('GET', `/runs/v1/${run}/artefact/planFile`))).toBe('NotStored');
    // A runner that was given up writes into nobody's plan.
    expect(await reasonOf(ask('PUT', `/ops/v1/${id}/artefact/planFile`, plan))).toBe('Ended');
  });

  it('writes what a plan writes, each once, with the digest that it says and within its bounds [T1.6] [T6.2]', async () => {
    const { operation } = await preparePlan(server, run);
    const { id } = operation;
    const ask = ofOperation(id);
    const put = (name: string, bytes: Buffer, headers = {}) =>
      reasonOf(ask('PUT', `/ops/v1/${id}/artefact/${name}`, bytes, headers));
    const file = Buffer.from('plan');
    expect(await put('planFile', file)).toBe('Ended');
    await good(ask('POST', `/ops/v1/${id}/begin`, beginOf(operation)));
    expect(await put('planFile', file)).toBe('done');
    expect(await put('planFile', file)).toBe('done');
    expect(await put('planFile', Buffer.from('other'))).toBe('OtherDigest');
    expect(await put('archive', file)).toBe('BadRequest');
    expect(await put('planJson', file, { [DIGEST_HEADER]: 'a'.repeat(64) })).toBe('DigestMismatch');
    expect(await put('planJson', file, { [DIGEST_HEADER]: 'none' })).toBe('BadRequest');
    expect(await put('planLockFile', Buffer.alloc(MAX_LOCK_FILE_BYTES + 1))).toBe('TooLarge');
    const large = Buffer.alloc(MAX_VARIABLES_BYTES + 1);
    expect(await reasonOf(server.worker('PUT', `/runs/v1/${run}/artefact/variables`, large))).toBe(
      'TooLarge',
    );
    const read = await ask('GET', `/ops/v1/${id}/artefact/planFile`);
    expect(read.bytes.toString()).toBe('plan');
    expect(read.headers.get(DIGEST_HEADER)).toBe(digestOf('plan'));
  });

  it('is told of by whole, bounded bodies alone [T1.6]', async () => {
    const { id } = (await preparePlan(server, run)).operation;
    const ask = ofOperation(id);
    const said = (body: unknown) => reasonOf(ask('POST', `/ops/v1/${id}/sync`, body));
    // Each byte six of JSON: what a runner may send at most.
    const text = '\u0001'.repeat(MAX_SYNC_BYTES);
    expect(await said(sync({ log: { out: { offset: 0, text } } }))).toBe('done');
    expect(
      (await server.worker('GET', `/ops/v1/${id}/log/out?offset=${MAX_SYNC_BYTES - 3}`)).bytes,
    ).toHaveLength(3);
    expect(await said(sync({ step: 'dancing' }))).toBe('BadRequest');
    expect(await said('no json')).toBe('BadRequest');
    const result = { ...planned({ operation: id }), diagnostics: ['x'.repeat(MAX_RESULT_BYTES)] };
    expect(await reasonOf(ask('PUT', `/ops/v1/${id}/result`, result))).toBe('TooLarge');
    const foreign = planned({ operation: `${run}-plan-2` });
    expect(await reasonOf(ask('PUT', `/ops/v1/${id}/result`, foreign))).toBe('BadRequest');
  });

  it('is waited for: the answer comes with the change, and at the latest when the time is over [T7.3]', async () => {
    const { id } = (await preparePlan(server, run)).operation;
    const view = async (query = ''): Promise<OperationView> =>
      (await good(server.worker('GET', `/ops/v1/${id}${query}`))) as unknown as OperationView;
    const { revision } = await view();
    const waited = view(`?after=${revision}&wait=30`);
    await good(ofOperation(id)('POST', `/ops/v1/${id}/sync`, sync()));
    expect(await waited).toMatchObject({ step: 'planning', revision: revision + 1 });
    const began = Date.now();
    expect(await view(`?after=${revision + 1}&wait=1`)).toMatchObject({ revision: revision + 1 });
    expect(Date.now() - began).toBeGreaterThanOrEqual(900);
    expect(await reasonOf(server.worker('GET', `/ops/v1/${id}?wait=3600`))).toBe('BadRequest');
  });
});
