/** Profiles of this process, in the formats of V8: the developer tools of Chrome, VS Code and speedscope read them. */
import { setTimeout as sleep } from 'node:timers/promises';
import { getHeapSnapshot } from 'node:v8';
import type { Readable } from 'node:stream';
import { withThreads } from './inspected.js';
import type { InspectedThread } from './inspected.js';

/** What is taken over a time, of one thread. */
export interface ProfileRequest {
  /** `cpu`: where time goes; `heap`: where memory that is still in use was taken, by a sample. */
  what: 'cpu' | 'heap';
  seconds: number;
  /** `main`, or another one that {@link threadNames} lists. */
  thread: string;
}

/** Samples of the CPU are this many microseconds apart: at most a few per cent are lost to them. */
const CPU_INTERVAL_US = 1000;
/** One sample in so many bytes, as V8 does by itself. */
const HEAP_INTERVAL_BYTES = 32_768;

/** The threads that can be profiled. */
export const threadNames = (): Promise<string[]> =>
  withThreads((threads) => Promise.resolve(threads.map(({ name }) => name)));

/**
 * Takes a profile.
 *
 * @param signal ends it early; what there is by then is thrown away
 * @returns undefined where there is no such thread
 * @throws an AbortError when the signal has ended it
 */
export function takeProfile(
  { what, seconds, thread }: ProfileRequest,
  signal: AbortSignal,
): Promise<object | undefined> {
  return withThreads(async (threads) => {
    const target = threads.find(({ name }) => name === thread);
    if (target === undefined) return undefined;
    return what === 'cpu' ? cpuProfile(target, seconds, signal) : heapProfile(target, seconds, signal);
  });
}

async function cpuProfile(thread: InspectedThread, seconds: number, signal: AbortSignal): Promise<object> {
  await thread.post('Profiler.enable');
  try {
    await thread.post('Profiler.setSamplingInterval', { interval: CPU_INTERVAL_US });
    await thread.post('Profiler.start');
    await sleep(seconds * 1000, undefined, { signal });
    return (await thread.post<{ profile: object }>('Profiler.stop')).profile;
  } finally {
    await thread.post('Profiler.disable');
  }
}

async function heapProfile(thread: InspectedThread, seconds: number, signal: AbortSignal): Promise<object> {
  await thread.post('HeapProfiler.enable');
  try {
    await thread.post('HeapProfiler.startSampling', { samplingInterval: HEAP_INTERVAL_BYTES });
    await sleep(seconds * 1000, undefined, { signal });
    return (await thread.post<{ profile: object }>('HeapProfiler.stopSampling')).profile;
  } finally {
    await thread.post('HeapProfiler.disable');
  }
}

/** All that the main thread has in memory, secrets included. The process stands still until it is taken. */
export const takeHeapSnapshot = (): Readable => getHeapSnapshot();
