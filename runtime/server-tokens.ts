/**
 * Tokens of `drover-server`: each says what it is for, and carries a MAC under a key of the server's ring. Nobody keeps a
 * list of them; a token is good as long as its key is in the ring.
 */
import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto';
import type { EncryptionKey, KeyRing } from './encryption/key-ring.js';

/** What tokens are for; `operation` and `pool` name one. */
export const TOKEN_PURPOSES = ['bridge', 'worker', 'pool', 'operation'] as const;
/** One of {@link TOKEN_PURPOSES}. */
export type TokenPurpose = (typeof TOKEN_PURPOSES)[number];

/** Whom a token is for. */
export interface TokenBearer {
  purpose: TokenPurpose;
  /** Which operation or pool; empty for bridge and worker. */
  id: string;
}

const VERSION = 'drover1';

/** A token under the newest key of a ring. */
export async function mintToken(
  ring: Pick<KeyRing, 'active'>,
  { purpose, id }: TokenBearer,
): Promise<string> {
  const key = await ring.active();
  return [VERSION, purpose, encode(id), encode(key.id), mac(key, { purpose, id }).toString('base64url')].join(
    '.',
  );
}

/** Whom a token is for; undefined where it is none, or its key is not in the ring. */
export async function readToken(
  ring: Pick<KeyRing, 'find'>,
  token: string,
): Promise<TokenBearer | undefined> {
  const [version, word, idPart = '', keyPart = '', macPart = '', ...more] = token.split('.');
  const purpose = TOKEN_PURPOSES.find((each) => each === word);
  if (version !== VERSION || purpose === undefined || more.length > 0) return undefined;
  const bearer = { purpose, id: decode(idPart) };
  const key = await ring.find(decode(keyPart));
  if (key === undefined) return undefined;
  const [said, right] = [Buffer.from(macPart, 'base64url'), mac(key, bearer)];
  return said.length === right.length && timingSafeEqual(said, right) ? bearer : undefined;
}

/** Whether a text looks like one of these tokens: one of Kubernetes has three parts. */
export const isServerToken = (token: string): boolean => token.startsWith(`${VERSION}.`);

const encode = (text: string): string => Buffer.from(text).toString('base64url');
const decode = (text: string): string => Buffer.from(text, 'base64url').toString();

function mac({ secret }: EncryptionKey, { purpose, id }: TokenBearer): Buffer {
  const key = Buffer.from(hkdfSync('sha256', secret, '', 'drover-server: tokens', 32));
  return createHmac('sha256', key).update(`${purpose}\0${id}`).digest();
}
