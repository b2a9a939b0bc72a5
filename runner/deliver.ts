/** Brings the end of an operation to the server: tried again and again, and nothing interrupts it (T7.3, T8.6). */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { FoundState } from '../api/terraform/operation-result.js';
import { ServerRefused, type ServerClient } from './server-client.js';
import { lastWhole } from './state-file.js';

const PAUSE_MS = 1000;

/** What delivers. */
export interface Delivery {
  client: Pick<ServerClient, 'finishState' | 'storeState'>;
  /** Sends the rest of the output. */
  pulse: { finish(): Promise<void> };
  times: { serverAway: number };
  log: Logger;
}

/** The server was away for too long: what is in the folder stays there (T7.3). */
export class ServerAway extends Error {
  override readonly name = 'ServerAway';
}

/** The end of an operation. */
export interface Ending {
  /** Of an apply that has begun. */
  state: FoundState | undefined;
  /** Where its last whole content is. */
  statePath: string;
  /** Says how the operation has ended. */
  say: () => Promise<unknown>;
}

/**
 * Brings all that an operation has left: first the state, then the output, then how it has ended.
 *
 * @throws ServerAway
 */
export async function deliver(delivery: Delivery, { state, statePath, say }: Ending): Promise<void> {
  const { client, pulse } = delivery;
  if (state !== undefined) {
    await insist(delivery, 'the state is not saved yet', () => saveState(client, state, statePath));
  }
  try {
    await insist(
      delivery,
      'the output is not sent yet',
      endedByOther(() => pulse.finish()),
    );
    await insist(delivery, 'the result is not stored yet', endedByOther(say));
  } catch (error) {
    if (!(error instanceof NotOurs)) throw error;
    delivery.log.warn({ problem: error.message }, 'the operation is not that of this runner');
  }
}

/** The operation is another runner's, or over: nobody wants to know. */
class NotOurs extends Error {}
const NOT_OURS: ReadonlySet<string> = new Set(['OtherRunner', 'Ended', 'UnknownOperation']);

function endedByOther<T>(ask: () => Promise<T>): () => Promise<T> {
  return async () => {
    try {
      return await ask();
    } catch (error) {
      if (error instanceof ServerRefused && NOT_OURS.has(error.reason)) throw new NotOurs(error.message);
      throw error;
    }
  };
}

/** Makes the last whole content the final one, and stores it where it is not stored yet. */
async function saveState(client: Delivery['client'], state: FoundState, path: string): Promise<void> {
  const last = lastWhole(state);
  if (last === undefined) return;
  const { digest } = last;
  try {
    await client.finishState({ digest });
  } catch (error) {
    if (!(error instanceof ServerRefused) || error.reason !== 'NotStored') throw error;
    await client.storeState(path, digest);
    await client.finishState({ digest });
  }
}

/**
 * Asks until it is done, whatever the server answers: refusals too may be mended by a person.
 *
 * @throws ServerAway when it was asked for `serverAway` milliseconds
 */
export async function insist<T>(
  { times, log }: Pick<Delivery, 'times' | 'log'>,
  what: string,
  ask: () => Promise<T>,
): Promise<T> {
  const deadline = Date.now() + times.serverAway;
  for (let told = ''; ;) {
    try {
      return await ask();
    } catch (error) {
      if (error instanceof NotOurs) throw error;
      const problem = error instanceof Error ? error.message : String(error);
      if (problem !== told) log.warn({ problem }, what);
      told = problem;
      if (Date.now() >= deadline) throw new ServerAway(`${what}: ${problem}`);
      await sleep(PAUSE_MS);
    }
  }
}
