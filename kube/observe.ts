import type { KubeClient } from './client.js';
import { KubeError, isRetryable } from './error.js';
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
  const { apiVersion, kind } = selection;
  const options = {
    signal,
    ...(selection.namespace !== undefined && { namespace: selection.namespace }),
    ...(selection.labelSelector !== undefined && { labelSelector: selection.labelSelector }),
    ...(selection.name !== undefined && { fieldSelector: `metadata.name=${selection.name}` }),
  };
  let mayWatch = true;
  while (!signal.aborted) {
    try {
      if (!mayWatch) {
        report(await readOne(kube, selection, signal));
        await pause(signal);
        continue;
      }
      const list = await kube.list({ apiVersion, kind }, options);
      // Items of a list come without their kind.
      const objects = new Map<string, KubeObject>(
        list.items.map((item) => [idOf(item), { ...item, apiVersion, kind }]),
      );
      report(objects);
      const events = kube.watch(
        { apiVersion, kind },
        { ...options, resourceVersion: list.metadata.resourceVersion },
      );
      for await (const event of events) {
        if (event.type === 'BOOKMARK') continue;
        if (event.type === 'DELETED') objects.delete(idOf(event.object));
        else objects.set(idOf(event.object), event.object);
        report(objects, event.object);
      }
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof KubeError && error.code === 403 && mayWatch && selection.name !== undefined) {
        mayWatch = false;
        continue;
      }
      const isExpired = error instanceof KubeError && error.code === 410;
      if (!isExpired && !isRetryable(error)) throw error;
      await pause(signal);
    }
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

function pause(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(done, PAUSE_MS);
    function done(): void {
      clearTimeout(timer);
      signal.removeEventListener('abort', done);
      resolve();
    }
    signal.addEventListener('abort', done, { once: true });
    if (signal.aborted) done();
  });
}
