import { setTimeout as sleep } from 'node:timers/promises';
import { backoffMs } from '../api/core/backoff.js';
import type { Backoff } from '../api/core/backoff.js';
import { isRetryable, KubeError } from './error.js';
import type { WatchEvent } from './watch.js';

/** What listing and watching comes to, one after the other. */
export type ListOrEvent<T, State> =
  /** The present state: what was told before it is outdated. */
  | { kind: 'read'; state: State }
  | { kind: 'event'; event: WatchEvent<T> }
  /** A read failed, or a watch did or broke off; it is tried again. */
  | { kind: 'failed'; during: 'read' | 'watch'; error: unknown };

/** What is listed and watched, and how. */
export interface ListAndWatchOptions<T, State extends { version: string }> {
  /** Reads the present state; a watch goes on from its version. */
  read: () => Promise<State>;
  watch: (version: string) => AsyncIterable<WatchEvent<T>>;
  /** Version of a state that the caller has already: the first watch goes on from it. */
  known?: string | undefined;
  /**
   * Called before a watch goes on where the last one has ended; throws when it may not. Without it the state is read anew
   * after every watch, which costs no more where it is small.
   */
  resume?: (version: string) => Promise<void>;
  /** Whether to go on after a failure; by default after one that passes by itself, and a version that is too old. */
  goesOn?: (error: unknown) => boolean;
  /** Waits after a failure. */
  backoff: Backoff;
  signal: AbortSignal;
}

/**
 * Reads a state, then follows its changes, and does both again whenever that breaks off: until the signal aborts, or the
 * caller has seen enough.
 *
 * @throws whatever `goesOn` does not want to go on after
 */
export async function* listAndWatch<T, State extends { version: string }>(
  options: ListAndWatchOptions<T, State>,
): AsyncGenerator<ListOrEvent<T, State>> {
  const { read, watch, resume, goesOn = mayPass, backoff, signal } = options;
  let version = options.known;
  let isFresh = version !== undefined;
  let failures = 0;
  while (!signal.aborted) {
    let during: 'read' | 'watch' = 'watch';
    try {
      if (version === undefined) {
        during = 'read';
        const state = await read();
        version = state.version;
        isFresh = true;
        during = 'watch';
        yield { kind: 'read', state };
      }
      if (!isFresh) await resume?.(version);
      isFresh = false;
      for await (const event of watch(version)) {
        version = versionOf(event) ?? version;
        failures = 0;
        yield { kind: 'event', event };
      }
      if (resume === undefined) version = undefined;
    } catch (error) {
      if (signal.aborted) return;
      if (!goesOn(error)) throw error;
      if (resume === undefined || isVersionLost(error)) version = undefined;
      yield { kind: 'failed', during, error };
      failures += 1;
      await sleep(backoffMs(backoff, failures), undefined, { signal }).catch(() => undefined);
    }
  }
}

/** Whether the changes since a version cannot be had any more. */
export const isExpired = (error: unknown): boolean => error instanceof KubeError && error.code === 410;

const mayPass = (error: unknown): boolean => isRetryable(error) || isExpired(error);

/** A kind that was not there for a while comes back with versions that go on, but its objects may be others. */
const isVersionLost = (error: unknown): boolean =>
  isExpired(error) || (error instanceof KubeError && error.reason === 'KindNotFound');

const versionOf = <T>({ object }: WatchEvent<T>): string | undefined =>
  (object as { metadata: { resourceVersion?: string } }).metadata.resourceVersion;
