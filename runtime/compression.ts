/**
 * Large payloads travel compressed: the input of a run of 2,000 actions, the status of them. Temporal takes 2 MiB for one
 * payload and 50 MiB for a history, and keeps every one several times.
 */
import { promisify } from 'node:util';
import { deflate, inflate } from 'node:zlib';
import type { Payload, PayloadCodec } from '@temporalio/common';
import protocol from '@temporalio/proto';

const proto = protocol.temporal.api.common.v1.Payload;

/** `encoding` of a compressed payload, as Temporal's Go SDK names it: its tools open them too. */
export const COMPRESSED = 'binary/zlib';
/** Smaller ones stay as they are: people read them in the Web UI. */
const LEAST_BYTES = 16 * 1024;
/** What a payload may be inflated to: whoever can write into a history must not be able to use up all memory. */
const MOST_BYTES = 64 * 1024 * 1024;

const compress = promisify(deflate);
const decompress = promisify(inflate);

/** A codec that compresses large payloads where that helps. Any payload passes that is not compressed when it is read. */
export function createCompressionCodec(): PayloadCodec {
  return {
    encode: (payloads) => Promise.all(payloads.map(shrink)),
    decode: (payloads) => Promise.all(payloads.map(expand)),
  };
}

async function shrink(payload: Payload): Promise<Payload> {
  if ((payload.data?.length ?? 0) < LEAST_BYTES) return payload;
  const whole = proto.encode(payload).finish();
  const data = await compress(whole);
  return data.length < whole.length ? { metadata: { encoding: Buffer.from(COMPRESSED) }, data } : payload;
}

async function expand(payload: Payload): Promise<Payload> {
  const encoding = payload.metadata?.['encoding'];
  if (encoding === undefined || encoding === null || Buffer.from(encoding).toString() !== COMPRESSED)
    return payload;
  return proto.decode(await decompress(payload.data ?? Buffer.alloc(0), { maxOutputLength: MOST_BYTES }));
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
