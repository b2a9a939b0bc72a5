import { expect, it } from 'vitest';
import type { Results } from '../report/results.js';
import { predict, predictTogether } from './model.js';
import { modelLines } from './report.js';

const costs = { temporal: 0.2, worker: 0.1, bridge: 0.04, apiserver: 0.1, etcd: 0.02 };
const fleet = { clusters: 100, plans: 50, clusterCores: 2, workers: 1, temporalCores: 8, databaseCores: 4 };

it('is bound by what all clusters share when there are many', () => {
  const { seconds, passages, runs, runsPerMinute } = predict(costs, fleet);
  expect(runs).toBe(5000);
  expect(passages[0]?.name).toBe('Temporal, 8 cores for all');
  expect(seconds).toBeCloseTo((5000 * 0.2) / 8 / 0.85);
  expect(runsPerMinute).toBeCloseTo((5000 / seconds) * 60);
});

it('knows the database where it was measured', () => {
  expect(predict(costs, fleet).passages.map(({ name }) => name)).not.toContain('PostgreSQL, 4 cores for all');
  const measured = { ...costs, postgres: 0.15 };
  expect(predict(measured, fleet).passages[0]).toEqual({
    name: 'PostgreSQL, 4 cores for all',
    seconds: (5000 * 0.15) / 4 / 0.85,
  });
  expect(predictTogether(measured, { cores: 2, runs: 100 })).toBeCloseTo((100 * 0.61) / 2 / 0.85);
});

it('is bound by the cluster when it is alone, and by one thread when the cluster has cores to spare', () => {
  const alone = { ...fleet, clusters: 1 };
  expect(predict(costs, alone).passages[0]?.name).toBe('a cluster, 2 cores');
  const large = { ...alone, clusterCores: 64, temporalCores: 64 };
  expect(predict(costs, large).passages[0]?.name).toBe('workflow thread of the worker of a cluster');
  expect(predict(costs, { ...large, workers: 4 }).passages[0]?.name).toBe(
    'the bridge of a cluster, one thread',
  );
});

it('adds everything up where it runs on one machine', () => {
  expect(predictTogether(costs, { cores: 2, runs: 100 })).toBeCloseTo((100 * 0.46) / 2 / 0.85);
});

function results(names: Record<string, number>): Results {
  const figures = Object.entries(names).map(([name, value]) => ({
    name,
    unit: 's' as const,
    median: value,
    min: value,
    max: value,
    values: [value],
  }));
  return {
    machine: { cpu: 'x', cores: 2, memoryGiB: 8, platform: 'linux x64' },
    scenarios: [{ scenario: 'throughput', figures }],
  } as unknown as Results;
}

it('reads a measurement, and is held against it', () => {
  const lines = modelLines(
    results({
      '3x3 throughput': 200,
      '3x3 all ended after': 30,
      ...Object.fromEntries(
        Object.entries(costs).map(([name, value]) => [`3x3 CPU per run, ${name}`, value]),
      ),
    }),
    { shape: '3x3', fleet },
  );
  expect(lines[0]).toContain('0.460 CPU seconds');
  expect(lines[1]).toBe(
    'measured here: 100 runs at once in 30.0 s on 2 cores; the model says 27.1 s (0.90 of it)',
  );
  expect(lines[3]).toContain('5000 runs end within 147 s');
});

it('says what is missing', () => {
  expect(() => modelLines(results({}), { shape: '3x3', fleet })).toThrow(
    'no figure "3x3 CPU per run, temporal" of the scenario throughput; write one with: npm run bench -- throughput --out FILE',
  );
});
