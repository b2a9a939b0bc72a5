import type { Style } from '../../client/cli/core/render/style.js';
import { table } from '../../client/cli/core/render/table.js';
import { ratio } from '../lib/statistics.js';
import { TARGETS } from '../targets.js';
import type { Results, ScenarioResult, Summary } from './results.js';
import { judge } from './verdict.js';

/** A change below this is noise on a shared machine. */
const NOISE = 0.05;

/** What the report is made with. */
export interface ReportOptions {
  style: Style;
  /** Shows every figure, not only those that matter most. */
  all: boolean;
  earlier?: Results;
}

/** A measurement as lines of text. */
export function reportLines(results: Results, options: ReportOptions): string[] {
  const { versions, machine } = results;
  const { bold, dim } = options.style;
  return [
    bold(`${results.peer}${versions.peer === undefined ? '' : ` (${versions.peer})`}, ${results.setting}`),
    dim(
      [
        `drover ${versions.drover}${versions.commit === undefined ? '' : ` (${versions.commit})`}`,
        `node ${versions.node}`,
        `Kubernetes ${versions.kubernetes}`,
        ...(versions.temporal === undefined ? [] : [`Temporal ${versions.temporal}`]),
      ].join(', '),
    ),
    dim(`${machine.cpu}, ${machine.cores} cores, ${machine.memoryGiB} GiB, ${machine.platform}`),
    ...Object.entries(results.env).map(([name, value]) => dim(`${name}=${value}`)),
    ...results.scenarios.flatMap((scenario) => ['', ...scenarioLines(results, scenario, options)]),
    ...results.failures.flatMap(({ scenario, why }) => [
      '',
      options.style.bad(`${scenario}: not measured: ${why}`),
    ]),
  ];
}

function scenarioLines(results: Results, scenario: ScenarioResult, options: ReportOptions): string[] {
  const { style, all, earlier } = options;
  const before = earlier?.scenarios.find((other) => other.scenario === scenario.scenario);
  const sizes = Object.entries(scenario.sizes).map(([name, value]) => `${name} ${value}`);
  const { load } = scenario;
  const shown = scenario.figures.filter(({ detail }) => all || detail !== true);
  const rows = shown.map((figure) => {
    const verdict = judge(TARGETS, results, scenario, figure);
    const color = { met: style.good, missed: style.bad, excused: style.warn };
    return [
      figure.name,
      `${number(figure.median)}${figure.unit === '' ? '' : ` ${figure.unit}`}`,
      figure.values.length > 1 ? `${number(figure.min)} - ${number(figure.max)}` : '',
      ...(earlier === undefined ? [] : [comparison(figure, before, style)]),
      verdict === undefined ? '' : color[verdict.kind](verdict.text),
    ];
  });
  const header = [
    'figure',
    'median',
    'least - most',
    ...(earlier === undefined ? [] : ['vs earlier']),
    'target',
  ];
  return [
    `${style.bold(scenario.scenario)} ${style.dim(
      `(${[...sizes, `${scenario.repetitions}x`, `load ${load.before} before, ${load.mean} mean, ${load.max} most`].join(', ')})`,
    )}`,
    ...table(header, rows).map((line) => `  ${line}`),
    ...scenario.notes.map((note) => style.warn(`  ! ${note}`)),
    ...(earlier !== undefined && before !== undefined && !sameSizes(before, scenario)
      ? [style.warn('  ! the earlier measurement had other sizes')]
      : []),
  ];
}

const sameSizes = (one: ScenarioResult, other: ScenarioResult): boolean =>
  Object.keys({ ...one.sizes, ...other.sizes }).every((name) => one.sizes[name] === other.sizes[name]);

/** How a figure stands to the earlier one: `0.82x`. */
export function comparison(figure: Summary, before: ScenarioResult | undefined, style: Style): string {
  const earlier = before?.figures.find(({ name }) => name === figure.name);
  if (earlier === undefined) return '';
  if (earlier.median === figure.median) return style.dim('same');
  const times = ratio(figure.median, earlier.median);
  if (times === undefined) return `was ${number(earlier.median)}`;
  const text = `${times.toFixed(2)}x`;
  if (figure.better === undefined || Math.abs(times - 1) < NOISE) return style.dim(text);
  return times < 1 === (figure.better === 'lower') ? style.good(text) : style.bad(text);
}

/** Three digits that matter. */
export function number(value: number): string {
  if (!Number.isFinite(value)) return '-';
  const size = Math.abs(value);
  if (size >= 100) return value.toFixed(0);
  if (size >= 10 || Number.isInteger(value)) return value.toFixed(Number.isInteger(value) ? 0 : 1);
  return value.toFixed(size >= 1 ? 2 : 3);
}
