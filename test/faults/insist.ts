import { setTimeout as sleep } from 'node:timers/promises';
import { isAlreadyExists, isRetryable, KubeError } from '../../kube/error.js';

const MAX_MS = 180_000;

/** Tries until the API server takes it: it is killed every now and then, and so is the bridge that admits. */
export async function insist<T>(work: () => Promise<T>): Promise<T> {
  const end = Date.now() + MAX_MS;
  const seen = new Map<string, number>();
  for (;;) {
    try {
      return await work();
    } catch (error) {
      const said = error instanceof Error ? error.message.slice(0, 300) : String(error);
      seen.set(said, (seen.get(said) ?? 0) + 1);
      const passes = isRetryable(error) || (error instanceof KubeError && error.code === 401);
      if (!passes) throw error;
      if (Date.now() > end) {
        const times = [...seen].map(([message, count]) => `${count} times: ${message}`).join('; ');
        throw new Error(`not within ${MAX_MS / 1000} s; ${times}`, { cause: error });
      }
      await sleep(300);
    }
  }
}

/** Creates something that nobody else creates: an answer that got lost is no reason to fail. */
export async function insistOnCreating(create: () => Promise<unknown>): Promise<void> {
  await insist(async () => {
    try {
      await create();
    } catch (error) {
      if (!isAlreadyExists(error)) throw error;
    }
  });
}

/** Looks again and again. */
export async function eventually<T>(
  what: string,
  look: () => T | undefined | Promise<T | undefined>,
  timeoutMs: number,
  last: () => string = () => '',
): Promise<T> {
  const end = Date.now() + timeoutMs;
  for (;;) {
    const found = await look();
    if (found !== undefined) return found;
    if (Date.now() > end) throw new Error(`not within ${timeoutMs / 1000} s: ${what}; ${last()}`);
    await sleep(150);
  }
}
