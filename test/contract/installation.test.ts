/** What kubectl, Prometheus and Temporal show, and what happens without a worker (S1.7, S1.10, S5.54, S5.50, S6.4). */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { Connection } from '@temporalio/client';
import { pino } from 'pino';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { connectTemporal } from '../../crd-bridge/temporal.js';
import { readEndpoints } from '../../local/endpoints.js';
import { dataPaths } from '../../local/paths.js';
import { NO_TRACING } from '../../runtime/tracing/tracing.js';
import { startReplica } from '../bridge/replica.js';
import { heal, mend } from '../support/parts.js';
import { startRecorder } from '../support/recorder.js';
import type { Recorder } from '../support/recorder.js';
import { servers } from '../support/servers.js';
import { actionAt, condition, http, openStack, poll, unique } from '../support/stack.js';
import type { Stack } from '../support/stack.js';
import { expectWhole } from './whole.js';

const exec = promisify(execFile);
let stack: Stack;
let recorder: Recorder;
beforeAll(async () => {
  [stack, recorder] = await Promise.all([openStack('inst'), startRecorder()]);
});
afterAll(async () => {
  await recorder.close();
  await stack.close();
});

const kubectl = async (...args: string[]): Promise<string> => {
  const { stdout } = await exec(process.execPath, [
    'bin/drover.js',
    'kubectl',
    ...args,
    '--data-dir',
    servers.dataDir,
  ]);
  return stdout;
};
const workerPid = async (): Promise<number> => {
  const pid = (await readEndpoints(dataPaths(servers.dataDir).endpoints))?.pids.worker;
  if (pid === null || pid === undefined) throw new Error('no worker runs');
  return pid;
};

describe('kubectl', () => {
  it('installs the definitions with a plain apply, and shows and explains the kinds [S1.1] [S1.7]', async () => {
    expect(await kubectl('apply', '-f', 'deploy/crds')).toMatch(
      /(drplans\S* (configured|unchanged|created)[\s\S]*)/,
    );
    await stack.simplePlan('shown', [http('a', `${recorder.url}/shown`)]);
    const ended = await stack.ended(await stack.execute('shown'));
    const [plans, executions, workflows, all, explained] = await Promise.all([
      kubectl('get', 'drp', '-n', stack.namespace),
      kubectl('get', 'drpx', '-n', stack.namespace),
      kubectl('get', 'drwf', '-n', stack.namespace),
      kubectl('get', 'dr', '-n', stack.namespace, '-o', 'name'),
      kubectl('explain', 'drplan.spec.stages.failurePolicy'),
    ]);
    expect(plans).toMatch(/^NAME.*(PHASE|READY)/m);
    expect(plans).toMatch(/^shown .*Executed/m);
    expect(executions).toMatch(new RegExp(`^${ended.metadata.name} +shown +Execute +Succeeded`, 'm'));
    expect(workflows).toMatch(/^shown .*Ready/m);
    expect(all.split('\n').filter(Boolean).sort()).toEqual(
      [
        `drplanexecution.dr.bkbcs.tencent.com/${ended.metadata.name}`,
        'drplan.dr.bkbcs.tencent.com/shown',
        'drworkflow.dr.bkbcs.tencent.com/shown',
      ].sort(),
    );
    expect(explained.replaceAll(/\s+/g, ' ')).toContain('let running workflows finish');
  });

  it('waits for Finished on failure too [S1.10]', async () => {
    await stack.simplePlan('bad', [http('a', `${recorder.url}/bad?status=400`)]);
    const execution = await stack.execute('bad');
    const name = `drpx/${execution.metadata.name}`;
    expect(
      await kubectl('wait', name, '-n', stack.namespace, '--for=condition=Finished', '--timeout=30s'),
    ).toMatch(/condition met/);
  });
});

describe('metrics', () => {
  it('of bridge and worker can be read [S5.54]', async () => {
    const { metrics } = servers.endpoints;
    const [bridge, worker] = await Promise.all(
      [metrics.bridge, metrics.worker].map(async (url) => (await fetch(url ?? '')).text()),
    );
    expect(bridge).toMatch(/^drover_bridge_api_writes_total\{.*\} \d+/m);
    expect(bridge).toMatch(/^process_resident_memory_bytes \d+/m);
    expect(worker).toMatch(/^temporal_\w+\{?.* \d+/m);
  });
});

describe('search attributes', () => {
  it('that cannot be registered are gone without [S6.4]', async () => {
    const connection = await Connection.connect({ address: servers.temporal });
    const namespace = unique('full');
    await connection.workflowService.registerNamespace({
      namespace,
      workflowExecutionRetentionPeriod: { seconds: 86_400 as never },
    });
    const KEYWORD = 2;
    // The server has room for so many of a type, and others have taken it.
    const others = Object.fromEntries(Array.from({ length: 10 }, (_, n) => [`Other${n}`, KEYWORD]));
    await poll(
      () =>
        connection.operatorService.addSearchAttributes({ namespace, searchAttributes: others }).then(
          () => 'added',
          (error: unknown) => String(error),
        ),
      (answer) => answer === 'added' || /already exists/.test(answer),
    );
    await connection.close();
    const lines: string[] = [];
    const before = { ...process.env };
    process.env.TEMPORAL_ADDRESS = servers.temporal;
    process.env.TEMPORAL_NAMESPACE = namespace;
    try {
      const link = await connectTemporal({
        log: pino({}, { write: (line: string) => lines.push(line) }),
        dataConverter: {},
        tracing: NO_TRACING,
      });
      expect(link).toMatchObject({ namespace, searchAttributes: false });
      await link.close();
    } finally {
      process.env = before;
    }
    expect(lines.join('')).toMatch(/could not register search attributes: runs go without them/);
  });
});

describe('a worker', () => {
  afterEach(mend);

  it(
    'that stands still is taken for lost, and nothing has its effect twice [S3.4] [S3.10]',
    { tags: ['nightly'] },
    async () => {
      await stack.simplePlan('frozen', [
        http('one', `${recorder.url}/frozen-one?delay=3000`),
        http('two', `${recorder.url}/frozen-two`),
      ]);
      const execution = await stack.execute('frozen');
      await poll(
        () => Promise.resolve(recorder.of('/frozen-one').length),
        (count) => count === 1,
      );
      const { status } = await stack.until(execution, (now) => now.status?.temporal !== undefined);
      const stage = stack.temporal.workflow.getHandle(`${status?.temporal?.workflowId}/s0`);
      const pid = await workerPid();
      process.kill(pid, 'SIGSTOP');
      // Until the server has missed its heartbeat, and has the next attempt ready.
      await poll(
        async () => (await stage.describe()).raw.pendingActivities?.[0]?.attempt ?? 0,
        (attempt) => attempt > 1,
      );
      process.kill(pid, 'SIGCONT');
      const ended = await stack.ended(execution);
      expect(ended.status?.phase).toBe('Succeeded');
      expect(actionAt(ended, 0, 0, 0)?.retryCount).toBeUndefined();
      expect(recorder.effects('/frozen-one')).toBe(1);
      expect(recorder.of('/frozen-two')).toHaveLength(1);
      await expectWhole(stack, ended);
    },
  );

  it('that is not there is missed, and the run goes on when it is back [F0] [S5.50]', async () => {
    // One that says so after three seconds, and not after thirty.
    const replica = await startReplica({ flags: ['--task-wait=3s'] });
    await stack.simplePlan('alone', [http('a', `${recorder.url}/alone`)]);
    process.kill(await workerPid(), 'SIGKILL');
    const execution = await stack.execute('alone');
    let missed;
    try {
      missed = await stack.until(execution, (now) => condition(now, 'Progressing')?.reason === 'NoWorker');
    } finally {
      await replica.stop();
    }
    expect(condition(missed, 'Progressing')).toMatchObject({
      status: 'False',
      message: expect.stringMatching(/no worker has taken a task/),
    });
    expect(missed.status?.phase).toBe('Running');
    await heal();
    const ended = await stack.ended(execution);
    expect(ended.status?.phase).toBe('Succeeded');
    await expectWhole(stack, ended);
  });
});
