/**
 * How contents are kept: encrypted, and bound to where they belong, so that nothing can be changed, cut or put elsewhere
 * unnoticed (T9.1). Each content has a key of its own, made from one of the ring and random bytes beside it, so no
 * pair of key and nonce comes twice.
 */
import { createCipheriv, createDecipheriv, createHmac, hkdfSync, randomBytes } from 'node:crypto';
import type { EncryptionKey, KeyRing } from '../runtime/encryption/key-ring.js';
import { StoreDamaged } from './backend.js';
import { blocksOf } from './blocks.js';

/** Bytes of a blob that are encrypted as one. */
export const CHUNK_BYTES = 1024 ** 2;

const ALGORITHM = 'aes-256-gcm';
const SALT_BYTES = 32;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
/** First byte of a content: what it is, and in which form. */
const RECORD = 1;
const BLOB = 2;
/** Whether a chunk is the last one is part of what it is bound to: one that lacks chunks does not open. */
const MORE = Buffer.from([0]);
const LAST = Buffer.from([1]);

/** Seals contents and opens them. Places are texts that are never given to two contents. */
export interface Seals {
  sealRecord(place: string, content: Uint8Array): Promise<Buffer>;
  /** @throws StoreDamaged */
  openRecord(place: string, sealed: Uint8Array): Promise<Buffer>;
  sealBlob(place: string, source: AsyncIterable<Uint8Array>): AsyncIterable<Buffer>;
  /** Gives out only what is genuine; throws StoreDamaged where something is not, at the latest at the end. */
  openBlob(place: string, sealed: AsyncIterable<Uint8Array>): AsyncIterable<Buffer>;
  /** A digest under a key: who does not have the key cannot find out by it what the content is. */
  keyedDigest(place: string, digest: string): Promise<string>;
  /** Whether a keyed digest is that of a digest. */
  isKeyedDigest(keyed: string, place: string, digest: string): Promise<boolean>;
}

/** Seals under the keys of a ring. */
export function createSeals(ring: KeyRing): Seals {
  async function keyOf(id: string, what: string): Promise<EncryptionKey> {
    const key = await ring.find(id);
    if (key === undefined) {
      throw new StoreDamaged(
        `${what} was encrypted with the key "${id}", which is not in the ring: put it back`,
      );
    }
    return key;
  }

  async function* sealBlob(place: string, source: AsyncIterable<Uint8Array>): AsyncIterable<Buffer> {
    const { id, secret } = await ring.active();
    const salt = randomBytes(SALT_BYTES);
    yield headerOf(BLOB, id, salt);
    const key = derive(secret, salt, 'blob');
    let index = 0;
    for await (const { block, isLast } of blocksOf(source, CHUNK_BYTES)) {
      yield seal(key, index, bindingOf(place, isLast ? LAST : MORE), block);
      index += 1;
    }
  }

  async function* openBlob(place: string, sealed: AsyncIterable<Uint8Array>): AsyncIterable<Buffer> {
    const { header, rest } = await takeHeader(sealed, place);
    const key = derive((await keyOf(header.keyId, place)).secret, header.salt, 'blob');
    let index = 0;
    for await (const { block, isLast } of blocksOf(rest, CHUNK_BYTES + TAG_BYTES)) {
      yield open(key, index, bindingOf(place, isLast ? LAST : MORE), block, place);
      index += 1;
    }
  }

  return {
    async sealRecord(place, content) {
      const { id, secret } = await ring.active();
      const salt = randomBytes(SALT_BYTES);
      const sealed = seal(derive(secret, salt, 'record'), 0, bindingOf(place, LAST), content);
      return Buffer.concat([headerOf(RECORD, id, salt), sealed]);
    },
    async openRecord(place, sealed) {
      const header = readHeader(Buffer.from(sealed), RECORD, place);
      const key = derive((await keyOf(header.keyId, place)).secret, header.salt, 'record');
      return open(key, 0, bindingOf(place, LAST), sealed.subarray(header.bytes), place);
    },
    sealBlob,
    openBlob,
    async keyedDigest(place, digest) {
      const { id, secret } = await ring.active();
      return `${id}:${mac(secret, place, digest)}`;
    },
    async isKeyedDigest(keyed, place, digest) {
      const [id = ''] = keyed.split(':');
      return keyed === `${id}:${mac((await keyOf(id, place)).secret, place, digest)}`;
    },
  };
}

const mac = (secret: Buffer, place: string, digest: string): string =>
  createHmac('sha256', derive(secret, Buffer.alloc(0), 'digest'))
    .update(`${place}\0${digest}`)
    .digest('hex');

const derive = (secret: Buffer, salt: Uint8Array, purpose: string): Buffer =>
  Buffer.from(hkdfSync('sha256', secret, salt, `drover store: ${purpose}`, 32));

const bindingOf = (place: string, end: Buffer): Buffer => Buffer.concat([Buffer.from(`${place}\0`), end]);

/** The position of a chunk is its nonce. */
function nonceOf(index: number): Buffer {
  const nonce = Buffer.alloc(NONCE_BYTES);
  nonce.writeUInt32BE(index, NONCE_BYTES - 4);
  return nonce;
}

function seal(key: Buffer, index: number, binding: Buffer, content: Uint8Array): Buffer {
  const cipher = createCipheriv(ALGORITHM, key, nonceOf(index)).setAAD(binding);
  return Buffer.concat([cipher.update(content), cipher.final(), cipher.getAuthTag()]);
}

function open(key: Buffer, index: number, binding: Buffer, sealed: Uint8Array, place: string): Buffer {
  try {
    if (sealed.length < TAG_BYTES) throw new Error('it is cut short');
    const decipher = createDecipheriv(ALGORITHM, key, nonceOf(index), { authTagLength: TAG_BYTES })
      .setAAD(binding)
      .setAuthTag(sealed.subarray(-TAG_BYTES));
    return Buffer.concat([decipher.update(sealed.subarray(0, -TAG_BYTES)), decipher.final()]);
  } catch (error) {
    throw damaged(place, error);
  }
}

const damaged = (place: string, cause?: unknown): StoreDamaged =>
  new StoreDamaged(
    `what the store keeps as ${place} does not open: it was changed, cut or put there from elsewhere`,
    {
      cause,
    },
  );

interface Header {
  keyId: string;
  salt: Buffer;
  /** Of the header itself. */
  bytes: number;
}

function headerOf(kind: number, keyId: string, salt: Buffer): Buffer {
  const id = Buffer.from(keyId);
  return Buffer.concat([Buffer.from([kind, id.length]), id, salt]);
}

const headerBytes = (start: Uint8Array): number => 2 + (start[1] ?? 0) + SALT_BYTES;

function readHeader(start: Buffer, kind: number, place: string): Header {
  const bytes = headerBytes(start);
  if (start[0] !== kind || start.length < bytes) throw damaged(place);
  const salted = bytes - SALT_BYTES;
  return { keyId: start.subarray(2, salted).toString(), salt: start.subarray(salted, bytes), bytes };
}

async function takeHeader(
  sealed: AsyncIterable<Uint8Array>,
  place: string,
): Promise<{ header: Header; rest: AsyncIterable<Uint8Array> }> {
  const chunks = sealed[Symbol.asyncIterator]();
  let start = Buffer.alloc(0);
  while (start.length < 2 || start.length < headerBytes(start)) {
    const next = await chunks.next();
    if (next.done === true) throw damaged(place);
    start = Buffer.concat([start, next.value]);
  }
  const header = readHeader(start, BLOB, place);
  const rest = async function* (): AsyncIterable<Uint8Array> {
    try {
      yield start.subarray(header.bytes);
      for (;;) {
        const next = await chunks.next();
        if (next.done === true) return;
        yield next.value;
      }
    } finally {
      await chunks.return?.();
    }
  };
  return { header, rest: rest() };
}
