import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Bench, Scenario } from './lib/bench.js';
import type { Figure } from './lib/figures.js';
import { readMachine, readVersions, watchLoad } from './lib/machine.js';
import type { Load, Versions } from './lib/machine.js';
import { canMeasure } from './lib/processes.js';
import type { Progress } from './lib/progress.js';
import { startRecorder } from './lib/recorder.js';
import { openEmbedded } from './lib/embedded.js';
import { openCluster } from './lib/system.js';
import type { System } from './lib/system.js';
import type { BenchOptions } from './options.js';
import { peerOf } from './peers/index.js';
import type { Peer } from './peers/peer.js';
import { summarize } from './report/results.js';
import type { Results, ScenarioResult } from './report/results.js';

const REPETITIONS = 3;
/** Removing a namespace with thousands of objects takes the control plane minutes. */
const REMOVAL_MS = 10 * 60_000;

/** Measures the chosen scenarios one after another. */
export async function runBench(
  options: BenchOptions,
  progress: Progress,
  signal: AbortSignal,
): Promise<Results> {
  const peer = peerOf(options.peer, options);
  const scenarios: ScenarioResult[] = [];
  const failures: Results['failures'] = [];
  const seen: { versions?: Versions } = {};
  const startedAt = new Date().toISOString();
  for (const scenario of options.scenarios) {
    signal.throwIfAborted();
    progress.say(`${scenario.name}: ${scenario.summary}`);
    try {
      scenarios.push(await runScenario(scenario, { options, peer, progress, signal, seen }));
    } catch (error) {
      if (signal.aborted) throw error;
      const why = error instanceof Error ? error.message : String(error);
      failures.push({ scenario: scenario.name, why });
      progress.say(`  not measured: ${why}`);
    }
  }
  if (seen.versions === undefined) throw new Error(failures[0]?.why ?? 'nothing was measured');
  return {
    format: 1,
    startedAt,
    peer: peer.name,
    setting: settingOf(options),
    env: options.env,
    versions: {
      ...seen.versions,
      ...(options.peerVersion !== undefined && { peer: options.peerVersion }),
    },
    machine: readMachine(),
    scenarios,
    failures,
  };
}

const settingOf = ({ kubeconfig, durable, dataDir }: BenchOptions): string => {
  if (kubeconfig !== undefined) return `cluster of ${kubeconfig}`;
  return `${durable ? 'durable' : 'ephemeral'}${dataDir === undefined ? '' : `, ${dataDir}`}`;
};

interface Frame {
  options: BenchOptions;
  peer: Peer;
  progress: Progress;
  signal: AbortSignal;
  seen: { versions?: Versions };
}

async function runScenario(scenario: Scenario, frame: Frame): Promise<ScenarioResult> {
  const { options, progress, signal } = frame;
  const sizes = Object.fromEntries(
    Object.entries(scenario.sizes).map(([name, { value }]) => [name, options.sizes[name] ?? value]),
  );
  const wanted = options.repeat ?? (scenario.once === true ? 1 : REPETITIONS);
  const notes = new Set<string>();
  const repetitions: Figure[][] = [];
  const begun = performance.now();
  const load = watchLoad();
  let busy: Load;
  const ofTheirOwn = options.kubeconfig === undefined && options.dataDir === undefined;
  let system: System | undefined;
  try {
    for (let repetition = 1; repetition <= wanted; repetition += 1) {
      signal.throwIfAborted();
      if (wanted > 1) progress.say(`  repetition ${repetition} of ${wanted}`);
      if (scenario.fresh === true && ofTheirOwn) {
        await system?.close();
        system = undefined;
      }
      system ??= await open(frame);
      repetitions.push(
        await repeatOnce(scenario, frame, {
          system,
          sizes,
          notes,
          keep: ofTheirOwn && scenario.fresh === true,
        }),
      );
    }
  } finally {
    busy = load.end();
    await system?.close();
  }
  return {
    scenario: scenario.name,
    sizes,
    repetitions: repetitions.length,
    figures: summarize(repetitions),
    notes: [...notes],
    load: busy,
    seconds: Math.round((performance.now() - begun) / 1000),
  };
}

async function open({ options, peer, progress, seen }: Frame): Promise<System> {
  const { kubeconfig } = options;
  const system =
    kubeconfig === undefined
      ? await openEmbedded({ ...options, controller: peer.name === 'drover', progress })
      : await openCluster({ ...options, kubeconfig });
  try {
    seen.versions ??= await readVersions(system);
    const missing = await peer.missing(system.kube);
    if (missing.length > 0) throw new Error(`${peer.title} is not installed there: ${missing.join('; ')}`);
    return system;
  } catch (error) {
    await system.close();
    throw error;
  }
}

interface Repetition {
  system: System;
  sizes: Record<string, number>;
  notes: Set<string>;
  /** What it leaves behind goes with its system. */
  keep: boolean;
}

async function repeatOnce(scenario: Scenario, frame: Frame, repetition: Repetition): Promise<Figure[]> {
  const { options, peer, progress } = frame;
  const { system: connected, sizes, notes, keep } = repetition;
  const system: System = {
    ...connected,
    pids: async () => ({ ...(await connected.pids()), ...options.pids }),
  };
  checkNeeds(scenario, system, options);
  if (!canMeasure) notes.add('no Linux: CPU and memory are not measured');
  else if (Object.keys(await system.pids()).length === 0)
    notes.add('no processes of this machine are known (--pid NAME=PID): CPU and memory are not measured');
  const recorder = await startRecorder({
    ...(options.recorderHost !== undefined && { host: options.recorderHost }),
    ...(options.recorderPort !== undefined && { port: options.recorderPort }),
  });
  const namespaces: string[] = [];
  const bench: Bench = {
    system,
    peer,
    recorder,
    progress,
    size(name) {
      const value = sizes[name];
      if (value === undefined) throw new Error(`scenario "${scenario.name}" has no size "${name}"`);
      return value;
    },
    commands: {
      ...(options.kill !== undefined && { kill: options.kill }),
      ...(options.restart !== undefined && { restart: options.restart }),
    },
    async namespace() {
      const name = `bench-${scenario.name}-${randomBytes(3).toString('hex')}`;
      await system.kube.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
      namespaces.push(name);
      if (options.serviceAccount !== undefined)
        await system.kube.create({
          apiVersion: 'v1',
          kind: 'ServiceAccount',
          metadata: { name: options.serviceAccount, namespace: name },
        });
      return name;
    },
    note: (text) => notes.add(text),
  };
  try {
    return await scenario.run(bench);
  } finally {
    await recorder.close();
    if (!keep) await removeNamespaces(bench, namespaces);
  }
}

function checkNeeds({ name, needs }: Scenario, system: System, { kill, restart }: BenchOptions): void {
  if (needs === 'temporal' && system.temporal === undefined)
    throw new Error(
      `scenario "${name}" starts workflows itself: name the Temporal with --temporal HOST:PORT`,
    );
  if (needs === 'embedded' && system.embedded === undefined)
    throw new Error(`scenario "${name}" starts and stops the bridge itself: it needs the embedded default`);
  if (needs === 'processes' && system.embedded === undefined && (kill === undefined || restart === undefined))
    throw new Error(
      `scenario "${name}" kills the controller: say how with --kill COMMAND and --restart COMMAND`,
    );
}

/** What follows is not to be measured together with the removal. */
async function removeNamespaces({ system, progress }: Bench, names: readonly string[]): Promise<void> {
  const { kube } = system;
  const step = progress.begin('removing what the scenario made');
  try {
    const end = Date.now() + REMOVAL_MS;
    for (const name of names) await kube.delete({ apiVersion: 'v1', kind: 'Namespace', name });
    for (const name of names) {
      while ((await kube.get({ apiVersion: 'v1', kind: 'Namespace', name })) !== undefined) {
        if (Date.now() > end)
          throw new Error(`namespace ${name} is still there after ${REMOVAL_MS / 60_000} minutes`);
        await sleep(500);
      }
    }
  } finally {
    step.end();
  }
}
