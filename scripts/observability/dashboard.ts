/**
 * Dashboards in Grafana's own format from what is particular to each: titles, expressions, units. The data source is a
 * variable, so a dashboard works wherever it is imported.
 */

/** One line of a panel. */
export interface Query {
  expr: string;
  /** Its name, with labels in double braces. */
  legend: string;
}

/** Units in Grafana's words. */
export type Unit = 'short' | 's' | 'bytes' | 'reqps' | 'cps' | 'percentunit' | 'cores';

/** A panel. */
export interface Panel {
  title: string;
  /** What it tells, and when to look closer. */
  description: string;
  unit: Unit;
  queries: Query[];
  /** A single number instead of lines over time (default lines). */
  kind?: 'lines' | 'number' | 'table';
  /** Number: from this value on it is red; `below` means up to it. */
  alarm?: { at: number; below?: true };
  /** Lines: puts them on top of each other. */
  stacked?: true;
}

/** A dashboard: rows of panels. */
export interface Dashboard {
  /** Part of its address, and the name of its file. */
  uid: string;
  title: string;
  description: string;
  rows: { title: string; panels: Panel[] }[];
}

const COLUMNS = 24;
const SIZES = { lines: { w: 8, h: 8 }, number: { w: 4, h: 4 }, table: { w: 12, h: 8 } } as const;
const SOURCE = { type: 'prometheus', uid: '${datasource}' };
/** Grafana's name for what it has; a newer one reads it. */
const SCHEMA_VERSION = 39;

/** The file of a dashboard. */
export function dashboardFile(dashboard: Dashboard): string {
  return `${JSON.stringify(dashboardJson(dashboard), undefined, 2)}\n`;
}

function dashboardJson({ uid, title, description, rows }: Dashboard): object {
  return {
    uid,
    title,
    description,
    tags: ['drover'],
    editable: true,
    schemaVersion: SCHEMA_VERSION,
    refresh: '30s',
    time: { from: 'now-3h', to: 'now' },
    timezone: 'browser',
    links: [
      {
        type: 'dashboards',
        title: 'Drover',
        tags: ['drover'],
        asDropdown: true,
        includeVars: true,
        keepTime: true,
      },
    ],
    templating: {
      list: [{ name: 'datasource', label: 'Data source', type: 'datasource', query: 'prometheus' }],
    },
    panels: layOut(rows),
  };
}

function layOut(rows: Dashboard['rows']): object[] {
  const panels: object[] = [];
  let y = 0;
  for (const row of rows) {
    panels.push({
      id: panels.length + 1,
      type: 'row',
      title: row.title,
      collapsed: false,
      gridPos: { x: 0, y, w: COLUMNS, h: 1 },
      panels: [],
    });
    y += 1;
    let x = 0;
    let height = 0;
    for (const panel of row.panels) {
      const { w, h } = SIZES[panel.kind ?? 'lines'];
      if (x + w > COLUMNS) {
        x = 0;
        y += height;
        height = 0;
      }
      panels.push({ id: panels.length + 1, ...panelJson(panel), gridPos: { x, y, w, h } });
      x += w;
      height = Math.max(height, h);
    }
    y += height;
  }
  return panels;
}

function panelJson(panel: Panel): object {
  const { title, description, queries, kind = 'lines' } = panel;
  const isInstant = kind !== 'lines';
  return {
    type: { lines: 'timeseries', number: 'stat', table: 'table' }[kind],
    title,
    description,
    datasource: SOURCE,
    targets: queries.map(({ expr, legend }, index) => ({
      refId: String.fromCharCode(65 + index),
      datasource: SOURCE,
      expr,
      legendFormat: legend,
      ...(isInstant && { instant: true, range: false }),
      ...(kind === 'table' && { format: 'table' }),
    })),
    fieldConfig: { defaults: defaultsOf(panel), overrides: [] },
    options: optionsOf(kind),
  };
}

function defaultsOf({ unit, kind = 'lines', alarm, stacked }: Panel): object {
  const isAlarming = kind === 'number' && alarm !== undefined;
  return {
    unit,
    ...(isAlarming && { color: { mode: 'thresholds' }, thresholds: thresholdsOf(alarm) }),
    ...(kind === 'lines' && {
      min: 0,
      custom: {
        lineWidth: 1,
        fillOpacity: stacked === true ? 30 : 5,
        showPoints: 'never',
        ...(stacked === true && { stacking: { mode: 'normal', group: 'A' } }),
      },
    }),
  };
}

const thresholdsOf = ({ at, below }: NonNullable<Panel['alarm']>): object => ({
  mode: 'absolute',
  steps: [
    { value: null, color: below === true ? 'red' : 'green' },
    { value: at, color: below === true ? 'green' : 'red' },
  ],
});

function optionsOf(kind: NonNullable<Panel['kind']>): object {
  switch (kind) {
    case 'lines':
      return {
        legend: { displayMode: 'list', placement: 'bottom', showLegend: true },
        tooltip: { mode: 'multi', sort: 'desc' },
      };
    case 'number':
      return { colorMode: 'value', graphMode: 'area', reduceOptions: { calcs: ['lastNotNull'] } };
    case 'table':
      return { showHeader: true };
  }
}

/** The quantiles of a histogram over time, by some of its labels. */
export function quantiles(
  metric: string,
  { by = [], of = [0.5, 0.99], where = '' }: { by?: string[]; of?: number[]; where?: string } = {},
): Query[] {
  const groups = ['le', ...by].join(', ');
  const name = by.map((label) => `{{${label}}}`).join(' ');
  return of.map((quantile) => ({
    expr: `histogram_quantile(${quantile}, sum by (${groups}) (rate(${metric}_bucket${where}[$__rate_interval])))`,
    legend: [name, `p${quantile * 100}`].filter((part) => part !== '').join(' '),
  }));
}

/** How long tasks wait until a worker takes them: the slowest hundredth, by task queue. */
export const slotWaits = (): Query[] =>
  ['activity', 'workflow_task'].flatMap((task) =>
    quantiles(`temporal_${task}_schedule_to_start_latency_seconds`, { by: ['task_queue'], of: [0.99] }),
  );

/** How often something is counted a second, by some of its labels. */
export const rates = (metric: string, by: string[], where = ''): Query => ({
  expr: `sum by (${by.join(', ')}) (rate(${metric}${where}[$__rate_interval]))`,
  legend: by.map((label) => `{{${label}}}`).join(' '),
});

/** What each replica tells as a whole. */
export const whole = (metric: string, by: string[], where = ''): Query => ({
  expr: `max by (${by.join(', ')}) (${metric}${where})`,
  legend: by.map((label) => `{{${label}}}`).join(' '),
});
