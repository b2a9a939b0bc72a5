import { randomBytes } from 'node:crypto';
import { defaultPayloadConverter, type Payload } from '@temporalio/common';
import { describe, expect, it } from 'vitest';
import { openKeyRing, parseKeys } from './key-ring.js';
import { createEncryptionCodec, ENCRYPTED } from './payload-codec.js';

const key = (): string => randomBytes(32).toString('base64');
const payload = (value: unknown) => defaultPayloadConverter.toPayload(value);
const values = (payloads: Payload[]): unknown[] =>
  payloads.map((item) => defaultPayloadConverter.fromPayload(item));

async function ringOf(entries: Record<string, string>, more: { now?: () => number } = {}) {
  const faults: unknown[] = [];
  const ring = await openKeyRing({
    source: () => Promise.resolve({ ...entries }),
    onFault: (error) => faults.push(error),
    ...more,
  });
  return { ring, faults };
}

describe('createEncryptionCodec', () => {
  it('gives back what it was given, and shows none of it on the way', async () => {
    const { ring } = await ringOf({ 'key-1': key() });
    const codec = createEncryptionCodec(ring);
    const values = [{ secret: 'canary-7f3a' }, null, 'ü😀', 12.5, []];
    const sealed = await codec.encode(values.map(payload));
    expect(Buffer.concat(sealed.map(({ data }) => Buffer.from(data ?? []))).toString('latin1')).not.toContain(
      'canary',
    );
    expect(sealed.map(({ metadata }) => Buffer.from(metadata!['encoding']!).toString())).toEqual(
      Array(values.length).fill(ENCRYPTED),
    );
    const opened = await codec.decode(sealed);
    expect(opened.map((item) => defaultPayloadConverter.fromPayload(item))).toEqual(values);
  });

  it('never seals the same payload twice alike', async () => {
    const { ring } = await ringOf({ a: key() });
    const codec = createEncryptionCodec(ring);
    const [first, second] = await codec.encode([payload('same'), payload('same')]);
    expect(Buffer.from(first!.data!).equals(Buffer.from(second!.data!))).toBe(false);
  });

  it('lets payloads in the clear pass', async () => {
    const { ring } = await ringOf({ a: key() });
    const clear = [payload('typed by hand')];
    expect(await createEncryptionCodec(ring).decode(clear)).toEqual(clear);
  });

  it('refuses what was changed, shortened, or sealed with a key of another id', async () => {
    const { ring } = await ringOf({ active: 'a', a: key(), b: key() });
    const codec = createEncryptionCodec(ring);
    const [sealed] = await codec.encode([payload('x')]);
    const flipped = Buffer.from(sealed!.data!);
    flipped[20] = flipped[20]! ^ 1;
    const renamed = { ...sealed!.metadata, 'encryption-key-id': Buffer.from('b') };
    for (const bad of [
      { ...sealed!, data: flipped },
      { ...sealed!, data: sealed!.data!.slice(0, 10) },
      { ...sealed!, metadata: renamed },
    ]) {
      await expect(codec.decode([bad])).rejects.toThrow(/does not open with the key/);
    }
  });

  it('opens old payloads after a rotation, and says which key is missing once it is gone', async () => {
    const entries: Record<string, string> = { old: key() };
    let now = 0;
    const { ring } = await ringOf(entries, { now: () => now });
    const { ring: late } = await ringOf(entries, { now: () => 0 });
    const codec = createEncryptionCodec(ring);
    const before = await codec.encode([payload('before')]);
    Object.assign(entries, { active: 'new', new: key() });
    now = 31_000;
    const after = await codec.encode([payload('after')]);
    expect(Buffer.from(after[0]!.metadata!['encryption-key-id']!).toString()).toBe('new');
    // A program that has not read the ring again meets the new key: it looks once more.
    expect(values(await createEncryptionCodec(late).decode(after))).toEqual(['after']);
    expect(values(await codec.decode([...before, ...after]))).toEqual(['before', 'after']);
    delete entries['old'];
    now = 62_000;
    await codec.encode([payload('later')]);
    await expect(codec.decode(before)).rejects.toThrow(/the key "old", which is not in the ring/);
  });

  it('keeps the good keys when the ring becomes unusable', async () => {
    const entries: Record<string, string> = { a: key() };
    let now = 0;
    const { ring, faults } = await ringOf(entries, { now: () => now });
    entries['a'] = 'broken';
    now = 31_000;
    expect((await ring.active()).id).toBe('a');
    expect(String(faults[0])).toMatch(/key "a" is not 32 bytes in base64/);
  });
});

describe('parseKeys', () => {
  it.each([
    [{}, 'there is no key in the ring'],
    [{ a: key(), b: key() }, 'the entry "active" has to name one of a, b'],
    [{ active: 'c', a: key() }, '"active" names the key "c"; there are a'],
    [{ a: 'short' }, 'key "a" is not 32 bytes in base64; make one with: openssl rand -base64 32'],
    [{ '../x': key() }, 'key id "../x"'],
  ])('refuses %o', (entries, message) => {
    expect(() => parseKeys(entries as Record<string, string>)).toThrow(message);
  });
});
