import { describe, expect, it } from 'vitest';
import { createStyle } from '../../client/cli/core/render/style.js';
import { TARGETS } from '../targets.js';
import type { Target } from '../targets.js';
import { SCENARIOS } from '../scenarios/index.js';
import { summarize } from './results.js';
import type { Results, ScenarioResult } from './results.js';
import { comparison, number, reportLines } from './text.js';
import { judge } from './verdict.js';

const plain = createStyle({ color: false, unicode: false });
const scenario = (name: string, figures: Record<string, number[]>, sizes = {}): ScenarioResult => ({
  scenario: name,
  sizes,
  repetitions: 1,
  figures: Object.entries(figures).flatMap(([figure, values]) =>
    summarize(values.map((value) => [{ name: figure, value, unit: 'ms', better: 'lower' }])),
  ),
  notes: [],
  load: { before: 0, mean: 0, max: 0 },
  seconds: 1,
});
const results = (...scenarios: ScenarioResult[]): Results => ({
  format: 1,
  startedAt: '2026-01-01T00:00:00Z',
  peer: 'drover',
  setting: 'ephemeral',
  env: {},
  versions: { drover: '1', node: '20', kubernetes: 'v1' },
  machine: { cpu: 'x', cores: 2, memoryGiB: 8, platform: 'linux x64' },
  scenarios,
  failures: [],
});

describe('repetitions', () => {
  it('are brought together by their median', () => {
    const [summary] = summarize([30, 10, 20].map((value) => [{ name: 'p50', value, unit: 'ms' }]));
    expect(summary).toEqual({ name: 'p50', unit: 'ms', median: 20, min: 10, max: 30, values: [30, 10, 20] });
  });
  it('may lack a figure', () => {
    const [, rare] = summarize([
      [{ name: 'a', value: 1, unit: '' }],
      [
        { name: 'a', value: 1, unit: '' },
        { name: 'b', value: 5, unit: '' },
      ],
    ]);
    expect(rare?.values).toEqual([5]);
  });
});

describe('targets', () => {
  const target: Target = {
    scenario: 'latency',
    figure: '1x1 p50',
    must: { atMost: 180 },
    stretch: 140,
    sizes: { runs: 50 },
    floor: '1x1 p50',
  };
  const verdict = (value: number, more: { floor?: number; runs?: number } = {}) => {
    const own = scenario('latency', { '1x1 p50': [value] }, { runs: more.runs ?? 50 });
    const floor = more.floor === undefined ? [] : [scenario('floor', { '1x1 p50': [more.floor] })];
    return judge([target], results(own, ...floor), own, { name: '1x1 p50', median: value });
  };
  it('are met or missed', () => {
    expect(verdict(180)).toEqual({ kind: 'met', text: '<= 180 (140) met' });
    expect(verdict(140)).toEqual({ kind: 'met', text: '<= 180 (140) met, stretch too' });
    expect(verdict(181)).toEqual({ kind: 'missed', text: '<= 180 (140) missed' });
  });
  it('say nothing about a smaller size', () => {
    expect(verdict(500, { runs: 10 })).toBeUndefined();
  });
  it('are excused where an empty run takes nearly as long', () => {
    expect(verdict(200, { floor: 180 })).toMatchObject({ kind: 'excused' });
    expect(verdict(200, { floor: 100 })).toEqual({
      kind: 'missed',
      text: '<= 180 (140) missed; an empty run is 50 % of it',
    });
  });
  it('turn the share round where more is better', () => {
    const rate: Target = {
      scenario: 'throughput',
      figure: '1x1 throughput',
      must: { atLeast: 450 },
      floor: '1x1 throughput',
    };
    const own = scenario('throughput', { '1x1 throughput': [400] });
    const all = results(own, scenario('floor', { '1x1 throughput': [440] }));
    expect(judge([rate], all, own, { name: '1x1 throughput', median: 400 })?.kind).toBe('excused');
  });
  it('are set for scenarios and sizes that there are', () => {
    for (const { scenario: name, sizes = {} } of TARGETS) {
      const known = SCENARIOS.find((item) => item.name === name);
      expect(Object.keys(known?.sizes ?? {}), name).toEqual(expect.arrayContaining(Object.keys(sizes)));
    }
  });
});

describe('the report', () => {
  it('shows how a figure stands to an earlier one', () => {
    const before = scenario('latency', { '1x1 p50': [200] });
    const of = (value: number) => scenario('latency', { '1x1 p50': [value] }).figures[0]!;
    expect(comparison(of(100), before, plain)).toBe('0.50x');
    expect(comparison(of(200), before, plain)).toBe('same');
    expect(comparison(of(100), undefined, plain)).toBe('');
    const colored = createStyle({ color: true, unicode: false });
    expect(comparison(of(100), before, colored)).toBe(colored.good('0.50x'));
    expect(comparison(of(300), before, colored)).toBe(colored.bad('1.50x'));
    expect(comparison(of(204), before, colored)).toBe(colored.dim('1.02x'));
  });
  it('is plain text without a terminal, with the target in the last column', () => {
    const lines = reportLines(results(scenario('latency', { '1x1 p50': [150] })), {
      style: plain,
      all: false,
    });
    expect(lines.join('\n')).not.toContain('\u001b');
    expect(lines.find((line) => line.includes('1x1 p50'))).toMatch(/150 ms\s+<= 180 \(140\) met$/);
  });
  it('begins with what was measured, and its version where that is not Drover', () => {
    const measured = results(scenario('latency', { '1x1 p50': [150] }));
    const first = (all: Results): string | undefined => reportLines(all, { style: plain, all: false })[0];
    expect(first(measured)).toBe('drover, ephemeral');
    const versions = { ...measured.versions, peer: 'v0.7.2' };
    expect(first({ ...measured, peer: 'kubevela', versions })).toBe('kubevela (v0.7.2), ephemeral');
  });
  it.each([
    [1234.5, '1235'],
    [42.25, '42.3'],
    [7, '7'],
    [1.234, '1.23'],
    [0.0456, '0.046'],
    [Number.NaN, '-'],
  ])('writes %d as %s', (value, text) => {
    expect(number(value)).toBe(text);
  });
});
