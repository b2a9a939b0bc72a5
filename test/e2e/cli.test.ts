/** The command line as a person or a script uses it: its own process, its exit codes, its output. */
import { spawn } from 'node:child_process';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { DRPlanExecution } from '../../api/plan/types.js';
import { startRecorder } from '../support/recorder.js';
import type { Recorder } from '../support/recorder.js';
import { servers } from '../support/servers.js';
import { http, openStack, poll } from '../support/stack.js';
import type { Stack } from '../support/stack.js';

let stack: Stack;
let recorder: Recorder;
beforeAll(async () => {
  [stack, recorder] = await Promise.all([openStack('cli'), startRecorder()]);
  await stack.simplePlan('good', [
    http('a', `${recorder.url}/good`, { rollback: { http: { url: `${recorder.url}/good-undo` } } }),
  ]);
  await stack.simplePlan('bad', [http('a', `${recorder.url}/bad?status=400`)]);
  await stack.simplePlan('slow', [http('a', `${recorder.url}/slow?delay=20000`)]);
});
afterAll(async () => {
  await recorder.close();
  await stack.close();
});

interface Ended {
  code: number | null;
  out: string;
  err: string;
}

function drover(...args: string[]): { ended: Promise<Ended>; interrupt: () => void } {
  const child = spawn(process.execPath, ['bin/drover.js', ...args, '--data-dir', servers.dataDir], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, NO_COLOR: '1', KUBECONFIG: '/nowhere' },
  });
  const chunks = { out: '', err: '' };
  child.stdout.on('data', (chunk: Buffer) => (chunks.out += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => (chunks.err += chunk.toString()));
  return {
    ended: new Promise((resolve) => child.once('close', (code) => resolve({ code, ...chunks }))),
    interrupt: () => child.kill('SIGINT'),
  };
}
const inNamespace = (...args: string[]): string[] => [...args, '-n', stack.namespace];

describe('drover', () => {
  it('[F23] does what its help shows, and what "up" says to do next: from nothing to a run, and back', async () => {
    const { out } = await drover('--help').ended;
    const lines = out
      .slice(out.indexOf('Examples:'))
      .split('\n')
      .flatMap((line) => /^ +(?:npx |\S*\/)?drover (.*)$/.exec(line)?.[1] ?? [])
      // It is up.
      .filter((line) => line !== 'up');
    expect(lines.map((line) => line.split(' ')[0])).toEqual(['kubectl', 'run', 'describe', 'revert']);
    let execution = '';
    for (const line of lines) {
      const words = line.replace('hello-x7k2p', execution).split(' ');
      const asks = ['run', 'revert'].includes(words[0] ?? '');
      const ended = await drover(...inNamespace(...words, ...(asks ? ['--yes'] : []))).ended;
      expect(ended.code, `${line}: ${ended.err}`).toBe(0);
      if (words[0] === 'describe') expect(ended.out).toMatch(/Succeeded[^]*say-hello/);
      execution = /\bhello-[a-z0-9]{5}\b/.exec(ended.out + ended.err)?.[0] ?? execution;
      if (words[0] === 'kubectl') {
        await poll(
          () => stack.getPlan('hello'),
          (plan) => plan.status?.phase === 'Ready',
        );
      }
    }
    const hello = { apiVersion: 'v1', kind: 'ConfigMap', namespace: stack.namespace, name: 'hello' };
    expect(await stack.kube.get(hello)).toBeUndefined();
  });

  it('shows which stages could run together [S4.4]', async () => {
    const stage = (name: string, ...dependsOn: string[]) => ({
      name,
      dependsOn,
      workflows: [{ workflowRef: { name: 'good' } }],
    });
    await stack.plan('graph', { stages: [stage('base'), stage('left', 'base'), stage('right', 'base')] });
    const { out, err } = await drover(...inNamespace('describe', 'plan/graph')).ended;
    expect(err).toBe('');
    expect(out).toMatch(/left \+ right.*maxConcurrentStages is 1/);
  });

  it('watches with exit code 0 for Succeeded, 1 for Failed, 2 for Cancelled, and reverts', async () => {
    const good = await drover(...inNamespace('run', 'good', '--watch', '--yes', '--name', 'good-1')).ended;
    expect(good.code).toBe(0);
    expect((await drover(...inNamespace('run', 'bad', '--watch', '--yes')).ended).code).toBe(1);
    const slow = drover(...inNamespace('run', 'slow', '--watch', '--yes', '--name', 'slow-1'));
    await poll(
      () => Promise.resolve(recorder.of('/slow').length),
      (count) => count > 0,
    );
    const cancelled = await drover(...inNamespace('cancel', 'slow-1', '--reason', 'test is over', '--yes'))
      .ended;
    expect(cancelled.code, cancelled.err).toBe(0);
    expect((await slow.ended).code).toBe(2);
    const again = await drover(...inNamespace('run', 'good', '--yes', '-p', 'site=b', '-p', "note=it's on"))
      .ended;
    expect(again.code).toBe(3);
    expect(again.err).toContain(`run good --rerun -p site=b -p 'note=it'\\''s on' -n ${stack.namespace}`);
    const revert = await drover(...inNamespace('revert', 'good-1', '--watch', '--yes')).ended;
    expect(revert.code, revert.err).toBe(0);
    expect(recorder.of('/good-undo')).toHaveLength(1);
  });

  it('detaches on Ctrl-C, leaves the run alone and says how to come back', async () => {
    const run = drover(...inNamespace('run', 'slow', '--watch', '--yes', '--name', 'slow-2', '--rerun'));
    await poll(
      () => Promise.resolve(recorder.of('/slow').length),
      (count) => count > 1,
    );
    run.interrupt();
    const ended = await run.ended;
    expect(ended.code).toBe(130);
    expect(ended.out + ended.err).toMatch(/watch slow-2/);
    const { items } = await stack.kube.list<DRPlanExecution>(
      { apiVersion: 'dr.bkbcs.tencent.com/v1alpha1', kind: 'DRPlanExecution' },
      { namespace: stack.namespace },
    );
    const still = items.find((item) => item.metadata.name === 'slow-2');
    expect(still?.status?.phase).toBe('Running');
    await drover(...inNamespace('cancel', 'slow-2', '--yes')).ended;
    if (still !== undefined) await stack.ended(still);
  });

  it('refuses to change anything without a person or --yes, and names near plans', async () => {
    const asked = await drover(...inNamespace('run', 'good')).ended;
    expect(asked.code).not.toBe(0);
    expect(asked.err).toMatch(/--yes/);
    const near = await drover(...inNamespace('run', 'goood', '--yes')).ended;
    expect(near.code).not.toBe(0);
    expect(near.err).toMatch(/"?good"?/);
  });
});
