import { parseArgs } from 'node:util';
import { nearNames } from '../api/core/near.js';
import type { Scenario } from './lib/bench.js';
import type { Fleet } from './model/model.js';
import { PEERS } from './peers/index.js';
import type { PeerName } from './peers/index.js';

/** What was asked for on the command line. */
export interface BenchOptions {
  scenarios: Scenario[];
  peer: PeerName;
  dataDir?: string;
  kubeconfig?: string;
  temporal?: string;
  temporalNamespace: string;
  durable: boolean;
  /** Absent: three, or once for scenarios that take long. */
  repeat?: number;
  /** Sizes by name, for the scenarios that have them. */
  sizes: Record<string, number>;
  out?: string;
  compare?: string;
  all: boolean;
  env: Record<string, string>;
  profile?: string;
  recorderHost?: string;
  recorderPort?: number;
  serviceAccount?: string;
  step?: string;
  stepNamespace?: string;
  /** What the other controller is, for the report. */
  peerVersion?: string;
  pids: Record<string, number>;
  kill?: string;
  restart?: string;
}

/** The options, a text to show, or what is wrong with them. */
export type ParsedOptions =
  | { kind: 'run'; options: BenchOptions }
  | { kind: 'model'; from: string; shape: string; fleet: Fleet }
  | { kind: 'help' | 'list'; text: string }
  | { kind: 'invalid'; message: string };

const text = { type: 'string' } as const;
const several = { type: 'string', multiple: true } as const;
const flag = { type: 'boolean', default: false } as const;

const OPTIONS = {
  help: flag,
  peer: text,
  'data-dir': text,
  kubeconfig: text,
  temporal: text,
  'temporal-namespace': text,
  durable: flag,
  repeat: text,
  runs: text,
  set: several,
  out: text,
  compare: text,
  all: flag,
  env: several,
  profile: text,
  'recorder-host': text,
  'recorder-port': text,
  'service-account': text,
  'peer-step': text,
  'peer-step-namespace': text,
  'peer-version': text,
  pid: several,
  kill: text,
  restart: text,
  from: text,
  shape: text,
  clusters: text,
  plans: text,
  'cluster-cores': text,
  workers: text,
  'temporal-cores': text,
  'database-cores': text,
} as const;

/** A hundred clusters of fifty plans on modest machines. */
const FLEET = {
  clusters: 100,
  plans: 50,
  'cluster-cores': 2,
  workers: 1,
  'temporal-cores': 8,
  'database-cores': 4,
} as const;

/** Reads the command line. */
export function parseOptions(argv: readonly string[], known: readonly Scenario[]): ParsedOptions {
  try {
    return read(argv, known);
  } catch (error) {
    return { kind: 'invalid', message: (error as Error).message };
  }
}

function read(argv: readonly string[], known: readonly Scenario[]): ParsedOptions {
  const { values, positionals } = parseArgs({ args: [...argv], options: OPTIONS, allowPositionals: true });
  if (values.help) return { kind: 'help', text: helpText(known) };
  if (positionals[0] === 'list') return { kind: 'list', text: listText(known) };
  if (positionals[0] === 'model') {
    const { from, shape = '3x3' } = values;
    if (from === undefined)
      throw new Error('model needs --from FILE, written by: npm run bench -- throughput --out FILE');
    const size = (name: keyof typeof FLEET): number => {
      const value = values[name];
      return value === undefined ? FLEET[name] : count(`--${name}`, value);
    };
    const fleet = {
      clusters: size('clusters'),
      plans: size('plans'),
      clusterCores: size('cluster-cores'),
      workers: size('workers'),
      temporalCores: size('temporal-cores'),
      databaseCores: size('database-cores'),
    };
    return { kind: 'model', from, shape, fleet };
  }
  if (positionals.length === 0) return { kind: 'help', text: helpText(known) };
  const peer = PEERS.find((name) => name === (values.peer ?? 'drover'));
  if (peer === undefined) throw new Error(`--peer ${values.peer}: give one of ${PEERS.join(', ')}`);
  const scenarios = chosen(positionals, known, peer);
  if (values.kubeconfig !== undefined && values['data-dir'] !== undefined)
    throw new Error('--kubeconfig and --data-dir both say what to measure: give one of them');
  const sizes = pairs('--set', values.set, (value) => count('--set', value));
  if (values.runs !== undefined) sizes['runs'] = count('--runs', values.runs);
  for (const name of Object.keys(sizes)) {
    const have = scenarios.filter((scenario) => name in scenario.sizes);
    if (have.length > 0) continue;
    const all = [...new Set(scenarios.flatMap((scenario) => Object.keys(scenario.sizes)))];
    throw new Error(`no chosen scenario has a size "${name}"; they have: ${all.join(', ') || 'none'}`);
  }
  return {
    kind: 'run',
    options: {
      scenarios,
      peer,
      ...given('dataDir', values['data-dir']),
      ...given('kubeconfig', values.kubeconfig),
      ...given('temporal', values.temporal),
      temporalNamespace: values['temporal-namespace'] ?? 'default',
      durable: values.durable,
      ...given('repeat', values.repeat === undefined ? undefined : count('--repeat', values.repeat)),
      sizes,
      ...given('out', values.out),
      ...given('compare', values.compare),
      all: values.all,
      env: pairs('--env', values.env, (value) => value),
      ...given('profile', values.profile),
      ...given('recorderHost', values['recorder-host']),
      ...given(
        'recorderPort',
        values['recorder-port'] === undefined ? undefined : count('--recorder-port', values['recorder-port']),
      ),
      ...given('serviceAccount', values['service-account']),
      ...given('step', values['peer-step']),
      ...given('stepNamespace', values['peer-step-namespace']),
      ...given('peerVersion', values['peer-version']),
      pids: pairs('--pid', values.pid, (value) => count('--pid', value)),
      ...given('kill', values.kill),
      ...given('restart', values.restart),
    },
  };
}

const given = <K extends string, T>(name: K, value: T | undefined): Partial<Record<K, T>> =>
  value === undefined ? {} : ({ [name]: value } as Record<K, T>);

function chosen(names: readonly string[], known: readonly Scenario[], peer: PeerName): Scenario[] {
  const fitting = known.filter((scenario) => peer === 'drover' || scenario.peers === true);
  if (names.includes('all')) return fitting;
  const all = known.map(({ name }) => name);
  for (const name of names) {
    if (!all.includes(name)) {
      const [near] = nearNames(name, all);
      throw new Error(
        `no scenario "${name}"${near === undefined ? '' : `; did you mean "${near}"?`} "npm run bench -- list" shows them all`,
      );
    }
    if (!fitting.some((scenario) => scenario.name === name))
      throw new Error(
        `scenario "${name}" measures what only Drover has; with --peer ${peer} there are: ${fitting.map((s) => s.name).join(', ')}`,
      );
  }
  return fitting.filter(({ name }) => names.includes(name));
}

function count(option: string, value: string): number {
  const number = Number(value);
  if (!Number.isInteger(number) || number < 1)
    throw new Error(`${option} ${value}: give a whole number from 1 on`);
  return number;
}

function pairs<T>(
  option: string,
  values: readonly string[] | undefined,
  read: (value: string) => T,
): Record<string, T> {
  return Object.fromEntries(
    (values ?? []).map((pair) => {
      const at = pair.indexOf('=');
      if (at < 1) throw new Error(`${option} ${pair}: give NAME=VALUE`);
      return [pair.slice(0, at), read(pair.slice(at + 1))];
    }),
  );
}

function listText(known: readonly Scenario[]): string {
  return known
    .flatMap((scenario) => [
      `${scenario.name.padEnd(13)}${scenario.summary}${scenario.peers === true ? ' [peers]' : ''}`,
      ...Object.entries(scenario.sizes).map(
        ([name, { value, meaning }]) => `${' '.repeat(15)}${`${name}=${value}`.padEnd(19)}${meaning}`,
      ),
    ])
    .join('\n');
}

function helpText(known: readonly Scenario[]): string {
  return `Measures Drover, or another controller for comparison, on real servers.

  npm run bench -- SCENARIO...            brings a system up, measures, takes it down
  npm run bench -- all                    every scenario; takes an hour
  npm run bench -- list                   what there is, and the sizes that can be changed

Scenarios: ${known.map(({ name }) => name).join(', ')}

What is measured
  --data-dir DIR         the embedded default in DIR: used as it is when it is up, else brought up and left up
  --durable              bring it up on disk, as "drover up" does, instead of in memory without fsync
  --kubeconfig FILE      a cluster on which the controller runs already
  --temporal HOST:PORT   with --kubeconfig: its Temporal, for histories and the floor
  --temporal-namespace   (default)
  --env NAME=VALUE       environment of bridge and worker that are brought up, such as DROVER_MIRROR_INTERVAL=1s
  --service-account NAME account that actions act as; needed where the installation sets no default

How
  --repeat N             repetitions (3; 1 for scenarios that take long); figures are medians over them
  --runs N               size "runs" of the scenarios that have it
  --set NAME=N           another size, such as --set executions=500
  --profile DIR          write CPU profiles of bridge and worker to DIR when they end
  --recorder-host HOST   address of this machine by which actions reach it (127.0.0.1)
  --recorder-port PORT   (any)

The report
  --out FILE             write all figures as JSON
  --compare FILE         show how each figure stands to an earlier --out
  --all                  show every figure, not only those that matter most

A fleet (docs/sizing.md)
  npm run bench -- model --from FILE      what many clusters need that fail over at once, from a measured throughput
  --shape NAME           1x1 or 3x3 (3x3)
  --clusters N --plans N --cluster-cores N --workers N --temporal-cores N --database-cores N
                         (100, 50, 2, 1, 8, 4)

Other controllers (bench/peers/README.md)
  --peer NAME            ${PEERS.join(', ')} (drover)
  --peer-version TEXT    which version of it, and what is special about it, for the report
  --pid NAME=PID         a process of this machine, and what it has started, to count CPU and memory of; several times
  --kill COMMAND         resume: ends the controller at once
  --restart COMMAND      resume: starts it again
  --peer-step NAME       kubevela: step definition that calls are made by (request)
  --peer-step-namespace  kubevela: where its step definitions are (vela-system)

Examples
  npm run bench -- latency floor
  npm run bench -- throughput --runs 60 --out before.json
  npm run bench -- throughput --runs 60 --compare before.json
  npm run bench -- burst --set executions=500 --set workflows=50
`;
}
