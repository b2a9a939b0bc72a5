import { describe, expect, it } from 'vitest';
import { parseOptions } from './options.js';
import { SCENARIOS } from './scenarios/index.js';

const parse = (...argv: string[]) => parseOptions(argv, SCENARIOS);
const run = (...argv: string[]) => {
  const parsed = parse(...argv);
  if (parsed.kind !== 'run') throw new Error(JSON.stringify(parsed));
  return parsed.options;
};

describe('the command line', () => {
  it('teaches when nothing is asked for', () => {
    expect(parse()).toMatchObject({ kind: 'help', text: expect.stringContaining('--compare FILE') });
    expect(parse('latency', '--help').kind).toBe('help');
  });
  it('lists every scenario with its sizes', () => {
    const listed = parse('list');
    for (const { name } of SCENARIOS) expect(listed).toMatchObject({ text: expect.stringContaining(name) });
    expect(listed).toMatchObject({ text: expect.stringContaining('executions=5000') });
  });
  it('reads a fleet for the model', () => {
    expect(parse('model', '--from', 'a.json', '--clusters', '7', '--temporal-cores', '16')).toEqual({
      kind: 'model',
      from: 'a.json',
      shape: '3x3',
      fleet: { clusters: 7, plans: 50, clusterCores: 2, workers: 1, temporalCores: 16, databaseCores: 4 },
    });
    expect(parse('model')).toMatchObject({
      kind: 'invalid',
      message: expect.stringContaining('--from FILE'),
    });
  });
  it('names the scenario that was probably meant', () => {
    expect(parse('latncy')).toMatchObject({
      kind: 'invalid',
      message: expect.stringContaining('did you mean "latency"?'),
    });
  });
  it('runs scenarios in their own order, each once', () => {
    const { scenarios } = run('burst', 'latency', 'burst');
    expect(scenarios.map(({ name }) => name)).toEqual(['latency', 'burst']);
  });
  it('takes sizes, environment and processes as pairs', () => {
    const options = run(
      'burst',
      'latency',
      '--runs',
      '5',
      '--set',
      'executions=50',
      '--env',
      'A=b=c',
      '--pid',
      'x=12',
    );
    expect(options).toMatchObject({
      sizes: { runs: 5, executions: 50 },
      env: { A: 'b=c' },
      pids: { x: 12 },
      durable: false,
    });
    expect(options.repeat).toBeUndefined();
  });
  it('keeps what is told of another controller', () => {
    const options = run('latency', '--peer', 'kubevela', '--peer-version', 'v0.7.2, no webhooks');
    expect(options).toMatchObject({ peer: 'kubevela', peerVersion: 'v0.7.2, no webhooks' });
    expect(run('latency')).not.toHaveProperty('peerVersion');
  });
  it.each([
    [['latency', '--set', 'executions=5'], /no chosen scenario has a size "executions"; they have: runs/],
    [['latency', '--runs', 'many'], /--runs many: give a whole number/],
    [['latency', '--set', 'runs'], /--set runs: give NAME=VALUE/],
    [['latency', '--peer', 'argo'], /--peer argo: give one of drover, bcs, kubevela/],
    [['burst', '--peer', 'bcs'], /"burst" measures what only Drover has/],
    [['latency', '--kubeconfig', 'a', '--data-dir', 'b'], /give one of them/],
    [['latency', '--wrong'], /--wrong/],
  ])('refuses %j', (argv, message) => {
    expect(parse(...argv)).toMatchObject({ kind: 'invalid', message: expect.stringMatching(message) });
  });
  it('leaves out what another controller does not have', () => {
    expect(run('all', '--peer', 'kubevela').scenarios.map(({ name }) => name)).toEqual([
      'latency',
      'throughput',
      'concurrency',
      'cancel',
      'resume',
    ]);
  });
});
