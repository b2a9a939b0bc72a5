import type { Results } from '../report/results.js';
import { predict, predictTogether } from './model.js';
import type { Fleet, RunCosts } from './model.js';

const PROCESSES = ['temporal', 'worker', 'bridge', 'apiserver', 'etcd'] as const;

/**
 * The lines of `npm run bench -- model`: the model held against the measurement it is made from, and the prediction.
 *
 * @throws Error when the file has no scenario `throughput` with that shape
 */
export function modelLines(results: Results, options: { shape: string; fleet: Fleet }): string[] {
  const { shape, fleet } = options;
  const scenario = results.scenarios.find((one) => one.scenario === 'throughput');
  const known = (name: string): number | undefined =>
    scenario?.figures.find((one) => one.name === name)?.median;
  const figure = (name: string): number => {
    const found = known(name);
    if (found === undefined)
      throw new Error(
        `the file has no figure "${name}" of the scenario throughput; write one with: npm run bench -- throughput --out FILE`,
      );
    return found;
  };
  const postgres = known(`${shape} CPU per run, postgres`);
  const parts = [
    ...PROCESSES.map((name) => [name, figure(`${shape} CPU per run, ${name}`)] as const),
    ...(postgres === undefined ? [] : [['postgres', postgres] as const]),
  ];
  const costs = Object.fromEntries(parts) as unknown as RunCosts;
  const measured = figure(`${shape} all ended after`);
  const runs = Math.round((figure(`${shape} throughput`) * measured) / 60);
  const { cores } = results.machine;
  const together = predictTogether(costs, { cores, runs });
  const prediction = predict(costs, fleet);
  return [
    `a ${shape} run costs ${parts.reduce((sum, [, value]) => sum + value, 0).toFixed(3)} CPU seconds: ${parts.map(([name, value]) => `${name} ${value.toFixed(3)}`).join(', ')}`,
    `measured here: ${runs} runs at once in ${measured.toFixed(1)} s on ${cores} cores; the model says ${together.toFixed(1)} s (${(together / measured).toFixed(2)} of it)`,
    '',
    `${fleet.clusters} clusters x ${fleet.plans} plans at once: ${prediction.runs} runs end within ${prediction.seconds.toFixed(0)} s, ${prediction.runsPerMinute.toFixed(0)} a minute`,
    ...prediction.passages.map(({ name, seconds }) => `  ${seconds.toFixed(1).padStart(8)} s  ${name}`),
  ];
}
