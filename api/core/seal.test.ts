import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { canonicalJson } from './json.js';
import { createSealer, newSealKey, parseSealKeys, seal, SEAL_PURPOSES, verifySeal } from './seal.js';
import type { SealKeys, SealRing } from './seal.js';

const at = (second: number): Date => new Date(Date.UTC(2026, 10, 29, 10, 15, second));
const entryAt = (second: number): Record<string, string> => {
  const { id, value } = newSealKey(at(second));
  return { [id]: value };
};
const [first, second] = [entryAt(1), entryAt(2)];
const keys = parseSealKeys(first);
const [key] = keys;
const fixed = (ring: SealKeys): SealRing => ({ current: () => ring, again: () => Promise.resolve(ring) });

describe('[F17] a ring of seal keys', () => {
  it('signs with the newest key, whatever order they are written in', () => {
    for (const entries of [
      { ...first, ...second },
      { ...second, ...first },
    ]) {
      expect(parseSealKeys(entries).map(({ id }) => id)).toEqual(['20261129T101502Z', '20261129T101501Z']);
    }
  });

  it.each([
    [{}, /no key in the ring/],
    [{ active: 'x' }, /entry "active": a key is named after the second/],
    [{ '20261129T101500Z': 'c2hvcnQ=' }, /key "20261129T101500Z" is not 32 bytes in base64; make one with/],
    [{ '20261129T101500Z': '!'.repeat(44) }, /is not 32 bytes/],
  ])('says what is wrong with %o', (entries, message) => {
    expect(() => parseSealKeys(entries as Record<string, string>)).toThrow(message);
  });
});

describe('[F17] a seal', () => {
  it('counts for equal content, in whatever order it is written', () => {
    const sealed = seal(key, 'run', { a: 1, b: [2, { c: 'x', d: undefined }] });
    expect(sealed).toMatch(/^20261129T101501Z\.[A-Za-z0-9_-]{43}$/);
    expect(verifySeal(keys, 'run', { b: [2, { c: 'x' }], a: 1 }, sealed)).toEqual({ kind: 'sealed' });
  });

  it('counts for its own purpose only', () => {
    const sealed = seal(key, 'body', { a: 1 });
    for (const purpose of SEAL_PURPOSES) {
      const kind = purpose === 'body' ? 'sealed' : 'wrong';
      expect(verifySeal(keys, purpose, { a: 1 }, sealed)).toEqual({ kind });
    }
  });

  it('is worth nothing for any other value', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.jsonValue(), (value, other) => {
        const isSame = canonicalJson(value) === canonicalJson(other);
        const kind = isSame ? 'sealed' : 'wrong';
        expect(verifySeal(keys, 'run', other, seal(key, 'run', value))).toEqual({ kind });
        // JSON.stringify is what would travel.
        const travelled: unknown = JSON.parse(JSON.stringify(value));
        expect(verifySeal(keys, 'run', travelled, seal(key, 'run', value))).toEqual({ kind: 'sealed' });
      }),
    );
  });

  it('that is none is wrong, and never an error', () => {
    const right = seal(key, 'run', 1);
    const wrong = [
      undefined,
      null,
      7,
      {},
      '',
      'x',
      right.slice(0, -1),
      `${right}=`,
      ` ${right}`,
      `${right}\n`,
    ];
    for (const sealed of wrong) expect(verifySeal(keys, 'run', 1, sealed)).toEqual({ kind: 'wrong' });
  });

  it('by a key that the ring lacks may be right', () => {
    const sealed = seal(parseSealKeys(second)[0], 'run', 1);
    expect(verifySeal(keys, 'run', 1, sealed)).toEqual({ kind: 'unknownKey', keyId: '20261129T101502Z' });
  });
});

describe('[F17] a sealer', () => {
  it('looks for a key that it does not know where the keys are kept', async () => {
    const both = parseSealKeys({ ...first, ...second });
    const sealed = seal(both[0], 'run', 1);
    const sealer = createSealer({ current: () => keys, again: () => Promise.resolve(both) });
    expect(await sealer.verify('run', 1, sealed)).toEqual({ kind: 'sealed' });
    expect(await createSealer(fixed(keys)).verify('run', 1, sealed)).toMatchObject({ kind: 'unknownKey' });
  });

  it('goes on verifying what an older key has sealed, and finds what it has named', async () => {
    const before = createSealer(fixed(keys));
    const [sealed, [name]] = [before.seal('run', 1), before.digits({ uid: 'u' })];
    const after = createSealer(fixed(parseSealKeys({ ...first, ...second })));
    expect(after.keyId()).toBe('20261129T101502Z');
    expect(await after.verify('run', 1, sealed)).toEqual({ kind: 'sealed' });
    const [newest, older, ...none] = after.digits({ uid: 'u' });
    expect(newest).toMatch(/^[0-9a-f]{16}$/);
    expect(newest).not.toBe(name);
    expect(older).toBe(name);
    expect(none).toEqual([]);
  });
});
