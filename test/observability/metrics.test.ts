/**
 * What the running programs export: all that dashboards, alerts and the manual name. Every night promtool reads it too.
 */
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { ALERTS, DASHBOARDS } from '../../scripts/observability/files.js';
import { metricsIn } from '../../scripts/observability/metrics-in.js';
import { metricTable } from '../../scripts/observability/metric-table.js';
import { seriesOf } from '../../scripts/observability/metric-row.js';
import type { ProgramName } from '../../runtime/program-metrics.js';
import { makeKeys } from '../terraform/support/own-server.js';
import { startServerProcess, type ServerProcess } from '../terraform/support/server-process.js';
import { startRecorder } from '../support/recorder.js';
import type { Recorder } from '../support/recorder.js';
import { servers } from '../support/servers.js';
import { http, openStack, poll } from '../support/stack.js';
import type { Stack } from '../support/stack.js';

/** Programs of the stack; the server is this file's own. */
type Program = 'bridge' | 'worker';

let stack: Stack;
let recorder: Recorder;
let server: ServerProcess;
let folder: string;
const pages: Record<ProgramName, string> = { bridge: '', worker: '', server: '' };

const scrape = async (program: Program): Promise<string> =>
  (await fetch(servers.endpoints.metrics[program] ?? '')).text();
const valueOf = (page: string, series: string): number =>
  Number(
    page
      .split('\n')
      .find((line) => line.startsWith(`${series} `))
      ?.split(' ')[1] ?? 0,
  );

beforeAll(async () => {
  [stack, recorder] = await Promise.all([openStack('metrics'), startRecorder()]);
  folder = await mkdtemp(join(tmpdir(), 'drover-metrics-'));
  server = await startServerProcess({
    DROVER_STORE_DIR: join(folder, 'store'),
    DROVER_STORE_KEYS: await makeKeys(folder),
    DROVER_HEALTH_PORT: '0',
  });
  const before = await scrape('bridge');
  await Promise.all([
    stack.simplePlan('good', [http('a', `${recorder.url}/good`)]),
    stack.simplePlan('bad', [http('a', `${recorder.url}/bad?status=400`)]),
  ]);
  await Promise.all([stack.ended(await stack.execute('good')), stack.ended(await stack.execute('bad'))]);
  const failed = 'drover_bridge_runs_ended_total{operation="Execute",outcome="Failed"}';
  // The status is seen a moment before the bridge has its answer.
  pages.bridge = await poll(
    () => scrape('bridge'),
    (page) => valueOf(page, failed) > valueOf(before, failed),
  );
  pages.worker = await scrape('worker');
  pages.server = await (await fetch(`http://127.0.0.1:${server.ports[0]}/metrics`)).text();
});
afterAll(async () => {
  await recorder.close();
  await server.stop();
  await rm(folder, { recursive: true, force: true });
  await stack.close();
});

/** Names of the series and of the metrics of a page. */
function namesOn(page: string): Set<string> {
  const series = [...page.matchAll(/^([a-z_][a-z0-9_]*)[{ ]/gim)].map(([, name = '']) => name);
  const types = [...page.matchAll(/^# TYPE (\S+) (\S+)$/gm)].flatMap(([, name = '', type]) =>
    seriesOf({ name, type: type as 'counter' | 'gauge' | 'histogram' }),
  );
  return new Set([...series, ...types]);
}

describe('what the programs export [S5.54]', () => {
  it('has all that the manual lists, by program', () => {
    const { own, sdk, process } = metricTable();
    const missing = [...own, ...sdk, ...process].flatMap((row) =>
      row.programs
        .filter(
          (program) =>
            row.isRare !== true && !seriesOf(row).some((name) => namesOn(pages[program]).has(name)),
        )
        .map((program) => `${program}: ${row.name}`),
    );
    expect(missing).toEqual([]);
    const known = new Set(own.map(({ name }) => name));
    const untold = [
      ...Object.values(pages)
        .join('\n')
        .matchAll(/^# TYPE (drover_\S+)/gm),
    ]
      .map(([, name = '']) => name)
      .filter((name) => !known.has(name));
    expect(untold).toEqual([]);
  });

  it('has all that dashboards and alerts read', async () => {
    const { groups } = parse(await readFile(ALERTS, 'utf8')) as { groups: { rules: { expr: string }[] }[] };
    const expressions = [
      ...groups.flatMap(({ rules }) => rules.map(({ expr }) => expr)),
      ...DASHBOARDS.flatMap(({ rows }) =>
        rows.flatMap(({ panels }) => panels.flatMap(({ queries }) => queries.map(({ expr }) => expr))),
      ),
    ];
    const there = new Set(Object.values(pages).flatMap((page) => [...namesOn(page)]));
    const rare = new Set(metricTable().sdk.flatMap((row) => (row.isRare === true ? seriesOf(row) : [])));
    const read = new Set(expressions.flatMap((expr) => metricsIn(expr).map(({ series }) => series)));
    expect(read.size).toBeGreaterThan(40);
    expect([...read].filter((name) => !there.has(name) && !rare.has(name))).toEqual([]);
  });

  it('tells what has happened, and names nothing of it', () => {
    const { bridge, worker } = pages;
    for (const series of [
      'drover_bridge_runs_ended_total{operation="Execute",outcome="Succeeded"}',
      'drover_bridge_runs_ended_total{operation="Execute",outcome="Failed"}',
      'drover_bridge_run_seconds_count{operation="Execute",outcome="Succeeded"}',
      'drover_bridge_stages_ended_total{operation="Execute",phase="Failed"}',
      'drover_bridge_actions_ended_total{type="HTTP",phase="Succeeded"}',
      'drover_bridge_action_seconds_count{type="HTTP"}',
      'drover_bridge_mirror_lag_seconds_count{kind="DRPlanExecution",verb="finish"}',
      'drover_bridge_temporal_reachable',
      'drover_bridge_plans{phase="Executed"}',
      'drover_bridge_cache_objects{kind="DRPlanExecution"}',
      'drover_ready{program="bridge"}',
      'drover_seal_keys{program="bridge"}',
    ]) {
      expect(valueOf(bridge, series), series).toBeGreaterThan(0);
    }
    expect(bridge).toMatch(
      /^drover_api_requests_total\{program="bridge",verb="watch",resource="drplans\.dr\S+",code="200"\} \d/m,
    );
    expect(worker).toMatch(/^drover_api_requests_total\{program="worker",verb="get",.*code="200"\} \d/m);
    for (const page of [bridge, worker]) expect(page).not.toContain(stack.namespace);
  });
});
