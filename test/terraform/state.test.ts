/** States for people: the engine's own backend `http` against the server, with tokens of a real cluster (T9.2). */
import { execFile } from 'node:child_process';
import { createHash, randomUUID } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { reviewCaller } from '../../kube/caller.js';
import type { KubeClient } from '../../kube/client.js';
import { loadKubeConfig } from '../../kube/config.js';
import { createKubeClient } from '../../kube/kubeconfig-client.js';
import { reviewPersonBy } from '../../server/auth/callers.js';
import { unique } from '../support/stack.js';
import { servers } from '../support/servers.js';
import { good, startOwnServer, type Ask, type OwnServer } from './support/own-server.js';
import { terraformHere } from './support/rig.js';
import { makeRun, takeSlot } from './support/runs.js';

const RBAC = 'rbac.authorization.k8s.io';
let folder: string;
let kube: KubeClient;
let server: OwnServer;
let namespace: string;
/** People with tokens: who may all, and who may not unlock; who may nothing. */
let operator: string;
let planner: string;
let stranger: string;
let workspace: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'drover-states-'));
  kube = createKubeClient(loadKubeConfig({ file: servers.kubeconfig }));
  namespace = unique('iac');
  await kube.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } });
  const state = { apiGroups: ['iac.drover.dev'], resources: ['workspaces/state'], verbs: ['get', 'update'] };
  const unlock = { apiGroups: ['iac.drover.dev'], resources: ['workspaces'], verbs: ['unlock'] };
  operator = await tokenOf('operator', [state, unlock]);
  planner = await tokenOf('planner', [state]);
  stranger = await tokenOf('stranger', []);
  server = await startOwnServer({
    folder,
    reviewPerson: reviewPersonBy((token, options) => reviewCaller(kube, token, options)),
  });
});
afterAll(async () => {
  await server.close();
  await rm(folder, { recursive: true, force: true });
});
beforeEach(async () => {
  workspace = randomUUID();
  await good(server.bridge('PUT', `/state/v1/${workspace}/workspace`, { namespace, name: 'network' }));
});

/** A service account with rights on the workspace `network`, and a token of it. */
async function tokenOf(name: string, rules: object[], audience = 'drover-server'): Promise<string> {
  const metadata = { name, namespace };
  await kube.create({ apiVersion: 'v1', kind: 'ServiceAccount', metadata });
  await kube.create({
    ...{ apiVersion: `${RBAC}/v1`, kind: 'Role', metadata },
    rules: rules.map((rule) => ({ ...rule, resourceNames: ['network'] })),
  });
  await kube.create({
    ...{ apiVersion: `${RBAC}/v1`, kind: 'RoleBinding', metadata },
    roleRef: { apiGroup: RBAC, kind: 'Role', name },
    subjects: [{ kind: 'ServiceAccount', name, namespace }],
  });
  return freshToken(name, audience);
}

async function freshToken(account: string, audience?: string): Promise<string> {
  const { status } = await kube.raw<{ status: { token: string } }>({
    method: 'POST',
    path: `/api/v1/namespaces/${namespace}/serviceaccounts/${account}/token`,
    body: {
      apiVersion: 'authentication.k8s.io/v1',
      kind: 'TokenRequest',
      spec: audience === undefined ? {} : { audiences: [audience] },
    },
  });
  return status.token;
}

/** The engine in a folder of its own, with a workspace as its backend. */
async function engineHere(text: string, token = operator) {
  const { path } = await terraformHere();
  const work = await mkdtemp(join(folder, 'work-'));
  const address = `${server.url}/state/v1/${workspace}`;
  await writeFile(
    join(work, 'backend.tf'),
    `terraform {\n  backend "http" {\n    address = "${address}"\n    lock_address = "${address}"\n    unlock_address = "${address}"\n    retry_max = 0\n  }\n}\n`,
  );
  await writeFile(join(work, 'main.tf'), text);
  const run = (...args: string[]): Promise<{ code: number; out: string }> =>
    new Promise((resolve) => {
      const env = {
        ...{
          PATH: process.env.PATH,
          HOME: work,
          TF_IN_AUTOMATION: '1',
          TF_INPUT: '0',
          CHECKPOINT_DISABLE: '1',
        },
        ...{ TF_HTTP_USERNAME: 'drover', TF_HTTP_PASSWORD: token },
      };
      execFile(path, args, { cwd: work, env }, (error, stdout, stderr) => {
        resolve({ code: error === null ? 0 : Number(error.code ?? 1), out: stdout + stderr });
      });
    });
  const { code, out } = await run('init', '-no-color');
  if (code !== 0) throw new Error(out);
  return { run, work };
}

const DATA = (name: string, input: string): string =>
  `resource "terraform_data" "${name}" {\n  input = ${input}\n}\n`;

const person = (token = operator): Ask => {
  const ask = server.withToken(token);
  return (method, path, body, headers) => ask(method, `/state/v1/${workspace}${path}`, body, headers);
};
const stateText = (serial: number, more: object = {}): string =>
  JSON.stringify({
    ...{ version: 4, terraform_version: '1.11.4', serial, lineage: 'l', outputs: {}, resources: [] },
    ...more,
  });
/** Stores a state as an engine does. */
async function post(text: string, id: string): Promise<{ status: number; body: Record<string, unknown> }> {
  const response = await fetch(`${server.url}/state/v1/${workspace}?ID=${id}`, {
    method: 'POST',
    headers: {
      authorization: `Basic ${Buffer.from(`x:${operator}`).toString('base64')}`,
      'content-md5': createHash('md5').update(text).digest('base64'),
    },
    body: text,
  });
  return { status: response.status, body: (await response.json()) as Record<string, unknown> };
}

describe('the engine of a person [T9.2]', () => {
  it('plans, applies, edits and destroys against the server, each state a version', async () => {
    const { run } = await engineHere(DATA('big', '9007199254740993') + DATA('b', '1'));
    expect(await run('apply', '-auto-approve', '-no-color')).toMatchObject({
      code: 0,
      out: expect.stringContaining('2 added'),
    });
    expect(await run('plan', '-detailed-exitcode')).toMatchObject({ code: 0 });
    expect((await run('state', 'rm', 'terraform_data.b')).code).toBe(0);
    expect((await run('state', 'list')).out.trim()).toBe('terraform_data.big');
    const { bytes } = await person()('GET', '');
    expect(bytes.toString('utf8')).toContain('9007199254740993');
    const { versions } = (await good(person()('GET', '/versions'))) as {
      versions: { kind: string; serial: number; resourceCount: number; by: { user: string } }[];
    };
    expect(versions.every(({ kind }) => kind === 'final')).toBe(true);
    expect(versions.at(-1)).toMatchObject({
      resourceCount: 1,
      by: { user: `system:serviceaccount:${namespace}:operator` },
    });
    expect((await run('apply', '-destroy', '-auto-approve')).code).toBe(0);
    expect((await server.store.slots.slot(workspace)).held).toBeUndefined();
  });

  it('waits for a lock in vain and is told who has it; force-unlock gives it free, but a run’s never', async () => {
    const { run } = await engineHere(DATA('a', '1'));
    await good(person()('LOCK', '', { ID: 'mine', Who: 'me', Operation: 'thinking' }));
    const waited = await run('plan', '-no-color');
    expect(waited.code).toBe(1);
    // The engine passes on no more than the id; who asks the server is told the rest.
    expect(waited.out).toContain('ID=mine');
    expect((await person()('LOCK', '', { ID: 'other' })).body).toMatchObject({
      ...{ ID: 'mine', Operation: 'thinking', Who: `system:serviceaccount:${namespace}:operator` },
    });
    expect((await run('force-unlock', '-force', 'mine')).code).toBe(0);
    expect((await run('apply', '-auto-approve')).code).toBe(0);

    const holder = await makeRun(server, workspace, {
      archive: Buffer.from('a'),
      variables: Buffer.from('[]'),
      pin: { namespace, workspaceName: 'network' },
    });
    await takeSlot(server, holder);
    const held = await run('plan', '-no-color');
    expect(held.out).toContain(`ID=${holder}`);
    expect((await run('force-unlock', '-force', holder)).code).toBe(1);
    expect((await server.store.slots.slot(workspace)).held).toMatchObject({ kind: 'run', holder });
  });

  it('keeps its state in a file while the server is in trouble, and pushes it later', async () => {
    const { run, work } = await engineHere(DATA('a', '1'));
    await run('apply', '-auto-approve');
    await writeFile(join(work, 'main.tf'), DATA('a', '2'));
    // Somebody takes its lock away while it works.
    await writeFile(
      join(work, 'slow.tf'),
      'resource "terraform_data" "slow" {\n  provisioner "local-exec" {\n    command = "touch started; sleep 3"\n  }\n}\n',
    );
    const applying = run('apply', '-auto-approve', '-no-color');
    for (let n = 0; n < 600 && !(await there(join(work, 'started'))); n += 1) await tick();
    await good(person()('UNLOCK', ''));
    expect((await applying).code).toBe(1);
    expect(await there(join(work, 'errored.tfstate'))).toBe(true);
    expect((await run('state', 'push', 'errored.tfstate')).code).toBe(0);
    expect((await run('state', 'list')).out).toContain('terraform_data.slow');
  });
});

const there = (path: string): Promise<boolean> =>
  readFile(path).then(
    () => true,
    () => false,
  );
const tick = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 20));

describe('who may do what [T2.1] [T9.2]', () => {
  it('a token for another audience, or of somebody without the right, opens nothing', async () => {
    const asked = async (token: string): Promise<number> => (await person(token)('GET', '')).status;
    expect(await asked(await freshToken('operator'))).toBe(401);
    expect(await asked(await freshToken('operator', 'somebody-else'))).toBe(401);
    expect(await asked('no.token.at-all')).toBe(401);
    expect(await asked(stranger)).toBe(403);
    expect(await asked(planner)).toBe(204);
  });

  it('a right on one workspace is none on another, whatever uid is asked for', async () => {
    const foreign = randomUUID();
    await good(server.bridge('PUT', `/state/v1/${foreign}/workspace`, { namespace, name: 'database' }));
    const ask = server.withToken(operator);
    expect((await ask('GET', `/state/v1/${foreign}`)).status).toBe(403);
    expect((await ask('GET', `/state/v1/${randomUUID()}`)).status).toBe(404);
    expect((await ask('PUT', `/state/v1/${foreign}/workspace`, { namespace, name: 'network' })).status).toBe(
      403,
    );
  });

  it('nobody deletes a state, and no server token stores one here', async () => {
    expect((await person()('DELETE', '')).status).toBe(405);
    for (const ask of [server.bridge, server.worker])
      expect((await ask('POST', `/state/v1/${workspace}?ID=x`, {})).status).toBe(403);
  });

  it('only who may unlock forces a lock, and takes over a recovery to mend its state', async () => {
    await good(person()('LOCK', '', { ID: 'mine' }));
    expect((await person(planner)('UNLOCK', '')).status).toBe(403);
    expect((await person(planner)('UNLOCK', '', { ID: 'other' })).status).toBe(409);
    await good(person()('UNLOCK', ''));
    const { slots } = server.store;
    const run = randomUUID();
    const { turn } = await slots.slot(workspace);
    await slots.grant(workspace, { run, turn, reconcile: false });
    await slots.release(workspace, { run, turn: turn + 1, to: { kind: 'recovery', reason: 'RunnerLost' } });
    expect((await person(planner)('LOCK', '', { ID: 'p' })).body).toMatchObject({
      Operation: 'recovery',
      Info: 'RunnerLost',
    });
    await good(person()('LOCK', '', { ID: 'o' }));
    expect((await post(stateText(1), 'o')).status).toBe(200);
    await good(person()('UNLOCK', '', { ID: 'o' }));
    expect((await slots.slot(workspace)).held).toMatchObject({ kind: 'recovery', holder: run });
  });

  it('a locked workspace gives no lock, and says why [T3.2]', async () => {
    const facts = { namespace, name: 'network', locked: { reason: 'moving house' } };
    await good(server.bridge('PUT', `/state/v1/${workspace}/workspace`, facts));
    const { status, body } = await person()('LOCK', '', { ID: 'mine' });
    expect(status).toBe(423);
    expect(body).toMatchObject({ Info: 'moving house' });
  });
});

describe('what is stored [T9.2] [T8.5]', () => {
  beforeEach(async () => {
    await good(person()('LOCK', '', { ID: 'mine' }));
  });

  it('is whole, has its digest, and comes under the lock with a higher serial or equal bytes', async () => {
    expect((await post(stateText(1), 'mine')).status).toBe(200);
    expect((await post(stateText(1), 'mine')).status).toBe(200);
    const refused = async (text: string, id = 'mine'): Promise<[number, unknown]> => {
      const { status, body } = await post(text, id);
      return [status, (body.error as { reason: string }).reason];
    };
    expect(await refused(stateText(1, { check_results: [] }))).toEqual([409, 'StateRefused']);
    expect(await refused(stateText(0))).toEqual([409, 'StateRefused']);
    expect(await refused(stateText(2, { lineage: 'other' }))).toEqual([409, 'StateRefused']);
    expect(await refused(stateText(2), 'yours')).toEqual([409, 'NotHolder']);
    expect(await refused('')).toEqual([409, 'StateRefused']);
    expect(await refused(stateText(2).slice(0, -1))).toEqual([409, 'StateRefused']);
    expect(await refused('{"version": 5}')).toEqual([409, 'StateRefused']);
    const wrong = await person()('POST', '?ID=mine', { a: 1 }, { 'content-md5': 'bm90IGl0' });
    expect(wrong.body).toMatchObject({ error: { message: expect.stringContaining('Content-MD5') } });
    expect(await server.store.versions.list(workspace)).toHaveLength(1);
  });

  it('a rollback is the old bytes with other digits of the serial, and nothing else [T9.3]', async () => {
    // Spaces, an order and a number that no JSON library would leave as they are.
    const old = `{"version": 4, "serial":   9 ,"lineage":"l","terraform_version":"1.11.4","outputs":{"n":{"value":9007199254740993.10,"type":"number"}}, "resources":[]}\n`;
    await post(old, 'mine');
    await post(stateText(99), 'mine');
    const [first] = await server.store.versions.list(workspace);
    const back = await good(person()('POST', `/rollback?version=${first!.n}&ID=mine`));
    expect(back).toMatchObject({ serial: 100, rollbackOf: first!.n, kind: 'final' });
    const { bytes } = await person()('GET', '');
    expect(bytes.toString('utf8')).toBe(old.replace('   9 ,', '   100 ,'));
    expect((await person()('POST', `/rollback?version=${first!.n}&ID=other`)).status).toBe(409);
    expect((await person()('POST', '/rollback?version=12345&ID=mine')).status).toBe(404);
    const whole = await person()('GET', `/versions/${first!.n}`);
    expect(whole.bytes.toString('utf8')).toBe(old);
  });
});
