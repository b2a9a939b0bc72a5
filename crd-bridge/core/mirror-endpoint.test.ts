import { describe, expect, it } from 'vitest';
import type { MirrorEnvelope } from '../../workflows/core/contract.js';
import { createBatches } from './batches.js';
import { createMirrorEndpoint } from './mirror-endpoint.js';
import { createKeyedMutex } from './mutex.js';

const envelope = (kind: string, more: Partial<MirrorEnvelope> = {}): MirrorEnvelope => ({
  kind,
  object: { namespace: 'ns', name: 'o', uid: 'u' },
  epoch: 1,
  speaker: 'run',
  sequence: 1,
  update: { text: 'hello' },
  ...more,
});

function setup(options: { isVouched?: boolean } = {}) {
  const calls: string[] = [];
  const note =
    (what: string) =>
    ({ object, update }: MirrorEnvelope) => {
      calls.push(`${what} ${object.name} ${JSON.stringify(update)}`);
      return Promise.resolve(undefined);
    };
  const endpoint = createMirrorEndpoint({
    rows: [
      {
        kind: 'Run',
        former: (said) => ('old' in said ? envelope('Run', { update: said }) : undefined),
        vouch: () =>
          options.isVouched === false ? Promise.reject(new Error('a stranger')) : Promise.resolve(),
        heard: ({ object }) => calls.push(`heard ${object.uid}`),
        mirror: note('mirror'),
      },
      {
        kind: 'Entity',
        vouch: () => Promise.resolve(),
        heard: () => undefined,
        mirror: note('entity'),
        record: note('record'),
      },
    ],
    onUpdate: (verb) => calls.push(`counted ${verb}`),
  });
  return { calls, endpoint };
}

describe('an update', () => {
  it('is handed to the row of its kind, which has heard of the run by then', async () => {
    const { calls, endpoint } = setup();
    await endpoint.mirror(envelope('Run'));
    await endpoint.record(envelope('Entity'));
    expect(calls).toEqual([
      'heard u',
      'counted mirror',
      'mirror o {"text":"hello"}',
      'counted record',
      'record o {"text":"hello"}',
    ]);
  });

  it('in the shape of an earlier release is taken by the row that knows it', async () => {
    const { calls, endpoint } = setup();
    await endpoint.mirror({ old: true });
    expect(calls).toContain('mirror o {"old":true}');
  });

  it('of a stranger is neither heard nor counted', async () => {
    const { calls, endpoint } = setup({ isVouched: false });
    await expect(endpoint.mirror(envelope('Run'))).rejects.toThrow('a stranger');
    expect(calls).toEqual([]);
  });

  it('of a kind that is not known yet is tried again; what no kind sends, and what a kind does not know, is not', async () => {
    const { endpoint } = setup();
    await expect(endpoint.mirror(envelope('Other'))).rejects.toMatchObject({ nonRetryable: false });
    await expect(endpoint.mirror({ nonsense: true })).rejects.toMatchObject({ nonRetryable: true });
    await expect(endpoint.release(envelope('Entity'))).rejects.toMatchObject({ nonRetryable: true });
  });
});

describe('updates of one object', () => {
  it('that come while one is written go out together, and fail together', async () => {
    const written: number[][] = [];
    let open: () => void = () => undefined;
    const latch = new Promise<void>((resolve) => {
      open = resolve;
    });
    const send = createBatches<number>({
      mutex: createKeyedMutex(),
      write: async (updates) => {
        written.push([...updates]);
        await latch;
        if (updates.includes(3)) throw new Error('refused');
      },
    });
    const first = send('a', 1);
    await new Promise(setImmediate);
    const sent = [first, send('a', 2), send('a', 3), send('b', 4)];
    await new Promise(setImmediate);
    open();
    const results = await Promise.allSettled(sent);
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'rejected', 'fulfilled']);
    expect(written).toEqual([[1], [4], [2, 3]]);
  });
});
