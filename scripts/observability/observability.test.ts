/** Metrics, dashboards, alert rules and runbooks fit together. */
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { anchorsOf } from '../rules/citations.js';
import { dashboardFile } from './dashboard.js';
import type { Panel } from './dashboard.js';
import { ALERTS, DASHBOARDS } from './files.js';
import { groupingsIn, metricsIn } from './metrics-in.js';
import { seriesOf } from './metric-row.js';
import type { MetricRow } from './metric-row.js';
import { metricTable } from './metric-table.js';

interface Rule {
  alert: string;
  expr: string;
  for?: string;
  labels: Record<string, string>;
  annotations: Record<string, string>;
}

const read = (path: string): string => readFileSync(path, 'utf8');
const table = metricTable();
const rows: MetricRow[] = [...table.own, ...table.sdk, ...table.process];
const bySeries = new Map(rows.flatMap((row) => seriesOf(row).map((series) => [series, row] as const)));
const { groups } = parse(read(ALERTS)) as { groups: { rules: Rule[] }[] };
const alerts = groups.flatMap(({ rules }) => rules);
const panels: Panel[] = DASHBOARDS.flatMap((dashboard) => dashboard.rows.flatMap((row) => row.panels));
const expressions = [
  ...panels.flatMap(({ title, queries }) => queries.map(({ expr }) => [title, expr] as const)),
  ...alerts.map(({ alert, expr }) => [alert, expr] as const),
];
/** Labels that scraping adds, and that of buckets. */
const SCRAPED = ['job', 'instance', 'le'];

describe('metrics', () => {
  it('are there: dozens, each once and with a help', () => {
    expect(table.own.length).toBeGreaterThan(35);
    expect(new Set(rows.map(({ name }) => name)).size).toBe(rows.length);
    for (const { name, help } of rows) expect(help, name).toMatch(/^[A-Z].*\.$/s);
  });

  it.each(table.own.map((row) => [row.name, row] as const))('%s is named by the convention', (name, row) => {
    expect(name).toMatch(/^drover_[a-z0-9_]+$/);
    expect(name.endsWith('_total')).toBe(row.type === 'counter');
    if (row.type === 'histogram') expect(name).toMatch(/_seconds$/);
    expect(name).not.toMatch(/_(ms|milliseconds|minutes|kb|megabytes|percent)(_|$)/);
  });

  it('name no objects', () => {
    const bounded = new Set([
      ...[
        'program',
        'version',
        'verb',
        'resource',
        'code',
        'kind',
        'result',
        'operation',
        'outcome',
        'phase',
      ],
      ...['reason', 'state', 'type', 'by'],
    ]);
    for (const { name, labels } of table.own)
      expect(
        labels.filter((label) => !bounded.has(label)),
        name,
      ).toEqual([]);
  });
});

describe('what is built on metrics', () => {
  it.each(expressions)('%s reads what there is, by labels that it has', (_, expression) => {
    const read = metricsIn(expression);
    expect(read.length).toBeGreaterThan(0);
    const known = new Set(SCRAPED);
    for (const { series, labels } of read) {
      const row = bySeries.get(series);
      expect(row, series).toBeDefined();
      for (const label of row?.labels ?? []) known.add(label);
      expect(
        labels.filter((label) => row?.labels.includes(label) !== true),
        series,
      ).toEqual([]);
    }
    expect(groupingsIn(expression).filter((label) => !known.has(label))).toEqual([]);
  });

  it('leaves no metric of Drover unused', () => {
    const used = new Set(expressions.flatMap(([, expr]) => metricsIn(expr).map(({ series }) => series)));
    const unused = table.own.filter((row) => !seriesOf(row).some((series) => used.has(series)));
    expect(unused.map(({ name }) => name)).toEqual([]);
  });
});

describe('dashboards', () => {
  it.each(DASHBOARDS.map((dashboard) => [dashboard.title, dashboard] as const))(
    '%s works with any data source, anywhere',
    (_, dashboard) => {
      const text = dashboardFile(dashboard);
      expect(text).not.toMatch(/https?:|localhost|\d+\.\d+\.\d+\.\d+/);
      const { panels, templating } = JSON.parse(text) as {
        panels: {
          id: number;
          type: string;
          datasource?: { uid: string };
          gridPos: { x: number; w: number };
        }[];
        templating: { list: { name: string; type: string }[] };
      };
      expect(templating.list).toMatchObject([{ name: 'datasource', type: 'datasource' }]);
      expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
      for (const panel of panels) {
        expect(panel.gridPos.x + panel.gridPos.w).toBeLessThanOrEqual(24);
        if (panel.type !== 'row') expect(panel.datasource?.uid).toBe('${datasource}');
      }
    },
  );

  it('say of every panel what it tells', () => {
    for (const { title, description } of panels) expect(description.length, title).toBeGreaterThan(10);
  });
});

describe('alerts', () => {
  const runbooks = read('docs/runbooks.md');

  it.each(alerts.map((rule) => [rule.alert, rule] as const))(
    '%s says how bad it is, what it means and what to do',
    (alert, { for: after, labels, annotations }) => {
      expect(after).toMatch(/^\d+[mh]$/);
      expect(['critical', 'warning']).toContain(labels.severity);
      expect(annotations.summary).toMatch(/^\S.{10,}/);
      expect(annotations.description).toMatch(/^\S.{20,}\.$/);
      expect(annotations.runbook_url).toBe(`docs/runbooks.md#${alert.toLowerCase()}`);
      expect(anchorsOf(runbooks)).toContain(alert.toLowerCase());
    },
  );

  it('have a section each, and there are no others', () => {
    const sections = [...runbooks.matchAll(/^## (\w+)$/gm)].map(([, title]) => title);
    expect(sections).toEqual(expect.arrayContaining(alerts.map(({ alert }) => alert)));
    expect(sections).toHaveLength(alerts.length);
  });

  it('have a test each in which they fire', () => {
    const { tests } = parse(read('test/observability/alerts.test.yaml')) as {
      tests: { alert_rule_test: { alertname: string; exp_alerts?: object[] }[] }[];
    };
    const fired = new Set(
      tests.flatMap(({ alert_rule_test }) =>
        alert_rule_test.flatMap(({ alertname, exp_alerts = [] }) =>
          exp_alerts.length > 0 ? [alertname] : [],
        ),
      ),
    );
    expect(alerts.map(({ alert }) => alert).filter((alert) => !fired.has(alert))).toEqual([]);
  });
});

describe('the series that an expression reads', () => {
  it('are found with the labels of their selectors', () => {
    expect(
      metricsIn(
        'sum by (le) (rate(drover_a_seconds_bucket{x="1", y!~"z"}[5m])) / temporal_b_total > process_c',
      ),
    ).toEqual([
      { series: 'drover_a_seconds_bucket', labels: ['x', 'y'] },
      { series: 'temporal_b_total', labels: [] },
      { series: 'process_c', labels: [] },
    ]);
    expect(groupingsIn('sum by (a, b) (x) * on (job) group_left (c) y')).toEqual(['a', 'b', 'job']);
  });
});
