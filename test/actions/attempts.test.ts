/** How attempts are counted, cancelled and taken over on a real Temporal server. */
import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Client, Connection } from '@temporalio/client';
import type { WorkflowHandle } from '@temporalio/client';
import { bundleWorkflowCode, DefaultLogger, NativeConnection, Runtime } from '@temporalio/worker';
import type { WorkflowBundle } from '@temporalio/worker';
import { pino } from 'pino';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createEgressPolicy } from '../../activities/core/egress.js';
import { createActivities } from '../../activities/index.js';
import type { ActionInput, Retry } from '../../api/plan/snapshot/run.js';
import type { HTTPAction } from '../../api/plan/types.js';
import type { SeriesSetup } from '../../workflows/plan/series.js';
import { taskQueues } from '../../workflows/core/contract.js';
import type { ActionOutcome } from '../../workflows/plan/contract-tasks.js';
import type { oneAction } from '../support/one-action.js';
import { connect } from '../support/attempts.js';
import { ownSealer, sealTask } from '../support/seals.js';
import { servers } from '../support/servers.js';
import { startWorkers } from '../support/workers.js';
import type { StartedWorkers } from '../support/workers.js';

const cluster = `attempts-${randomUUID().slice(0, 8)}`;
const taskQueue = taskQueues(cluster).worker;
const sealer = ownSealer();
let native: NativeConnection;
let client: Client;
let workflowBundle: WorkflowBundle;

interface Call {
  key: string;
  closed: boolean;
}
const calls: Call[] = [];
/** What the server answers to each call; null: nothing at all. */
let answers: (number | null)[] = [];
const server = createServer((request, response) => {
  const call: Call = { key: String(request.headers['idempotency-key']), closed: false };
  calls.push(call);
  response.on('close', () => (call.closed = true));
  const status = answers.length > 1 ? answers.shift() : answers[0];
  if (status !== null && status !== undefined) response.writeHead(status).end('here');
});
let url = '';

beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  const logger = new DefaultLogger('ERROR');
  Runtime.install({ logger });
  workflowBundle = await bundleWorkflowCode({
    workflowsPath: new URL('../support/one-action.ts', import.meta.url).pathname,
    logger,
  });
  native = await NativeConnection.connect({ address: servers.temporal });
  client = new Client({
    connection: await Connection.connect({ address: servers.temporal }),
    namespace: servers.temporalNamespace,
  });
});
afterAll(async () => {
  server.close();
  server.closeAllConnections();
  await client.connection.close();
  await native.close();
});
beforeEach(() => {
  calls.length = 0;
});

function startWorker(options: { shutdownGraceTime?: number } = {}): Promise<StartedWorkers> {
  return startWorkers({
    connection: native,
    namespace: servers.temporalNamespace,
    cluster,
    workflowBundle,
    activities: createActivities({
      kube: connect(servers.kubeconfig),
      sealer,
      egress: createEgressPolicy({ allowLoopback: true }),
      log: pino({ level: 'silent' }),
      notes: { send: () => undefined },
      controllerIdentity: true,
    }),
    ...options,
  });
}

function start(
  http: Partial<HTTPAction>,
  options: { retry?: Partial<Retry>; timeoutMs?: number } = {},
): Promise<WorkflowHandle<typeof oneAction>> {
  const retry = { limit: 3, intervalMs: 50, backoffMultiplier: 1, maxIntervalMs: 1000, ...options.retry };
  const timeoutMs = options.timeoutMs ?? 60_000;
  const input: ActionInput = {
    name: 'call',
    type: 'HTTP',
    dependsOn: [],
    timeoutMs,
    retry,
    capture: false,
    interruptible: true,
    uses: [],
  };
  const series: SeriesSetup = {
    input,
    bounds: { undoStepMs: 60_000, settleMs: 60_000, pauseReminderMs: 600_000 },
    task: {
      run: {
        cluster,
        namespace: 'default',
        name: 'run',
        uid: randomUUID(),
        plan: { name: 'plan', namespace: 'default', uid: 'p' },
        operation: 'Execute',
        runMode: 'Planned',
        snapshot: { name: 'none', namespace: 'default', digest: '', parts: 0 },
      },
      at: { stage: 0, workflow: 0, action: 0 },
      direction: 'forward',
      round: 0,
      name: 'call',
      type: 'HTTP',
      timeoutMs,
      retry,
      body: { action: { name: 'call', type: 'HTTP', http: { url, method: 'POST', ...http } }, params: {} },
      outputs: {},
      phases: {},
    },
  };
  const workflowId = `one-action-${randomUUID()}`;
  return client.workflow.start<typeof oneAction>('oneAction', {
    taskQueue,
    workflowId,
    args: [{ ...series, task: sealTask(sealer, series.task, workflowId) }],
  });
}

async function until(look: () => boolean): Promise<void> {
  for (let tries = 0; tries < 400; tries += 1) {
    if (look()) return;
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
  throw new Error('did not happen within 10 s');
}

const rounds = (): number[] => calls.map(({ key }) => Number(key.slice(key.lastIndexOf('/') + 1)));

describe('attempts on a real server', () => {
  it('count failures exactly, each definite one in a round of its own [S3.3] [S3.8]', async () => {
    const worker = await startWorker();
    const outcomes = await worker.runUntil(async () => {
      answers = [503, 503, 500, 200];
      const recovered = await (await start({})).result();
      const seen = rounds();
      calls.length = 0;
      answers = [503];
      const exhausted = await (await start({}, { retry: { limit: 2 } })).result();
      return { recovered, seen, exhausted };
    });
    expect(outcomes.recovered).toMatchObject({ phase: 'Succeeded', retryCount: 3, round: 3 });
    expect(outcomes.seen).toEqual([0, 1, 2, 3]);
    expect(outcomes.exhausted).toMatchObject({
      phase: 'Failed',
      reason: 'HTTPStatus',
      message: `failed after 3 attempts (last: POST ${url} answered 503 ("here"))`,
      outputs: { httpResponse: { statusCode: 503, body: 'here' } },
      retryCount: 2,
    });
    expect(rounds()).toEqual([0, 1, 2]);
  });

  it('end in time, keep the key of what may have had its effect, and say so [S3.1] [S3.8]', async () => {
    const worker = await startWorker();
    answers = [null];
    const outcome = await worker.runUntil(async () =>
      (await start({}, { timeoutMs: 500, retry: { limit: 1 } })).result(),
    );
    expect(outcome).toMatchObject({
      phase: 'Failed',
      reason: 'Timeout',
      message: `failed after 2 attempts (last: POST ${url} has not answered)`,
      effect: 'Unknown',
    });
    expect(rounds()).toEqual([0, 0]);
  });

  it('stop at once with a cancel, and have an outcome [S5.30]', async () => {
    const worker = await startWorker();
    answers = [null];
    const { outcome, took } = await worker.runUntil(async () => {
      const handle = await start({});
      await until(() => calls.length === 1);
      const asked = Date.now();
      await handle.cancel();
      const result: ActionOutcome = await handle.result();
      return { outcome: result, took: Date.now() - asked };
    });
    expect(outcome).toMatchObject({ phase: 'Failed', reason: 'Cancelled', effect: 'Unknown', round: 0 });
    // Far below the minutes it would wait; the figure itself is the benchmark's business.
    expect(took).toBeLessThan(15_000);
    await until(() => calls[0]?.closed === true);
    expect(calls).toHaveLength(1);
  });

  it('are taken over from a worker that shuts down, with the same key and without being counted [S3.4]', async () => {
    answers = [null];
    const first = await startWorker({ shutdownGraceTime: 200 });
    const handle = await start({}, { retry: { limit: 0 } });
    await until(() => calls.length === 1);
    await first.stop();
    answers = [200];
    const second = await startWorker();
    const outcome = await second.runUntil(() => handle.result());
    expect(outcome).toMatchObject({ phase: 'Succeeded', retryCount: 0, round: 0 });
    expect(rounds()).toEqual([0, 0]);
    expect(new Set(calls.map(({ key }) => key)).size).toBe(1);
  });
});
