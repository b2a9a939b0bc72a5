import { setTimeout as sleep } from 'node:timers/promises';
import { ServerRefused } from './server-client.js';

const FIRST_PAUSE_MS = 250;
const MAX_PAUSE_MS = 5000;

/**
 * Asks again until there is an answer.
 *
 * @param forMs how long; after that the last failure is thrown
 * @param isOver gives up earlier
 * @throws ServerRefused at once; the last failure when the time is over
 */
export async function untilAnswered<T>(
  ask: () => Promise<T>,
  { forMs, isOver = () => false }: { forMs: number; isOver?: () => boolean },
): Promise<T> {
  const deadline = Date.now() + forMs;
  for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(2 * pause, MAX_PAUSE_MS)) {
    try {
      return await ask();
    } catch (error) {
      if (error instanceof ServerRefused || isOver() || Date.now() + pause > deadline) throw error;
      await sleep(pause);
    }
  }
}
