import { join } from 'node:path';
import { packageRoot } from '../../runtime/package-root.js';
import type { Scenario } from '../lib/bench.js';
import { type CommandUsage, installCommands, type InstalledCommands } from '../lib/command.js';
import type { Figure } from '../lib/figures.js';
import { execute, expectSuccess, prepareRuns } from '../lib/load.js';
import { during } from '../lib/progress.js';
import { median, percentile } from '../lib/statistics.js';

export const commands: Scenario = {
  name: 'commands',
  summary: 'commands of the command line from start to end, one after another',
  sizes: {
    times: { value: 15, meaning: 'times that each command is run' },
    executions: { value: 10, meaning: 'executions that "get" lists' },
  },
  async run(bench) {
    const planned = await prepareRuns(bench, {
      shape: { stages: 1, actions: 1 },
      count: bench.size('executions'),
    });
    expectSuccess(
      bench,
      await execute(bench, planned, { parallel: 4, limitMs: 300_000, text: 'runs first' }),
    );
    const [first] = planned;
    if (first === undefined) throw new Error('there has to be an execution');
    const cluster = ['--kubeconfig', bench.system.kubeconfig, '-n', first.namespace];
    const shown: Record<string, readonly string[]> = {
      help: ['--help'],
      get: [...cluster, 'get'],
      'get as YAML': [...cluster, 'get', '-o', 'yaml'],
      describe: [...cluster, 'describe', `execution/${first.name}`],
      validate: ['validate', join(packageRoot(), 'examples', 'minimal', 'plan.yaml')],
    };
    const installed = await installCommands();
    try {
      return await during(bench.progress, 'running commands', () =>
        figuresOf(installed, shown, bench.size('times')),
      );
    } finally {
      await installed.close();
    }
  },
};

/** In turn, so that a busy moment of the machine strikes all of them. */
async function figuresOf(
  installed: InstalledCommands,
  shown: Record<string, readonly string[]>,
  times: number,
): Promise<Figure[]> {
  const used = new Map<string, CommandUsage[]>(Object.keys(shown).map((name) => [name, []]));
  for (let time = 0; time <= times; time += 1) {
    for (const [name, args] of Object.entries(shown)) {
      const usage = await installed.run(args);
      // The first time reads files from the disk.
      if (time > 0) used.get(name)?.push(usage);
    }
  }
  return [...used].flatMap(([name, usages]): Figure[] => {
    const all = (part: keyof CommandUsage): number[] => usages.map((usage) => usage[part]);
    return [
      { name: `${name} p50`, value: median(all('ms')), unit: 'ms', better: 'lower' },
      { name: `${name} p90`, value: percentile(all('ms'), 90), unit: 'ms', better: 'lower', detail: true },
      { name: `${name} CPU`, value: median(all('cpuSeconds')), unit: 'CPU s', better: 'lower' },
      { name: `${name} memory peak`, value: median(all('peakMiB')), unit: 'MiB', better: 'lower' },
    ];
  });
}
