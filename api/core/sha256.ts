/**
 * SHA-256 (FIPS 180-4) in plain TypeScript, for workflow code alone: Temporal's sandbox has no `node:crypto`. Everything
 * else uses that.
 */

/** The first 32 bits of the fractional parts of a root of the first primes. */
function fractions(count: number, root: (prime: number) => number): Int32Array {
  const found: number[] = [];
  for (let n = 2; found.length < count; n += 1) {
    let isPrime = true;
    for (let d = 2; d * d <= n && isPrime; d += 1) isPrime = n % d !== 0;
    if (isPrime) found.push((root(n) % 1) * 2 ** 32);
  }
  return Int32Array.from(found);
}

const BLOCK = 64;

/** The digest of a text in UTF-8, in hexadecimal digits. */
export function sha256(text: string): string {
  const constants = fractions(64, Math.cbrt);
  const state = fractions(8, Math.sqrt);
  const message = padded(new TextEncoder().encode(text));
  const view = new DataView(message.buffer);
  const words = new Int32Array(64);
  for (let offset = 0; offset < message.length; offset += BLOCK) {
    for (let i = 0; i < 16; i += 1) words[i] = view.getInt32(offset + i * 4);
    compress(state, words, constants);
  }
  return [...state].map((word) => (word >>> 0).toString(16).padStart(8, '0')).join('');
}

/** The message with its end mark and its length in bits. */
function padded(bytes: Uint8Array): Uint8Array {
  const whole = new Uint8Array(Math.ceil((bytes.length + 9) / BLOCK) * BLOCK);
  whole.set(bytes);
  whole[bytes.length] = 0x80;
  const view = new DataView(whole.buffer);
  view.setUint32(whole.length - 8, Math.floor(bytes.length / 2 ** 29));
  view.setUint32(whole.length - 4, (bytes.length * 8) >>> 0);
  return whole;
}

const rotate = (word: number, by: number): number => (word >>> by) | (word << (32 - by));

/**
 * Takes one block in. Written with plain variables: a run computes it once, before an optimising compiler looks at it.
 */
function compress(state: Int32Array, words: Int32Array, constants: Int32Array): void {
  for (let i = 16; i < 64; i += 1) {
    const w15 = words[i - 15]!;
    const w2 = words[i - 2]!;
    const s0 = rotate(w15, 7) ^ rotate(w15, 18) ^ (w15 >>> 3);
    const s1 = rotate(w2, 17) ^ rotate(w2, 19) ^ (w2 >>> 10);
    words[i] = words[i - 16]! + s0 + words[i - 7]! + s1;
  }
  let a = state[0]!;
  let b = state[1]!;
  let c = state[2]!;
  let d = state[3]!;
  let e = state[4]!;
  let f = state[5]!;
  let g = state[6]!;
  let h = state[7]!;
  for (let i = 0; i < 64; i += 1) {
    const s1 = rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25);
    const t1 = (h + s1 + ((e & f) ^ (~e & g)) + constants[i]! + words[i]!) | 0;
    const s0 = rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22);
    const t2 = (s0 + ((a & b) ^ (a & c) ^ (b & c))) | 0;
    h = g;
    g = f;
    f = e;
    e = (d + t1) | 0;
    d = c;
    c = b;
    b = a;
    a = (t1 + t2) | 0;
  }
  state[0]! += a;
  state[1]! += b;
  state[2]! += c;
  state[3]! += d;
  state[4]! += e;
  state[5]! += f;
  state[6]! += g;
  state[7]! += h;
}
