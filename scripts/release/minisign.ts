/**
 * Signatures in the format of minisign: Ed25519 over the BLAKE2b digest of a file. Anybody checks them without a network, by
 * a program that distributions have (`minisign -V`), against one line of text.
 */
import { createHash, createPrivateKey, createPublicKey, generateKeyPairSync, sign } from 'node:crypto';
import type { KeyObject } from 'node:crypto';

/** A key that signs. */
export interface SigningKey {
  /** The line that people check signatures with (`minisign -P`). */
  publicKey: string;
  /** The same as minisign's file. */
  publicFile: string;
  /**
   * The signature of a file's content, as the text of a `.minisig` file.
   *
   * @param comment - one line that is signed too
   */
  sign(content: Buffer, comment: string): string;
}

/** A public key in DER ends with its 32 bytes. */
const RAW_KEY_BYTES = 32;
const KEY_ID_BYTES = 8;

/**
 * Opens a key.
 *
 * @param pem - an Ed25519 private key (`openssl genpkey -algorithm ed25519`)
 * @throws Error when it is none
 */
export function openSigningKey(pem: string): SigningKey {
  return signingKey(createPrivateKey(pem));
}

/** A key that nobody has seen before and nobody keeps. */
export const throwawayKey = (): SigningKey => signingKey(generateKeyPairSync('ed25519').privateKey);

function signingKey(key: KeyObject): SigningKey {
  if (key.asymmetricKeyType !== 'ed25519')
    throw new Error(`the key that signs is of type ${key.asymmetricKeyType}; only ed25519 is allowed`);
  const raw = createPublicKey(key).export({ type: 'spki', format: 'der' }).subarray(-RAW_KEY_BYTES);
  const id = createHash('sha256').update(raw).digest().subarray(0, KEY_ID_BYTES);
  const name = id.toString('hex').toUpperCase();
  const publicKey = Buffer.concat([Buffer.from('Ed'), id, raw]).toString('base64');
  return {
    publicKey,
    publicFile: `untrusted comment: minisign public key ${name}\n${publicKey}\n`,
    sign(content, comment) {
      if (/[\r\n]/.test(comment)) throw new Error('the comment of a signature is one line');
      // "ED": what is signed is the digest.
      const signature = sign(null, createHash('blake2b512').update(content).digest(), key);
      const whole = sign(null, Buffer.concat([signature, Buffer.from(comment)]), key);
      return [
        `untrusted comment: signature from drover's release key ${name}`,
        Buffer.concat([Buffer.from('ED'), id, signature]).toString('base64'),
        `trusted comment: ${comment}`,
        whole.toString('base64'),
        '',
      ].join('\n');
    },
  };
}
