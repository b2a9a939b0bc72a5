import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import type { Payload, PayloadCodec } from '@temporalio/common';
import protocol from '@temporalio/proto';
import type { KeyRing } from './key-ring.js';

const proto = protocol.temporal.api.common.v1.Payload;

/** `encoding` of an encrypted payload, as the samples of Temporal's SDKs name it. */
export const ENCRYPTED = 'binary/encrypted';
const KEY_ID = 'encryption-key-id';
const CIPHER = 'encryption-cipher';
const CIPHER_NAME = 'AES-256-GCM';
const ALGORITHM = 'aes-256-gcm';
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** A payload that cannot be opened; says which key, never what is in it. */
export class PayloadSealedError extends Error {
  override name = 'PayloadSealedError';
}

/**
 * Encrypts every payload with AES-256-GCM: nonce, sealed bytes of the whole payload, tag. The key's id stands beside
 * it in the clear and is bound to it. Payloads that are not encrypted pass when read, so that encryption can be
 * switched on while runs go on, and signals typed by hand are understood.
 */
export function createEncryptionCodec(keys: KeyRing): PayloadCodec {
  return {
    async encode(payloads) {
      if (payloads.length === 0) return payloads;
      const key = await keys.active();
      return payloads.map((payload) => {
        const nonce = randomBytes(NONCE_BYTES);
        const cipher = createCipheriv(ALGORITHM, key.secret, nonce).setAAD(Buffer.from(key.id));
        const sealed = [nonce, cipher.update(proto.encode(payload).finish()), cipher.final()];
        return {
          metadata: {
            encoding: Buffer.from(ENCRYPTED),
            [CIPHER]: Buffer.from(CIPHER_NAME),
            [KEY_ID]: Buffer.from(key.id),
          },
          data: Buffer.concat([...sealed, cipher.getAuthTag()]),
        };
      });
    },
    decode: (payloads) => Promise.all(payloads.map((payload) => open(payload, keys))),
  };
}

async function open(payload: Payload, keys: KeyRing): Promise<Payload> {
  if (text(payload.metadata?.['encoding']) !== ENCRYPTED) return payload;
  const id = text(payload.metadata?.[KEY_ID]);
  const key = await keys.find(id);
  if (key === undefined) {
    throw new PayloadSealedError(
      `a payload was encrypted with the key "${id}", which is not in the ring; put it back, it is needed until the runs that used it are gone`,
    );
  }
  const data = Buffer.from(payload.data ?? []);
  try {
    if (data.length < NONCE_BYTES + TAG_BYTES) throw new Error('too short');
    const decipher = createDecipheriv(ALGORITHM, key.secret, data.subarray(0, NONCE_BYTES), {
      authTagLength: TAG_BYTES,
    })
      .setAAD(Buffer.from(id))
      .setAuthTag(data.subarray(-TAG_BYTES));
    const clear = [decipher.update(data.subarray(NONCE_BYTES, -TAG_BYTES)), decipher.final()];
    return proto.decode(Buffer.concat(clear));
  } catch (error) {
    throw new PayloadSealedError(
      `a payload does not open with the key "${id}": damaged, or another key of that id`,
      {
        cause: error,
      },
    );
  }
}

const text = (bytes: Uint8Array | null | undefined): string => Buffer.from(bytes ?? []).toString('utf8');
