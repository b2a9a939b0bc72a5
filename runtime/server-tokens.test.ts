import { randomBytes } from 'node:crypto';
import { expect, it } from 'vitest';
import { openKeyRing } from './encryption/key-ring.js';
import { mintToken, readToken } from './server-tokens.js';

const keys = { a: randomBytes(32).toString('base64'), b: randomBytes(32).toString('base64') };
const ringOf = (entries: Record<string, string>) =>
  openKeyRing({ source: () => Promise.resolve(entries), onFault: () => undefined });

it('a token says whom it is for, under any key of the ring, and nobody can make another of it [T2.3]', async () => {
  const bearer = { purpose: 'pool', id: 'north/ü.1' } as const;
  const token = await mintToken(await ringOf({ ...keys, active: 'a' }), bearer);
  const rotated = await ringOf({ ...keys, active: 'b' });
  expect(await readToken(rotated, token)).toEqual(bearer);
  expect(await readToken(await ringOf({ b: keys.b }), token)).toBeUndefined();
  const [version, , id, key, mac] = token.split('.');
  const other = Buffer.from('south').toString('base64url');
  for (const forged of [
    [version, 'bridge', '', key, mac],
    [version, 'pool', other, key, mac],
    [version, 'pool', id, Buffer.from('b').toString('base64url'), mac],
    [version, 'pool', id, key, ''],
    ['drover2', 'pool', id, key, mac],
    [version, 'pool', id, key, mac, ''],
  ])
    expect(await readToken(rotated, forged.join('.'))).toBeUndefined();
});
