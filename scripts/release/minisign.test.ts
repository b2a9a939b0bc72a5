import { createHash, createPublicKey, generateKeyPairSync, verify } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { openSigningKey, throwawayKey } from './minisign.js';

/** Raw Ed25519 keys as node:crypto takes them. */
const SPKI_PREFIX = Buffer.from('302a300506032b6570032100', 'hex');

/** Checks a signature as the format is specified (https://jedisct1.github.io/minisign/#signature-format). */
function isValid(publicKey: string, content: Buffer, signature: string): boolean {
  const raw = Buffer.from(publicKey, 'base64');
  const key = createPublicKey({
    key: Buffer.concat([SPKI_PREFIX, raw.subarray(10)]),
    type: 'spki',
    format: 'der',
  });
  const [untrusted = '', line = '', trusted = '', global = ''] = signature.split('\n');
  const bytes = Buffer.from(line, 'base64');
  return (
    untrusted.startsWith('untrusted comment: ') &&
    raw.subarray(0, 2).toString() === 'Ed' &&
    bytes.subarray(0, 2).toString() === 'ED' &&
    bytes.subarray(2, 10).equals(raw.subarray(2, 10)) &&
    verify(null, createHash('blake2b512').update(content).digest(), key, bytes.subarray(10)) &&
    verify(
      null,
      Buffer.concat([bytes.subarray(10), Buffer.from(trusted.replace(/^trusted comment: /, ''))]),
      key,
      Buffer.from(global, 'base64'),
    )
  );
}

describe('a signature', () => {
  const content = Buffer.from('what is released');

  it('is of the content and of its comment, by this key', () => {
    const key = throwawayKey();
    const signature = key.sign(content, 'drover 1.2.3');
    expect(isValid(key.publicKey, content, signature)).toBe(true);
    expect(isValid(key.publicKey, Buffer.from('something else'), signature)).toBe(false);
    expect(isValid(key.publicKey, content, signature.replace('1.2.3', '1.2.4'))).toBe(false);
    expect(isValid(throwawayKey().publicKey, content, signature)).toBe(false);
    expect(() => key.sign(content, 'two\nlines')).toThrow('one line');
  });

  it('is of the same key for the same private key, and of no other kind of key', () => {
    const { privateKey } = generateKeyPairSync('ed25519', {
      privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
      publicKeyEncoding: { type: 'spki', format: 'pem' },
    });
    expect(openSigningKey(privateKey).publicFile).toBe(openSigningKey(privateKey).publicFile);
    const other = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({
      type: 'pkcs8',
      format: 'pem',
    });
    expect(() => openSigningKey(String(other))).toThrow('only ed25519');
  });
});
