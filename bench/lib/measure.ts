import { setTimeout as sleep } from 'node:timers/promises';
import { classOf, difference, readApiCounters } from './api-requests.js';
import type { ApiCounters } from './api-requests.js';
import type { Bench } from './bench.js';
import type { Figure } from './figures.js';
import { canMeasure, machineBusySeconds, resetPeak, usageOf } from './processes.js';
import type { Usage } from './processes.js';
import { sum } from './statistics.js';

/** Work that comes just after the last run has ended still belongs to it. */
const TAIL_MS = 1500;

/** How the names of figures begin that tell the bytes of request bodies, where there is no prefix. */
export const BODY_BYTES = 'API body bytes';

/** What is measured around a piece of work. */
export interface MeasureOptions {
  /** Case that the names of the figures begin with, such as `3x3`; empty for none. */
  prefix: string;
  /** What the costs are divided by. */
  runs: number;
  /** What `runs` counts, as the names of the figures say it; empty for a total. Default `per run`. */
  per?: string;
  /** Writes that the load generator makes itself. */
  ownWrites: number;
  /** Whether memory is worth a row in the table. */
  memory?: boolean;
}

/** Measures what everything but the load generator spends while `work` goes on: CPU, memory, API requests. */
export async function measured<T>(
  bench: Bench,
  options: MeasureOptions,
  work: () => Promise<T>,
): Promise<{ value: T; figures: Figure[] }> {
  const pids = await bench.system.pids();
  await Promise.all(Object.values(pids).map(resetPeak));
  const requestsBefore = await apiCounters(bench);
  const before = await usages(pids);
  const own = process.cpuUsage();
  const [begun, busy] = [performance.now(), await machineBusySeconds()];
  const value = await work();
  await sleep(TAIL_MS);
  const seconds = (performance.now() - begun) / 1000;
  const busyAfter = await machineBusySeconds();
  const ownCpu = process.cpuUsage(own);
  const after = await usages(await bench.system.pids());
  const requestsAfter = await apiCounters(bench);
  const ownSeconds = (ownCpu.user + ownCpu.system) / 1e6;
  const name = (text: string): string => (options.prefix === '' ? text : `${options.prefix} ${text}`);
  const spent = cpuFigures(before, after, options, name, ownSeconds);
  const figures = [
    ...spent,
    ...memoryFigures(after, options, name),
    ...(requestsBefore === undefined || requestsAfter === undefined
      ? []
      : requestFigures(requestsBefore, requestsAfter, options, name)),
  ];
  if (busy !== undefined && busyAfter !== undefined && spent.length > 0) {
    const ours = sum([...after].map(([process, usage]) => cpuBetween(before.get(process), usage)));
    figures.push({
      name: name('cores busy with something else'),
      value: Math.max(0, (busyAfter - busy - ours - ownSeconds) / seconds),
      unit: '',
      detail: true,
    });
  }
  return { value, figures };
}

const perOf = ({ per = 'per run' }: MeasureOptions): string => (per === '' ? '' : ` ${per}`);

async function usages(pids: Record<string, number>): Promise<Map<string, Usage>> {
  const read = await Promise.all(
    Object.entries(pids).map(async ([name, pid]) => [name, await usageOf(pid)] as const),
  );
  return new Map(read.flatMap(([name, usage]) => (usage === undefined ? [] : [[name, usage]])));
}

async function apiCounters(bench: Bench): Promise<ApiCounters | undefined> {
  try {
    return await readApiCounters(bench.system.kube);
  } catch (error) {
    bench.note(`API requests are not counted: ${(error as Error).message}`);
    return undefined;
  }
}

/** A process that was started anew meanwhile counts from its beginning. */
const cpuBetween = (before: Usage | undefined, after: Usage): number =>
  after.cpuSeconds - (before?.pid === after.pid ? before.cpuSeconds : 0);

/** Processes whose share is worth a row of its own. */
const SHOWN = new Set(['bridge', 'worker', 'controller', 'temporal', 'apiserver', 'etcd']);
/** Those whose memory is. */
const MEMORY_SHOWN = new Set(['bridge', 'worker', 'controller']);

function cpuFigures(
  before: ReadonlyMap<string, Usage>,
  after: ReadonlyMap<string, Usage>,
  options: MeasureOptions,
  name: (text: string) => string,
  ownSeconds: number,
): Figure[] {
  const { runs } = options;
  const per = perOf(options);
  if (!canMeasure || after.size === 0) return [];
  const each = [...after].map(
    ([process, usage]) => [process, cpuBetween(before.get(process), usage)] as const,
  );
  const figure = (text: string, value: number, shown: boolean): Figure => ({
    name: name(text),
    value: value / runs,
    unit: 'CPU s',
    better: 'lower',
    ...(!shown && { detail: true }),
  });
  return [
    figure(`CPU${per}`, sum(each.map(([, seconds]) => seconds)), true),
    ...each.map(([process, seconds]) => figure(`CPU${per}, ${process}`, seconds, SHOWN.has(process))),
    { ...figure(`CPU${per}, load generator`, ownSeconds, false), better: undefined },
  ];
}

function memoryFigures(
  after: ReadonlyMap<string, Usage>,
  { memory }: MeasureOptions,
  name: (text: string) => string,
): Figure[] {
  return [...after].flatMap(([process, usage]): Figure[] => {
    const hidden = memory === true && MEMORY_SHOWN.has(process) ? {} : { detail: true as const };
    return [
      { name: name(`memory, ${process}`), value: usage.rssMiB, unit: 'MiB', better: 'lower', ...hidden },
      {
        name: name(`memory peak, ${process}`),
        value: usage.peakMiB,
        unit: 'MiB',
        better: 'lower',
        ...hidden,
      },
    ];
  });
}

function requestFigures(
  before: ApiCounters,
  after: ApiCounters,
  options: MeasureOptions,
  name: (text: string) => string,
): Figure[] {
  const { runs, ownWrites } = options;
  const per = perOf(options);
  const counts = difference(after.requests, before.requests);
  const total = (wanted: ReturnType<typeof classOf>): number =>
    sum([...counts].flatMap(([counter, count]) => (classOf(counter) === wanted ? [count] : [])));
  const bytes = difference(after.bodyBytes, before.bodyBytes);
  const row = (text: string, count: number, shown: boolean): Figure => ({
    name: name(text),
    value: count / runs,
    unit: 'requests',
    better: 'lower',
    ...(!shown && { detail: true }),
  });
  return [
    row(`API writes${per}`, total('write') - ownWrites, true),
    row(`Events${per}`, total('event'), true),
    row(`API reviews${per}`, total('review'), false),
    row(`API reads${per}`, total('read'), false),
    ...[...counts].map(([counter, count]) => row(`API ${counter}${per}`, count, false)),
    ...[...bytes].map(([resource, size]): Figure => ({
      name: name(`${BODY_BYTES}${per}, ${resource}`),
      value: size / runs / 1024,
      unit: 'KiB',
      better: 'lower',
      detail: true,
    })),
  ];
}
