import { expect, it } from 'vitest';
import { createOutbox } from './outbox.js';

interface Update {
  index: number;
  text: string;
}

it('gives what was never sent, once', () => {
  const outbox = createOutbox<Update>();
  outbox.put({ index: 0, text: 'a' });
  outbox.put({ index: 1, text: 'b' });
  expect(outbox.take().map(({ text }) => text)).toEqual(['a', 'b']);
  expect(outbox.take()).toEqual([]);
  expect(outbox.hasUnsent()).toBe(false);
});

it('keeps what was sent until it is acknowledged', () => {
  const outbox = createOutbox<Update>();
  outbox.put({ index: 0, text: 'a' });
  const batch = outbox.take();
  expect(outbox.rest()).toEqual(batch);
  outbox.acknowledge(batch);
  expect(outbox.rest()).toEqual([]);
});

it('keeps a word that came after the one that is acknowledged', () => {
  const outbox = createOutbox<Update>();
  outbox.put({ index: 0, text: 'a' });
  const batch = outbox.take();
  outbox.put({ index: 0, text: 'b' });
  outbox.acknowledge(batch);
  expect(outbox.hasUnsent()).toBe(true);
  expect(outbox.take()).toEqual([{ index: 0, text: 'b' }]);
});

it('fills a payload as far as fits, and sends what is too large for any by itself', () => {
  const outbox = createOutbox<Update>();
  const large = 'x'.repeat(400_000);
  outbox.put({ index: 0, text: large });
  outbox.put({ index: 1, text: large });
  outbox.put({ index: 2, text: large.repeat(3) });
  expect(outbox.isTooLarge()).toBe(true);
  expect([0, 1, 2].map(() => outbox.take().map(({ index }) => index))).toEqual([[0], [1], [2]]);
  expect(outbox.hasUnsent()).toBe(false);
});

it('is not too large with a single word, which cannot be split', () => {
  const outbox = createOutbox<Update>();
  outbox.put({ index: 0, text: 'x'.repeat(2_000_000) });
  expect(outbox.isTooLarge()).toBe(false);
});
