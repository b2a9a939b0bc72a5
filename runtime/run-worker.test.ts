import { describe, expect, it } from 'vitest';
import { runWorker } from './run-worker.js';

const times = { lookMs: 5, endMs: 20 };
const never = (): Promise<void> => new Promise(() => undefined);

describe('a worker', () => {
  it('that ends by itself ends this too, whatever it ends with', async () => {
    await expect(
      runWorker({ run: () => Promise.resolve(), getState: () => 'RUNNING' }, times),
    ).resolves.toBeUndefined();
    const run = () => Promise.reject(new Error('refused'));
    await expect(runWorker({ run, getState: () => 'FAILED' }, times)).rejects.toThrow('refused');
  });

  it('that has failed and never ends is given up', async () => {
    let state: 'RUNNING' | 'FAILED' = 'RUNNING';
    const running = runWorker({ run: never, getState: () => state }, times);
    const outcome = running.catch((error: unknown) => error);
    await new Promise((resolve) => setTimeout(resolve, 50));
    state = 'FAILED';
    expect(await outcome).toMatchObject({ message: expect.stringContaining('does not end') as string });
  });

  it('that has failed may end with its own error', async () => {
    const run = () => new Promise<void>((_, reject) => setTimeout(reject, 10, new Error('its own')));
    await expect(runWorker({ run, getState: () => 'FAILED' }, { lookMs: 5, endMs: 2000 })).rejects.toThrow(
      'its own',
    );
  });
});
