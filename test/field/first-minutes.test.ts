/** What a new user meets when something is not as it should be: in words, once, and with nothing left behind. */
import { spawn } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { status } from '../../local/index.js';
import { isAlive } from '../../local/state.js';
import type { ProcessRecord } from '../../local/state.js';
import { kill, mend } from '../support/parts.js';
import { startRecorder } from '../support/recorder.js';
import type { Recorder } from '../support/recorder.js';
import { servers } from '../support/servers.js';
import { http, openStack, poll } from '../support/stack.js';
import type { Stack } from '../support/stack.js';

let stack: Stack;
let recorder: Recorder;
beforeAll(async () => {
  [stack, recorder] = await Promise.all([openStack('first'), startRecorder()]);
  await stack.simplePlan('plain', [http('a', `${recorder.url}/{{ .params.target }}`)], {
    workflow: { parameters: [{ name: 'target', default: 'b' }] },
    plan: { serviceAccountName: 'nobody-made-it' },
  });
});
afterAll(async () => {
  await recorder.close();
  await stack.close();
});

interface Ended {
  code: number | null;
  err: string;
}

/** @param onText is given all of standard error whenever there is more of it */
function drover(
  args: string[],
  onText: (text: string, interrupt: () => void) => void = () => undefined,
): Promise<Ended> {
  const child = spawn(process.execPath, ['bin/drover.js', ...args], {
    stdio: ['ignore', 'ignore', 'pipe'],
    env: { ...process.env, NO_COLOR: '1', KUBECONFIG: undefined },
  });
  let err = '';
  child.stderr.on('data', (chunk: Buffer) => {
    err += chunk.toString();
    onText(err, () => child.kill('SIGINT'));
  });
  return new Promise((resolve) => child.once('close', (code) => resolve({ code, err })));
}
const here = (...args: string[]): Promise<Ended> =>
  drover([...args, '--data-dir', servers.dataDir, '-n', stack.namespace]);

describe('Ctrl-C in the middle of "up"', () => {
  it('stops what was started, says so, and leaves nothing running [F24]', async () => {
    const dataDir = await mkdtemp(join(tmpdir(), 'drover-interrupted-'));
    try {
      let started: ProcessRecord[] = [];
      let interrupted = false;
      const ended = await drover(['up', '--ephemeral', '--data-dir', dataDir], (text, interrupt) => {
        if (interrupted || !text.includes('starting apiserver')) return;
        interrupted = true;
        void readFile(join(dataDir, 'state.json'), 'utf8').then((state) => {
          const { processes } = JSON.parse(state) as { processes: Record<string, ProcessRecord> };
          started = Object.values(processes);
          interrupt();
        });
      });
      expect(ended.code).toBe(130);
      expect(ended.err).toMatch(/interrupted: stopping what was started/);
      expect(ended.err).toMatch(/what it had started is stopped again: .*etcd/);
      expect(started.length).toBeGreaterThan(0);
      // One that has ended has its number until the system has taken note of it.
      const alive = () => Promise.all(started.map((record) => isAlive(record)));
      expect(await poll(alive, (states) => !states.includes(true), 5000)).not.toContain(true);
      expect(await status({ dataDir })).toMatchObject({ summary: 'down', processes: [] });
    } finally {
      await rm(dataDir, { recursive: true, force: true });
    }
  });
});

describe('"run"', () => {
  afterEach(mend);

  it('names a misspelt parameter and a missing account before it asks [F24] [S2.5]', async () => {
    const { code, err } = await here('run', 'plain', '-p', 'targe=c');
    // Nobody can be asked here.
    expect(code).toBe(4);
    expect(err).toContain('nothing reads parameter "targe"; did you mean "target"?');
    expect(err).toMatch(/ServiceAccount "nobody-made-it", which the plan acts as, does not exist/);
  });

  it(
    'need not be the first to name it: "validate --cluster" does, unless the files bring it [F24]',
    { tags: ['nightly'] },
    async () => {
      const folder = await mkdtemp(join(tmpdir(), 'drover-files-'));
      try {
        const plan = {
          apiVersion: 'dr.bkbcs.tencent.com/v1alpha1',
          kind: 'DRPlan',
          metadata: { name: 'p' },
          spec: {
            serviceAccountName: 'nobody-made-it',
            stages: [{ name: 's', workflows: [{ workflowRef: { name: 'plain' } }] }],
          },
        };
        await writeFile(join(folder, 'plan.json'), JSON.stringify(plan));
        const alone = await here('validate', folder, '--cluster');
        expect(alone).toMatchObject({ code: 0 });
        expect(alone.err).toContain('0 errors, 1 warning');
        const account = { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'nobody-made-it' } };
        await writeFile(join(folder, 'account.json'), JSON.stringify(account));
        expect((await here('validate', folder, '--cluster')).err).toContain('0 errors, 0 warnings');
      } finally {
        await rm(folder, { recursive: true, force: true });
      }
    },
  );

  it('says that the bridge is away, in words [F24]', async () => {
    await kill('bridge');
    const { code, err } = await here('run', 'plain', '--yes');
    expect(code).toBe(3);
    expect(err).toMatch(/error: the bridge does not answer/);
    expect(err).toMatch(/drover up" starts again what has died/);
  });
});
