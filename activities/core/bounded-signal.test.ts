import { setTimeout as sleep } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import { boundedSignal } from './bounded-signal.js';

describe('a bounded signal', () => {
  it('aborts when the time is up, also after a garbage collection', async () => {
    setFlagsFromString('--expose-gc');
    const collect = runInNewContext('gc') as () => void;
    const signal = boundedSignal(new AbortController().signal, 100);
    for (let round = 0; round < 5; round += 1) {
      collect();
      await sleep(10);
    }
    await sleep(100);
    expect(signal.aborted).toBe(true);
    expect(signal.reason).toMatchObject({ name: 'TimeoutError' });
  });

  it('aborts with the other signal, and for its reason', () => {
    const controller = new AbortController();
    const signal = boundedSignal(controller.signal, 10_000);
    expect(signal.aborted).toBe(false);
    controller.abort('cancelled');
    expect(signal.reason).toBe('cancelled');
    expect(boundedSignal(controller.signal, 10_000).reason).toBe('cancelled');
  });
});
