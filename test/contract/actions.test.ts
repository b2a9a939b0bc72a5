/** Attempts, timeouts and requests of real actions in real runs (docs/semantics.md#3-actions). */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Action, ActionStatus, DRPlanExecution } from '../../api/plan/types.js';
import { podAnnotations } from '../../local/fake-node/stages.js';
import { startRecorder } from '../support/recorder.js';
import type { Recorder } from '../support/recorder.js';
import { servers } from '../support/servers.js';
import { actionAt, openStack } from '../support/stack.js';
import type { Stack } from '../support/stack.js';
import { historyText } from './history.js';
import { expectWhole } from './whole.js';

let stack: Stack;
let recorder: Recorder;
beforeAll(async () => {
  [stack, recorder] = await Promise.all([openStack('acts'), startRecorder()]);
});
afterAll(async () => {
  await recorder.close();
  await stack.close();
});

/** A row: how the action is written, how it has to end, and how many requests it takes. */
interface Row {
  name: string;
  action: Omit<Action, 'name'>;
  status: Partial<ActionStatus>;
  message?: RegExp;
  requests?: number;
  keys?: number;
}

const ONCE = { limit: 0 };
const TWICE = { limit: 1, interval: '50ms' };
const get = (path: string, more: Partial<Action['http'] & object> = {}): Omit<Action, 'name'> => ({
  type: 'HTTP',
  http: { url: `${recorder.url}/${path}`, method: 'GET', ...more },
  retryPolicy: TWICE,
});
const answer = (status: number, more?: Partial<Action['http'] & object>) =>
  get(`status-${status}${more === undefined ? '' : '-codes'}?status=${status}`, more);
/** Redirects of so many steps. */
const chain = (steps: number): string =>
  steps === 0
    ? `${recorder.url}/chain-end`
    : `${recorder.url}/chain-${steps}?status=302&location=${encodeURIComponent(chain(steps - 1))}`;
const job = (annotations: Record<string, string>, spec: object = {}): Omit<Action, 'name'> => ({
  type: 'Job',
  job: {
    namespace: stack.namespace,
    template: {
      spec: {
        backoffLimit: 0,
        ...spec,
        template: {
          metadata: { annotations },
          spec: { restartPolicy: 'Never', containers: [{ name: 'main', image: 'example/none' }] },
        },
      },
    },
  },
});

/** Runs all rows at once, as independent actions of one workflow that goes on after failures. */
async function runAll(plan: string, rows: readonly Row[]): Promise<DRPlanExecution> {
  const actions = rows.map((row): Action => ({ name: row.name, ...row.action }));
  const first = { name: 'first', type: 'HTTP', http: { url: `${recorder.url}/first` } };
  await stack.simplePlan(plan, [first, ...actions.map((action) => ({ ...action, dependsOn: ['first'] }))], {
    workflow: { failurePolicy: 'Continue' },
  });
  const ended = await stack.ended(await stack.execute(plan));
  await expectWhole(stack, ended);
  return ended;
}

function expectRows(ended: DRPlanExecution, rows: readonly Row[]): void {
  for (const [index, row] of rows.entries()) {
    const status = actionAt(ended, 0, 0, index + 1);
    expect(status, row.name).toMatchObject({ name: row.name, ...row.status });
    if (row.message !== undefined) expect(status?.message, row.name).toMatch(row.message);
    const path = new URL(row.action.http?.url ?? 'http://x/none').pathname;
    if (row.requests !== undefined) expect(recorder.of(path), row.name).toHaveLength(row.requests);
    if (row.keys !== undefined) expect(recorder.effects(path), row.name).toBe(row.keys);
  }
}

describe('requests', () => {
  it('succeed, are retried or fail by their answer, and keep it [S1.6] [S3.2] [S3.3] [S3.6] [S3.19] [S3.20]', async () => {
    const succeeded = { phase: 'Succeeded' };
    const failed = { phase: 'Failed', reason: 'HTTPStatus' };
    const rows: Row[] = [
      { name: 'no-content', action: answer(204), status: succeeded, requests: 1 },
      { name: 'last-of-2xx', action: answer(299), status: succeeded, requests: 1 },
      {
        name: 'empty-codes',
        action: answer(201, { successCodes: [] }),
        status: succeeded,
        requests: 1,
      },
      {
        name: 'code-of-its-own',
        action: answer(404, { successCodes: [404] }),
        status: { ...succeeded, outputs: { httpResponse: { statusCode: 404, body: 'ok' } } },
        requests: 1,
      },
      {
        name: 'only-these-codes',
        action: answer(200, { successCodes: [202] }),
        status: failed,
        message: /answered 200/,
        requests: 1,
      },
      ...[400, 401, 403, 404, 409, 422].map((code) => ({
        name: `final-${code}`,
        action: answer(code),
        status: { ...failed, effect: 'None' as const },
        message: new RegExp(`answered ${code} \\("ok"\\)`),
        requests: 1,
      })),
      ...[408, 425, 429, 500, 503].map((code) => ({
        name: `retried-${code}`,
        action: answer(code),
        status: { ...failed, retryCount: 1, outputs: { httpResponse: { statusCode: code, body: 'ok' } } },
        message: /2 attempts/,
        requests: 2,
        // Each definite failure is followed by an effect of its own.
        keys: 2,
      })),
      ...[502, 504].map((code) => ({
        name: `unclear-${code}`,
        action: answer(code),
        status: { ...failed, retryCount: 1, effect: 'Unknown' as const },
        requests: 2,
        keys: 1,
      })),
      {
        name: 'once',
        action: { ...get('once?status=503'), retryPolicy: ONCE },
        status: failed,
        requests: 1,
      },
      {
        name: 'kept-on-a-boundary',
        action: get(`boundary?length=1200&of=${encodeURIComponent('🙂')}`),
        status: { ...succeeded, outputs: { httpResponse: { statusCode: 200, body: '🙂'.repeat(1000) } } },
      },
      {
        name: 'large',
        action: get('large?length=3000000'),
        status: { ...succeeded, outputs: { httpResponse: { statusCode: 200, body: 'x'.repeat(1000) } } },
      },
      {
        name: 'large-failure',
        action: get('large-failure?status=400&length=3000000'),
        status: { ...failed, outputs: { httpResponse: { statusCode: 400, body: 'x'.repeat(1000) } } },
      },
      {
        name: 'five-redirects',
        action: { type: 'HTTP', http: { url: chain(5) } },
        status: succeeded,
      },
      {
        name: 'six-redirects',
        action: { type: 'HTTP', http: { url: chain(6) } },
        status: { phase: 'Failed', reason: 'TooManyRedirects' },
        message: /more than 5 times/,
      },
      {
        name: 'redirected-away',
        action: get(`away?status=302&location=${encodeURIComponent('http://169.254.169.254/latest')}`),
        status: { phase: 'Failed', reason: 'EgressRefused', effect: 'Unknown' },
        message: /169\.254\.169\.254/,
        requests: 1,
      },
      {
        name: 'metadata',
        action: { type: 'HTTP', http: { url: 'http://169.254.169.254/latest' } },
        status: { phase: 'Failed', reason: 'EgressRefused', effect: 'None' },
        message: /egress allow list/,
      },
      {
        name: 'the-cluster-itself',
        action: {
          type: 'HTTP',
          http: { url: `${servers.endpoints.kubernetes}/version`, insecureSkipVerify: true },
        },
        status: { phase: 'Failed', reason: 'EgressRefused', effect: 'None' },
      },
      {
        name: 'told-to-wait',
        action: get('told?fail=1&retryAfter=2'),
        status: { ...succeeded, retryCount: 1 },
        requests: 2,
      },
      {
        name: 'all-attempts',
        action: {
          ...get('all-attempts?status=503'),
          retryPolicy: { limit: 50, interval: '500ms', backoffMultiplier: 1 },
          totalTimeout: '5s',
        },
        status: { phase: 'Failed', reason: 'TotalTimeout' },
        message: /totalTimeout 5s is used up.*503/,
      },
      {
        name: 'nobody-there',
        action: { type: 'HTTP', http: { url: 'http://127.0.0.1:9/' }, retryPolicy: TWICE },
        status: { phase: 'Failed', reason: 'Unreachable', retryCount: 1 },
        message: /127\.0\.0\.1:9/,
      },
    ];
    const ended = await runAll('answers', rows);
    expectRows(ended, rows);

    const named = (name: string) => actionAt(ended, 0, 0, rows.findIndex((row) => row.name === name) + 1);
    const told = named('told-to-wait');
    expect(Date.parse(told?.completionTime ?? '') - Date.parse(told?.startTime ?? '')).toBeGreaterThan(1990);
    expect(recorder.of('/all-attempts').length).toBeGreaterThan(1);
    expect(recorder.of('/all-attempts').length).toBeLessThan(12);
  });
});

describe('timeouts', () => {
  it('bound one attempt of every type, and the outputs so far survive [S3.1] [S3.26]', async () => {
    await stack.create({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'held', namespace: stack.namespace, finalizers: ['example.com/held'] },
    });
    const timedOut = { phase: 'Failed', reason: 'Timeout' };
    const short = { timeout: '2s', retryPolicy: ONCE };
    const rows: Row[] = [
      {
        name: 'http',
        action: { ...get('slow?delay=20000'), ...short },
        status: { ...timedOut, effect: 'Unknown' },
        message: /2s|has not answered/,
        requests: 1,
      },
      {
        name: 'http-twice',
        action: { ...get('slow-twice?delay=20000'), ...short, retryPolicy: TWICE },
        status: { ...timedOut, retryCount: 1 },
        requests: 2,
        // It may have had its effect: the same effect is asked for again.
        keys: 1,
      },
      {
        name: 'job',
        action: { ...job({ [podAnnotations.hang]: 'true' }), ...short },
        status: timedOut,
        message: /delete/,
      },
      {
        name: 'wait',
        action: {
          type: 'Wait',
          wait: { for: { apiVersion: 'v1', kind: 'ConfigMap', name: 'never' }, condition: 'object != null' },
          ...short,
        },
        status: timedOut,
      },
      {
        name: 'delete',
        action: {
          type: 'KubernetesResource',
          resource: {
            operation: 'Delete',
            manifest: 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: held}',
          },
          ...short,
        },
        status: { phase: 'Failed' },
        message: /example\.com\/held/,
      },
    ];
    const ended = await runAll('late', rows);
    expectRows(ended, rows);
    for (const [index, row] of rows.entries()) {
      const { startTime = '', completionTime = '' } = actionAt(ended, 0, 0, index + 1) ?? {};
      const took = Date.parse(completionTime) - Date.parse(startTime);
      // A wait for finalizers ends a little early, so that it can say what it waited for.
      expect(took, row.name).toBeGreaterThan(row.name === 'delete' ? 500 : 1500);
      expect(took, row.name).toBeLessThan(18_000);
    }
    const ref = actionAt(ended, 0, 0, 3)?.outputs?.jobRef;
    expect(ref).toMatchObject({ name: expect.any(String), uid: expect.any(String) });
    const key = { apiVersion: 'batch/v1', kind: 'Job', namespace: stack.namespace, name: ref?.name ?? '' };
    expect(await stack.kube.get(key)).toBeUndefined();
    await stack.kube.patch(
      { apiVersion: 'v1', kind: 'ConfigMap', namespace: stack.namespace, name: 'held' },
      { metadata: { finalizers: null } },
      { kind: 'merge' },
    );
  });
});

describe('Jobs', () => {
  it('end as the Job ends, and say what its pod said [S3.28]', async () => {
    const rows: Row[] = [
      { name: 'good', action: job({}), status: { phase: 'Succeeded' } },
      {
        name: 'bad',
        action: job({ [podAnnotations.exitCode]: '3', [podAnnotations.message]: 'disk is full' }),
        status: { phase: 'Failed' },
        message: /3.*disk is full|disk is full.*3/s,
      },
      {
        name: 'short-lived',
        action: job({}, { ttlSecondsAfterFinished: 0 }),
        status: { phase: 'Succeeded' },
      },
    ];
    expectRows(await runAll('jobs', rows), rows);
  });
});

describe('a secret in a header', () => {
  it('is in no status, event, history, log or object that is kept [S3.20] [S3.24] [S6.14]', async () => {
    const secret = 'S3cret-Value-0987';
    await stack.create({
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 'token', namespace: stack.namespace },
      stringData: { token: secret },
    });
    const headersFrom = [
      { name: 'Authorization', prefix: 'Bearer ', secretKeyRef: { name: 'token', key: 'token' } },
    ];
    // The server says it back, in a good answer and in a bad one.
    const echo = (path: string, status: number) => ({
      name: path,
      type: 'HTTP' as const,
      http: { url: `${recorder.url}/${path}?status=${status}&echo=authorization`, headersFrom },
    });
    await stack.simplePlan('secret', [echo('echo-good', 200), echo('echo-bad', 400)]);
    const execution = await stack.ended(await stack.execute('secret'));
    expect(recorder.of('/echo-good')[0]?.headers.authorization).toBe(`Bearer ${secret}`);
    expect(actionAt(execution, 0, 0, 0)?.outputs?.httpResponse?.body).toMatch(/^authorization: /);
    expect(actionAt(execution, 0, 0, 1)?.message).toMatch(/answered 400/);

    const { items: events } = await stack.kube.list(
      { apiVersion: 'events.k8s.io/v1', kind: 'Event' },
      { namespace: stack.namespace },
    );
    const { items: revisions } = await stack.kube.list(
      { apiVersion: 'apps/v1', kind: 'ControllerRevision' },
      { namespace: stack.namespace },
    );
    const history = await historyText(stack.temporal, execution.status?.temporal?.workflowId ?? '');
    const logs = await Promise.all(
      ['bridge.log', 'worker.log'].map((file) => readFile(join(servers.dataDir, 'logs', file), 'utf8')),
    );
    expect(history.includes('echo-good')).toBe(true);
    for (const text of [
      ...[execution, events, revisions].map((one) => JSON.stringify(one)),
      history,
      ...logs,
    ]) {
      expect(text.includes(secret)).toBe(false);
    }
  });
});
