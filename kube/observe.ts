import { setTimeout as sleep } from 'node:timers/promises';
import type { KubeClient } from './client.js';
import { KubeError, isRetryable } from './error.js';
import { listAndWatch } from './list-and-watch.js';
import { startTimer } from './long-timer.js';
import type { KubeObject } from './object.js';

/** A set of objects to keep an eye on. */
export interface Selection {
  apiVersion: string;
  kind: string;
  namespace?: string | undefined;
  /** Only the object of this name. */
  name?: string | undefined;
  labelSelector?: string | undefined;
}

/** How long and how often to look. */
export interface ObserveOptions {
  signal: AbortSignal;
  /** Longest wait in milliseconds. */
  timeoutMs: number;
  /** Also checks again after this time without a change, in milliseconds (default: never). */
  recheckMs?: number | undefined;
}

/** Wait before a watch that broke off, or a poll where watching is not allowed, is tried again. */
const PAUSE_MS = 1000;

/**
 * Waits by watch until `check` finds what it looks for among the objects of several selections; it is called with the
 * first state and then after every change.
 *
 * A single object that may be read but not watched is polled once a second. A broken watch is taken up again.
 *
 * @returns what `check` gave, or undefined when the time was up
 * @throws the reason of the signal, and {@link KubeError} for a selection that cannot be read at all
 */
export async function observe<Name extends string, T>(
  kube: KubeClient,
  selections: Record<Name, Selection>,
  check: (state: Record<Name, KubeObject[]>) => T | undefined,
  options: ObserveOptions,
): Promise<T | undefined> {
  const { signal } = options;
  signal.throwIfAborted();
  const stop = new AbortController();
  const state = new Map<Name, ReadonlyMap<string, KubeObject>>();
  const names = Object.keys(selections) as Name[];
  let wake = (): void => {};
  let problem: { error: unknown } | undefined;
  const sources = names.map((name) =>
    feed(kube, selections[name], stop.signal, (objects) => {
      state.set(name, objects);
      wake();
    }).catch((error: unknown) => {
      if (stop.signal.aborted) return;
      problem ??= { error };
      wake();
    }),
  );
  const onAbort = (): void => wake();
  signal.addEventListener('abort', onAbort, { once: true });
  const end = Date.now() + Math.max(0, options.timeoutMs);
  try {
    for (;;) {
      const changed = new Promise<void>((resolve) => {
        wake = resolve;
      });
      signal.throwIfAborted();
      if (problem !== undefined) throw problem.error;
      if (state.size === names.length) {
        const lists = Object.fromEntries(
          names.map((name) => [name, [...(state.get(name)?.values() ?? [])]]),
        ) as Record<Name, KubeObject[]>;
        const found = check(lists);
        if (found !== undefined) return found;
      }
      const left = end - Date.now();
      if (left <= 0) return undefined;
      const endTimer = startTimer(Math.min(left, options.recheckMs ?? left), wake);
      await changed;
      endTimer();
    }
  } finally {
    signal.removeEventListener('abort', onAbort);
    stop.abort();
    await Promise.all(sources);
  }
}

/**
 * Reports the objects of a selection, first all, then after each change, until the signal ends it.
 *
 * @param report `changed` is the object that has changed; absent: any of them may have
 * @throws KubeError for a selection that cannot be read at all
 */
export async function feed(
  kube: KubeClient,
  selection: Selection,
  signal: AbortSignal,
  report: (objects: ReadonlyMap<string, KubeObject>, changed?: KubeObject) => void,
): Promise<void> {
  try {
    await feedByWatch(kube, selection, signal, report);
  } catch (error) {
    const mayRead = error instanceof KubeError && error.code === 403 && selection.name !== undefined;
    if (!mayRead) throw error;
    await feedByPolls(kube, selection, signal, report);
  }
}

async function feedByWatch(
  kube: KubeClient,
  selection: Selection,
  signal: AbortSignal,
  report: (objects: ReadonlyMap<string, KubeObject>, changed?: KubeObject) => void,
): Promise<void> {
  const { apiVersion, kind } = selection;
  const type = { apiVersion, kind };
  const options = {
    signal,
    ...(selection.namespace !== undefined && { namespace: selection.namespace }),
    ...(selection.labelSelector !== undefined && { labelSelector: selection.labelSelector }),
    ...(selection.name !== undefined && { fieldSelector: `metadata.name=${selection.name}` }),
  };
  let objects = new Map<string, KubeObject>();
  const steps = listAndWatch({
    read: async () => {
      const { items, metadata } = await kube.list(type, options);
      return { items, version: metadata.resourceVersion };
    },
    watch: (version) => kube.watch(type, { ...options, resourceVersion: version }),
    backoff: { minMs: PAUSE_MS, maxMs: PAUSE_MS },
    signal,
  });
  for await (const step of steps) {
    if (step.kind === 'read') {
      // Items of a list come without their kind.
      objects = new Map(step.state.items.map((item) => [idOf(item), { ...item, apiVersion, kind }]));
      report(objects);
    } else if (step.kind === 'event' && step.event.type !== 'BOOKMARK') {
      const { type: change, object } = step.event;
      if (change === 'DELETED') objects.delete(idOf(object));
      else objects.set(idOf(object), object);
      report(objects, object);
    }
  }
}

/** An object that may be read but not watched. */
async function feedByPolls(
  kube: KubeClient,
  selection: Selection,
  signal: AbortSignal,
  report: (objects: ReadonlyMap<string, KubeObject>) => void,
): Promise<void> {
  while (!signal.aborted) {
    try {
      report(await readOne(kube, selection, signal));
    } catch (error) {
      if (signal.aborted) return;
      if (!isRetryable(error)) throw error;
    }
    await sleep(PAUSE_MS, undefined, { signal }).catch(() => undefined);
  }
}

async function readOne(
  kube: KubeClient,
  selection: Selection,
  signal: AbortSignal,
): Promise<Map<string, KubeObject>> {
  const { apiVersion, kind, namespace, name = '' } = selection;
  const object = await kube.get(
    { apiVersion, kind, name, ...(namespace !== undefined && { namespace }) },
    { signal },
  );
  return new Map(object === undefined ? [] : [[idOf(object), object]]);
}

const idOf = (object: KubeObject): string =>
  object.metadata.uid ?? `${object.metadata.namespace ?? ''}/${object.metadata.name}`;
