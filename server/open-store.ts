/** The store that the options ask for. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { MAX_LOG_BYTES } from '../api/terraform/bounds.js';
import { LOG_STREAMS } from '../api/terraform/operation-terms.js';
import type { KeyRing } from '../runtime/encryption/key-ring.js';
import { StoreUnavailable, type Backend } from '../store/backend.js';
import { openFileBackend } from '../store/files/file-backend.js';
import { openPostgresBackend } from '../store/postgres/postgres-backend.js';
import { openStateStore, type StateStore } from '../store/state-store.js';
import type { ServerConfig } from './config.js';
import type { ServerMetrics } from './metrics.js';

/** What the store is told of logs. */
export const LOGS = { streams: LOG_STREAMS, maxLogBytes: MAX_LOG_BYTES };

const AGAIN_MS = 1000;
const LOOK_MS = 10_000;
const SWEEP_MS = 60 * 60_000;

/** A store that is open. */
export interface OpenStore {
  store: StateStore;
  /** Rejects when another process has taken it. */
  lost: Promise<never>;
}

/**
 * Opens the store. A database that is away is waited for; whatever else is wrong ends the program.
 *
 * @param options.onWait called with what is missing meanwhile
 */
export async function openStore(
  config: Pick<ServerConfig, 'store-dir' | 'store-url' | 'store-connections'>,
  options: { ring: KeyRing; log: Logger; onWait: (problem: string) => void },
): Promise<OpenStore> {
  const { ring, log, onWait } = options;
  const { 'store-dir': folder, 'store-url': url = '', 'store-connections': connections } = config;
  const open = async (): Promise<{ backend: Backend; lost: Promise<never> }> => {
    if (folder !== undefined) {
      const backend = await openFileBackend({ folder });
      return { backend, lost: backend.lost };
    }
    const backend = await openPostgresBackend({
      ...{ url, connections },
      onTrouble: (error) => log.warn({ err: error }, 'a connection to the database of the store broke'),
    });
    return { backend, lost: new Promise<never>(() => undefined) };
  };
  for (;;) {
    try {
      const { backend, lost } = await open();
      return { store: await openStateStore({ backend, ring, ...LOGS }), lost };
    } catch (error) {
      if (!(error instanceof StoreUnavailable)) throw error;
      log.warn({ err: error }, 'the store cannot be reached; trying again');
      onWait(error.message);
    }
    await sleep(AGAIN_MS);
  }
}

/** Looks every ten seconds whether the store is there, and every hour removes what is kept no longer. */
export function keepSweeping(options: {
  store: StateStore;
  log: Logger;
  metrics: Pick<ServerMetrics, 'storeAnswered'>;
  onLook: (problem: string | undefined) => void;
}): NodeJS.Timeout {
  const { store, log, metrics, onLook } = options;
  let sweptAt = 0;
  const look = async (): Promise<void> => {
    try {
      await store.look();
      metrics.storeAnswered(true);
      onLook(undefined);
    } catch (error) {
      metrics.storeAnswered(false);
      onLook(error instanceof Error ? error.message : String(error));
      return;
    }
    if (Date.now() - sweptAt < SWEEP_MS) return;
    sweptAt = Date.now();
    await store.sweep().catch((error: unknown) => {
      log.warn({ err: error }, 'what is kept no longer cannot be removed; trying again in an hour');
    });
  };
  let inTurn: Promise<void> = look();
  return setInterval(() => {
    inTurn = inTurn.then(look);
  }, LOOK_MS);
}
