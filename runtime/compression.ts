/**
 * Large payloads travel compressed: the input of a run of 2,000 actions, or its status. Temporal accepts 2 MiB for one
 * payload and 50 MiB for a history, and stores each payload several times.
 */
import { promisify } from 'node:util';
import { deflate, inflate } from 'node:zlib';
import type { DataConverter, Payload, PayloadCodec } from '@temporalio/common';
import protocol from '@temporalio/proto';

const proto = protocol.temporal.api.common.v1.Payload;

/** `encoding` of a compressed payload, as Temporal's Go SDK names it: its tools open them too. */
export const COMPRESSED = 'binary/zlib';
/** Smaller ones stay as they are: people read them in the Web UI. */
const MIN_BYTES = 16 * 1024;
/**
 * Largest inflated size of a payload, and largest ratio to its compressed size: whoever can write into a history must
 * not be able to use up all memory. Texts of plans shrink to a tenth to a fiftieth.
 */
const MAX_BYTES = 16 * 1024 * 1024;
const MAX_RATIO = 200;

const compress = promisify(deflate);
const decompress = promisify(inflate);

/**
 * A codec that compresses large payloads where that helps. On reading, payloads that are not compressed pass as they
 * are.
 */
export function createCompressionCodec(): PayloadCodec {
  return {
    encode: (payloads) => Promise.all(payloads.map(shrink)),
    async decode(payloads) {
      const expanded: Payload[] = [];
      // One after the other, so that the temporary buffers of one payload can be freed before the next is inflated.
      for (const payload of payloads) expanded.push(await expand(payload));
      return expanded;
    },
  };
}

/** The data converter without keys: compression alone. */
export const compressingConverter = (): DataConverter => ({ payloadCodecs: [createCompressionCodec()] });

async function shrink(payload: Payload): Promise<Payload> {
  if ((payload.data?.length ?? 0) < MIN_BYTES) return payload;
  const whole = proto.encode(payload).finish();
  const data = await compress(whole);
  return isWorthIt(whole.length, data.length)
    ? { metadata: { encoding: Buffer.from(COMPRESSED) }, data }
    : payload;
}

/** A payload that shrinks too well could not be told from an attack when it is read, and stays as it is. */
const isWorthIt = (whole: number, compressed: number): boolean =>
  compressed < whole && whole <= Math.min(MAX_BYTES, compressed * MAX_RATIO);

async function expand(payload: Payload): Promise<Payload> {
  const encoding = payload.metadata?.['encoding'];
  if (encoding === undefined || encoding === null || Buffer.from(encoding).toString() !== COMPRESSED)
    return payload;
  const data = payload.data ?? Buffer.alloc(0);
  const maxOutputLength = Math.max(MIN_BYTES, Math.min(MAX_BYTES, data.length * MAX_RATIO));
  return proto.decode(await decompress(data, { maxOutputLength }));
}

/** Codecs one after the other, as one. They are undone in the opposite order. */
export const chainCodecs = (...codecs: readonly PayloadCodec[]): PayloadCodec => ({
  async encode(payloads) {
    let encoded = payloads;
    for (const codec of codecs) encoded = await codec.encode(encoded);
    return encoded;
  },
  async decode(payloads) {
    let decoded = payloads;
    for (const codec of [...codecs].reverse()) decoded = await codec.decode(decoded);
    return decoded;
  },
});
