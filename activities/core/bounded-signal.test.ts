import { getEventListeners } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import { withBoundedSignal } from './bounded-signal.js';

const aborted = (signal: AbortSignal): Promise<unknown> =>
  signal.aborted
    ? Promise.resolve(signal.reason)
    : new Promise((resolve) => signal.addEventListener('abort', () => resolve(signal.reason)));

describe('a bounded signal', () => {
  it('aborts when the time is up, also after a garbage collection', async () => {
    setFlagsFromString('--expose-gc');
    const collect = runInNewContext('gc') as () => void;
    const reason = await withBoundedSignal(new AbortController().signal, 100, async (signal) => {
      for (let round = 0; round < 5; round += 1) {
        collect();
        await sleep(10);
      }
      return Promise.race([aborted(signal), sleep(5_000)]);
    });
    expect(reason).toMatchObject({ name: 'TimeoutError' });
  });

  it('aborts with the other signal, and for its reason', async () => {
    const controller = new AbortController();
    const reason = withBoundedSignal(controller.signal, 10_000, aborted);
    controller.abort('cancelled');
    expect(await reason).toBe('cancelled');
    expect(await withBoundedSignal(controller.signal, 10_000, aborted)).toBe('cancelled');
  });

  it('lets go of the other signal when its work has ended, however it ends', async () => {
    const { signal } = new AbortController();
    const seen = await withBoundedSignal(signal, 10_000, () =>
      Promise.resolve(getEventListeners(signal, 'abort').length),
    );
    expect(seen).toBe(1);
    await expect(withBoundedSignal(signal, 10_000, () => Promise.reject(new Error('broke')))).rejects.toThrow(
      'broke',
    );
    expect(getEventListeners(signal, 'abort')).toEqual([]);
  });
});
