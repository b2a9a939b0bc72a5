/**
 * The embedded default, on a data dir of its own beside the one all other tests use: durable, so that what
 * was written survives the death of every process.
 */
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { doctor, down, status, supervise, up, type UpOptions, type UpResult } from '../../local/index.js';
import { servers } from '../support/servers.js';

const run = promisify(execFile);
const health = `const http = require('node:http');
http.createServer((_, response) => response.end('ok')).listen(process.env.DROVER_HEALTH_PORT, '127.0.0.1');
console.log('kubeconfig', process.env.DROVER_KUBECONFIG, 'loopback', process.env.DROVER_EGRESS_ALLOW_LOOPBACK);`;

let options: UpOptions;
let result: UpResult;
const notices: string[] = [];

beforeAll(async () => {
  options = {
    dataDir: await mkdtemp(join(tmpdir(), 'drover-embedded-')),
    crdDir: 'deploy/crds',
    worker: { command: process.execPath, args: ['-e', health] },
    env: { ...process.env, KUBECONFIG: '/somewhere/else' },
    progress: (event) => {
      if (event.kind === 'notice') notices.push(event.message);
    },
  };
  result = await up(options);
});
afterAll(async () => {
  await down(options);
  await rm(options.dataDir, { recursive: true, force: true });
});

async function kubectl(...args: string[]): Promise<string> {
  const { stdout } = await run(result.kubectl!, ['--kubeconfig', result.kubeconfig, ...args]);
  return stdout.trim();
}

function job(name: string, annotations: Record<string, string>, spec: object = {}): object {
  const container = { name: 'main', image: 'example.invalid/none' };
  return {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: { name },
    spec: {
      backoffLimit: 0,
      ...spec,
      template: { metadata: { annotations }, spec: { restartPolicy: 'Never', containers: [container] } },
    },
  };
}

function exists(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

async function create(object: object): Promise<void> {
  const child = run(result.kubectl!, ['--kubeconfig', result.kubeconfig, 'create', '-f', '-']);
  child.child.stdin?.end(JSON.stringify(object));
  await child;
}

describe('up', () => {
  it('ran beside another data dir, on ports of its own', () => {
    const other = servers.endpoints;
    expect(result.endpoints.kubernetes).not.toBe(other.kubernetes);
    expect(result.endpoints.temporal).not.toBe(other.temporal);
  });

  it('wrote down where everything is', async () => {
    const written: unknown = JSON.parse(await readFile(join(options.dataDir, 'endpoints.json'), 'utf8'));
    expect(written).toEqual(result.endpoints);
    expect(result.endpoints.pids.bridge).toBeNull();
    expect(result.endpoints.pids.worker).toBeTypeOf('number');
  });

  it('reported the KUBECONFIG it ignores', () => {
    expect(notices.join()).toContain('KUBECONFIG=/somewhere/else is ignored');
  });

  it('runs Jobs to the end their annotations say', { tags: ['nightly'] }, async () => {
    await create(job('good', { 'sim.drover.dev/duration': '500ms', 'sim.drover.dev/message': 'all "well"' }));
    await create(job('bad', { 'sim.drover.dev/exit-code': '3' }));
    await create(job('stuck', { 'sim.drover.dev/hang': '1' }, { activeDeadlineSeconds: 2 }));
    await kubectl('wait', '--for=condition=Complete', 'job/good', '--timeout=30s');
    await kubectl('wait', '--for=condition=Failed', 'job/bad', 'job/stuck', '--timeout=30s');
    const why = '{.status.conditions[?(@.type=="Failed")].reason}';
    expect(await kubectl('get', 'job', 'bad', '-o', `jsonpath=${why}`)).toBe('BackoffLimitExceeded');
    expect(await kubectl('get', 'job', 'stuck', '-o', `jsonpath=${why}`)).toBe('DeadlineExceeded');
    const path = 'jsonpath={.items[0].status.containerStatuses[0].state.terminated.message}';
    expect(await kubectl('get', 'pods', '-l', 'job-name=good', '-o', path)).toBe('all "well"');
  });

  it('changes nothing when all is up', async () => {
    const again = await up(options);
    expect(again.started).toEqual([]);
    expect(again.endpoints).toEqual(result.endpoints);
  });

  it('refuses to turn what is up into something else', async () => {
    await expect(up({ ...options, ephemeral: true })).rejects.toThrow(/ephemeral, was asked for|drover down/);
  });
});

describe('after kill -9', () => {
  async function healsAlone(name: keyof UpResult['endpoints']['pids']): Promise<void> {
    process.kill(result.endpoints.pids[name]!, 'SIGKILL');
    await expect.poll(async () => (await status(options)).summary).toBe('degraded');
    const findings = await doctor(options);
    expect(findings.filter((f) => f.level === 'problem').map((f) => f.subject)).toContain(name);
    const healed = await up(options);
    expect(healed.started).toEqual([name]);
    expect(healed.endpoints).toEqual({
      ...result.endpoints,
      pids: { ...result.endpoints.pids, [name]: healed.endpoints.pids[name] },
    });
    result = healed;
    expect((await status(options)).summary).toBe('up');
  }
  it.each(['apiserver', 'worker'] as const)(
    '[F4] of %s, status says so, and up starts just that one again, on the same ports',
    healsAlone,
  );
  it.each(['etcd', 'controllerManager', 'scheduler', 'kwok', 'clusternet', 'temporal'] as const)(
    '[F4] of %s, status says so, and up starts just that one again, on the same ports',
    { tags: ['nightly'] },
    healsAlone,
  );

  it('of the worker, supervise starts it again by itself', { tags: ['nightly'] }, async () => {
    const controller = new AbortController();
    const watching = supervise({ ...options, signal: controller.signal, everyMs: 100 });
    const before = result.endpoints.pids.worker!;
    process.kill(before, 'SIGKILL');
    const worker = async (): Promise<number | undefined> =>
      (await status(options)).endpoints?.pids.worker ?? undefined;
    await expect.poll(worker, { timeout: 60_000 }).not.toBe(before);
    expect((await status(options)).summary).toBe('up');
    controller.abort();
    expect(await watching).toBe('aborted');
    result = await up(options);
    expect(result.started).toEqual([]);
    expect(result.endpoints.pids.worker).not.toBe(before);
  });

  it('of everything, the data is still there', { tags: ['nightly'] }, async () => {
    await kubectl('create', 'configmap', 'precious', '--from-literal=a=b');
    for (const pid of Object.values(result.endpoints.pids)) if (pid !== null) process.kill(pid, 'SIGKILL');
    result = await up(options);
    expect(result.started).toHaveLength(8);
    expect(await kubectl('get', 'configmap', 'precious', '-o', 'jsonpath={.data.a}')).toBe('b');
    await create(job('afterwards', {}));
    // Once this took longer than 30 s for a reason not found; the error shows what the cluster looked like.
    const done = kubectl('wait', '--for=condition=Complete', 'job/afterwards', '--timeout=90s');
    await done.catch(async (error: unknown) => {
      const state = await kubectl('get', 'nodes,pods,leases', '--all-namespaces', '-o', 'yaml');
      throw new Error(`the Job did not end; the cluster:\n${state}`, { cause: error });
    });
  });
});

describe('down', () => {
  it(
    'ends every process, keeps the data, and leaves the other data dir alone',
    { tags: ['nightly'] },
    async () => {
      const pids = Object.values(result.endpoints.pids).filter((pid) => pid !== null);
      const { processes } = await down(options);
      expect(Object.values(processes)).toEqual(Array(8).fill('stopped'));
      // Ended ones stay visible until this process, their parent, has been told.
      await expect.poll(() => pids.filter(exists)).toEqual([]);
      expect(existsSync(join(options.dataDir, 'endpoints.json'))).toBe(false);
      expect((await status(options)).summary).toBe('down');
      expect((await status({ dataDir: servers.dataDir })).summary).toBe('up');
      result = await up(options);
      expect(await kubectl('get', 'configmap', 'precious', '-o', 'jsonpath={.data.a}')).toBe('b');
    },
  );
});
