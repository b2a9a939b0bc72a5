/**
 * What bridge and worker tell where it is switched on: traces to a collector, exemplars in metrics, profiles to those who
 * may. What is off by default is looked at in `logs.test.ts`.
 */
import { readFile } from 'node:fs/promises';
import { Worker } from '@temporalio/worker';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ANNOTATIONS } from '../../api/core/group.js';
import type { DRPlanExecution } from '../../api/plan/types.js';
import { freePort } from '../../runtime/free-port.js';
import { stageWorkflowId } from '../../workflows/plan/contract.js';
import { startCollector } from '../support/collector.js';
import type { CollectedSpan, Collector } from '../support/collector.js';
import { heal, kill } from '../support/parts.js';
import { startRecorder } from '../support/recorder.js';
import type { Recorder } from '../support/recorder.js';
import { servers } from '../support/servers.js';
import { http, openStack, poll } from '../support/stack.js';
import type { Stack } from '../support/stack.js';
import { clusterToken } from '../support/tokens.js';

let stack: Stack;
let recorder: Recorder;
let collector: Collector;
let execution: DRPlanExecution;
const ports: Record<'bridge' | 'worker', number> = { bridge: 0, worker: 0 };

/** What is in the request of the action, and must be in no span. */
const SECRET = 'not-for-collectors';

beforeAll(async () => {
  [stack, recorder, collector, ports.bridge, ports.worker] = await Promise.all([
    openStack('traces'),
    startRecorder(),
    startCollector(),
    freePort(),
    freePort(),
  ]);
  const env = (program: 'bridge' | 'worker'): Record<string, string> => ({
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
    OTEL_BSP_SCHEDULE_DELAY: '100',
    DROVER_METRICS_EXEMPLARS: 'true',
    DROVER_PROFILE_PORT: String(ports[program]),
  });
  await kill('bridge', 'worker');
  await heal(env('bridge'), env('worker'));
  await stack.simplePlan('traced', [
    {
      name: 'call',
      type: 'HTTP',
      http: {
        url: `${recorder.url}/traced/${SECRET}?token=${SECRET}`,
        method: 'POST',
        headers: { 'X-Key': SECRET },
        body: SECRET,
      },
    },
    http('fails', `${recorder.url}/refused?status=400&body=${SECRET}`),
  ]);
  execution = await stack.ended(await stack.execute('traced'));
});
afterAll(async () => {
  await Promise.all([stack.close(), recorder.close(), collector.close()]);
});

const traceId = (): string =>
  execution.metadata.annotations?.[ANNOTATIONS.traceparent]?.split('-')[1] ?? 'no trace';
const spansOfRun = (): CollectedSpan[] => collector.spans.filter((span) => span.traceId === traceId());
const named = (name: string): CollectedSpan[] => spansOfRun().filter((span) => span.name === name);
/** Once the last span of the run has come: that of the run itself, which ends with it. */
const whole = (): Promise<CollectedSpan[]> =>
  poll(
    () => Promise.resolve(spansOfRun()),
    () => named('RunWorkflow:drPlanExecution').length > 0 && named('RunActivity:finish').length > 0,
    20_000,
  );

describe('a trace of a run', () => {
  it('leads from the admission review through bridge, workflow and activity to the request that goes out', async () => {
    const spans = await whole();
    const byId = new Map(spans.map((span) => [span.spanId, span]));
    const request = recorder.requests.find(({ path }) => path.startsWith('/traced'));
    const [, , sentSpan = ''] = String(request?.headers.traceparent).split('-');
    const way: string[] = [];
    for (let at = byId.get(sentSpan); at !== undefined; at = byId.get(at.parentSpanId ?? ''))
      way.push(at.name);
    expect(way).toEqual([
      'POST',
      'RunActivity:http',
      'RunWorkflow:drStage',
      'RunWorkflow:drPlanExecution',
      'StartWorkflow:drPlanExecution',
      'start execution',
      'admission stamp',
    ]);
    expect(request?.headers.traceparent).toBe(`00-${traceId()}-${sentSpan}-01`);
    expect(byId.get(sentSpan)).toMatchObject({ service: 'drover-worker' });
    expect(named('start execution')[0]).toMatchObject({ service: 'drover-bridge' });
  });

  it('is one: every span but its root hangs below another one of it', async () => {
    const spans = await whole();
    const ids = new Set(spans.map(({ spanId }) => spanId));
    expect(spans.filter(({ parentSpanId = '' }) => !ids.has(parentSpanId)).map(({ name }) => name)).toEqual([
      'admission stamp',
    ]);
    expect(named('admission validate')).toHaveLength(1);
    // What an action asks of the API server is a part of it.
    expect(
      spans.some(({ name, service }) => /^(get|create|patch) /.test(name) && service === 'drover-bridge'),
    ).toBe(true);
    const own = `${stack.namespace}/${execution.metadata.name}`;
    const elsewhere = collector.spans.filter(
      ({ traceId: id, attributes }) => id !== traceId() && attributes['drover.execution'] === own,
    );
    expect(elsewhere).toEqual([]);
  });

  it('names what it is about, and has no contents [SEC18]', async () => {
    await whole();
    const own = `${stack.namespace}/${execution.metadata.name}`;
    const [call, fails] = named('RunActivity:http');
    expect(call?.attributes).toMatchObject({
      'drover.execution': own,
      'drover.plan': 'traced',
      'drover.action': 'call',
      'drover.action.type': 'HTTP',
      'drover.attempt': 1,
      'drover.position': '0/0/0',
    });
    expect([call?.status, fails?.status]).toEqual([0, 2]);
    expect(fails?.attributes).toMatchObject({ 'error.type': 'HTTPStatus' });
    expect(named('POST').map(({ attributes }) => attributes['http.response.status_code'])).toEqual([
      200, 400,
    ]);
    expect(collector.raw()).toContain(own);
    expect(collector.raw()).not.toContain(SECRET);
    expect(collector.spans.flatMap(({ events }) => events)).toEqual([]);
  });

  it('is named by the lines of the log that belong to it', async () => {
    const log = await readFile(`${servers.dataDir}/logs/bridge.log`, 'utf8');
    const ended = log
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, unknown>)
      .find((line) => line.msg === 'run ended' && String(line.execution).startsWith(stack.namespace));
    expect(ended).toMatchObject({ trace_id: traceId(), plan: 'traced' });
  });

  it('goes on from what whoever creates the execution has written', async () => {
    const theirs = { trace: 'c0ffee00c0ffee00c0ffee00c0ffee00', span: 'c0ffee00c0ffee00' };
    const made = await stack.create<DRPlanExecution>({
      apiVersion: execution.apiVersion,
      kind: execution.kind,
      metadata: {
        name: 'from-elsewhere',
        namespace: stack.namespace,
        annotations: { [ANNOTATIONS.traceparent]: `00-${theirs.trace}-${theirs.span}-01` },
      },
      spec: { planRef: 'traced', operationType: 'Execute' },
    });
    await stack.ended(made);
    const spans = await poll(
      () => Promise.resolve(collector.spans.filter((span) => span.traceId === theirs.trace)),
      (found) => found.some(({ name }) => name === 'RunWorkflow:drPlanExecution'),
    );
    expect(spans.find(({ name }) => name === 'admission stamp')).toMatchObject({ parentSpanId: theirs.span });
  });

  it('is carried on, and replayed, by a worker without traces', async () => {
    const runId = execution.status?.temporal?.workflowId ?? '';
    const histories = await Promise.all(
      [runId, stageWorkflowId(runId, 0)].map(async (workflowId) => ({
        workflowId,
        history: await stack.temporal.workflow.getHandle(workflowId).fetchHistory(),
      })),
    );
    for (const { history } of histories) {
      const [first] = history.events ?? [];
      expect(first?.workflowExecutionStartedEventAttributes?.header?.fields).toHaveProperty('_tracer-data');
    }
    const results: (Error | undefined)[] = [];
    const code = { codePath: 'dist/workflow-bundle.js' };
    for await (const { error } of Worker.runReplayHistories({ workflowBundle: code }, histories))
      results.push(error);
    expect(results).toEqual([undefined, undefined]);
  });
});

describe('metrics with exemplars', () => {
  it('name the trace of a run beside the bucket that it fell in, in the format of OpenMetrics', async () => {
    const response = await fetch(servers.endpoints.metrics.bridge ?? '');
    expect(response.headers.get('content-type')).toMatch(/^application\/openmetrics-text/);
    const page = await response.text();
    const line =
      /^drover_bridge_run_seconds_bucket\{.*\} \d+ # \{trace_id="([0-9a-f]{32})",span_id="[0-9a-f]{16}"\}/gm;
    const traces = [...page.matchAll(line)].map(([, trace]) => trace);
    expect(traces.length).toBeGreaterThan(0);
    // The last run of each bucket.
    const known = new Set(collector.spans.map((span) => span.traceId));
    expect(traces.filter((trace) => !known.has(trace ?? ''))).toEqual([]);
    expect(page.endsWith('# EOF\n')).toBe(true);
    const worker = await (await fetch(servers.endpoints.metrics.worker ?? '')).text();
    expect(worker).toMatch(/^# TYPE temporal_request counter\n/m);
    expect(worker).toMatch(/^temporal_request_total\{/m);
    expect(worker.match(/^# EOF$/gm)).toHaveLength(1);
  });
});

describe('profiles', () => {
  const ask = (program: 'bridge' | 'worker', path: string, token?: string): Promise<Response> =>
    fetch(`http://127.0.0.1:${ports[program]}${path}`, {
      headers: token === undefined ? {} : { authorization: `Bearer ${token}` },
    });

  it('are taken by those who may, each of what he may', async () => {
    const { token, name } = await clusterToken(stack, [
      '/drover/profiles',
      '/drover/profiles/cpu',
      '/drover/profiles/heap',
    ]);
    const list = await (await ask('worker', '/drover/profiles', token)).text();
    expect(list).toMatch(/threads: main, thread-\d+/);
    const thread = /thread-\d+/.exec(list)?.[0] ?? '';
    const [bridge, workflows, heap] = await Promise.all([
      ask('bridge', '/drover/profiles/cpu?seconds=1', token),
      ask('worker', `/drover/profiles/cpu?seconds=1&thread=${thread}`, token),
      ask('worker', '/drover/profiles/heap?seconds=1', token),
    ]);
    // One at a time.
    expect([workflows.status, heap.status].sort()).toEqual([200, 409]);
    expect(bridge.headers.get('content-disposition')).toMatch(
      /^attachment; filename="drover-bridge-.*\.cpuprofile"$/,
    );
    expect(await bridge.json()).toMatchObject({
      nodes: expect.any(Array) as unknown,
      samples: expect.any(Array) as unknown,
    });
    const again = await ask('worker', '/drover/profiles/heap?seconds=1', token);
    expect(await again.json()).toMatchObject({ head: { callFrame: expect.any(Object) as unknown } });
    const snapshot = await ask('bridge', '/drover/profiles/heapsnapshot', token);
    expect(snapshot.status).toBe(403);
    expect(await snapshot.text()).toBe(
      `"system:serviceaccount:${stack.namespace}:${name}" may not get the non-resource URL /drover/profiles/heapsnapshot\n`,
    );
  });

  it('are refused to everybody else, and where what is asked for makes no sense [SEC18]', async () => {
    const [nobody, unknown] = await Promise.all([
      ask('worker', '/drover/profiles/cpu'),
      ask('worker', '/drover/profiles/cpu', 'made-up'),
    ]);
    expect([nobody.status, unknown.status]).toEqual([401, 401]);
    const { token } = await clusterToken(stack, ['/drover/profiles/*']);
    const odd = await ask('worker', '/drover/profiles/cpu?seconds=soon', token);
    expect([odd.status, await odd.text()]).toEqual([
      400,
      'seconds="soon": expected a whole number from 1 to 300\n',
    ]);
    expect(await (await ask('worker', '/drover/profiles/cpu?seconds=1&thread=x', token)).text()).toMatch(
      /^thread="x": expected one of main, thread-/,
    );
  });

  it('of all memory are for those who may read Secrets anyway', async () => {
    const { token } = await clusterToken(stack, ['/drover/profiles/heapsnapshot']);
    const snapshot = await ask('bridge', '/drover/profiles/heapsnapshot', token);
    // Some hundred megabytes follow.
    const reader = snapshot.body?.getReader();
    const head = Buffer.from((await reader?.read())?.value ?? []).toString();
    await reader?.cancel();
    expect(head).toMatch(/^\{"snapshot":\{"meta":/);
  });
});
