import { randomBytes } from 'node:crypto';
import { deflateSync } from 'node:zlib';
import { defaultPayloadConverter } from '@temporalio/common';
import type { Payload } from '@temporalio/common';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { chainCodecs, COMPRESSED, createCompressionCodec } from './compression.js';

const codec = createCompressionCodec();
const payloadOf = (value: unknown): Payload => defaultPayloadConverter.toPayload(value);
const encodingOf = (payload: Payload | undefined): string =>
  Buffer.from(payload?.metadata?.['encoding'] ?? []).toString();
const actions = (count: number) =>
  Array.from({ length: count }, (_, index) => ({ name: `action-${index}`, type: 'Job', timeoutMs: 300_000 }));

it('[F3] makes large payloads much smaller, and leaves small ones for people to read', async () => {
  const [large, small, noise] = await codec.encode([
    payloadOf(actions(2000)),
    payloadOf(actions(10)),
    { metadata: { encoding: Buffer.from('binary/plain') }, data: randomBytes(100_000) },
  ]);
  expect(encodingOf(large)).toBe(COMPRESSED);
  expect(large?.data?.length).toBeLessThan(JSON.stringify(actions(2000)).length / 8);
  expect(encodingOf(small)).toBe('json/plain');
  expect(encodingOf(noise)).toBe('binary/plain');
});

it('[F3] gives back what was written, alone and before another codec', async () => {
  const flip = {
    encode: (payloads: Payload[]) =>
      Promise.resolve(
        payloads.map((payload) => ({ ...payload, data: Buffer.from(payload.data ?? []).reverse() })),
      ),
    decode: (payloads: Payload[]) => flip.encode(payloads),
  };
  const chain = chainCodecs(codec, flip);
  await fc.assert(
    fc.asyncProperty(fc.array(fc.jsonValue(), { maxLength: 3 }), fc.nat(40), async (values, times) => {
      const payloads = values.map((value) => payloadOf(Array(times).fill([value, 'x'.repeat(500)])));
      for (const one of [codec, chain]) {
        const back = await one.decode(await one.encode(payloads));
        expect(back.map((payload) => defaultPayloadConverter.fromPayload(payload))).toEqual(
          payloads.map((payload) => defaultPayloadConverter.fromPayload(payload)),
        );
      }
    }),
  );
});

it.each([80 * 1024 * 1024, 12 * 1024 * 1024, 1024 * 1024])(
  '[F3] refuses what inflates without measure: %d bytes of nothing',
  async (bytes) => {
    const bomb = { metadata: { encoding: Buffer.from(COMPRESSED) }, data: deflateSync(Buffer.alloc(bytes)) };
    await expect(codec.decode([bomb])).rejects.toThrow();
  },
);

it('[F3] leaves what would shrink so well that it would be refused', async () => {
  const payload = payloadOf('x'.repeat(1024 * 1024));
  expect(await codec.encode([payload])).toEqual([payload]);
});
