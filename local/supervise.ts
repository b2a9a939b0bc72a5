import { setTimeout as sleep } from 'node:timers/promises';
import { backoffMs } from '../api/core/backoff.js';
import type { UpOptions } from './options.js';
import { dataPaths } from './paths.js';
import { isAlive, readState } from './state.js';
import { up } from './up.js';

/** How to watch over what is up. */
export interface SuperviseOptions extends UpOptions {
  /** Ends the watch; nothing is stopped by that. */
  signal: AbortSignal;
  /** Milliseconds between two looks. Default 1000. */
  everyMs?: number;
}

const MAX_PAUSE_MS = 30_000;

/**
 * Watches over a data dir that is up and starts again what dies, until the
 * signal aborts or someone takes the data dir down. A restart that fails is
 * reported and tried again after a growing pause.
 */
export async function supervise(options: SuperviseOptions): Promise<'aborted' | 'taken-down'> {
  const paths = dataPaths(options.dataDir);
  const every = options.everyMs ?? 1000;
  let failures = 0;
  for (;;) {
    const pauseMs = failures === 0 ? every : backoffMs({ minMs: every * 2, maxMs: MAX_PAUSE_MS }, failures);
    await sleep(pauseMs, undefined, { signal: options.signal }).catch(() => undefined);
    if (options.signal.aborted) return 'aborted';
    const state = await readState(paths.state);
    const records = Object.values(state?.processes ?? {});
    if (records.length === 0) return 'taken-down';
    const alive = await Promise.all(records.map((record) => isAlive(record)));
    if (alive.every(Boolean)) {
      failures = 0;
      continue;
    }
    try {
      // What is changed in the user's own cluster was confirmed when it was brought up.
      await up({ ...options, confirm: undefined });
      failures = 0;
    } catch (error) {
      failures += 1;
      options.progress({ kind: 'notice', subject: 'supervise', message: (error as Error).message });
    }
  }
}
