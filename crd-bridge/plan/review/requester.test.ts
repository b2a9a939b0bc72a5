import { expect, it } from 'vitest';
import { readRequester, writeRequester } from './requester.js';

it('keeps all that decides', () => {
  const alice = { user: 'alice', uid: 'u', groups: ['ops', 'dr'], extra: { scopes: ['a'] } };
  expect(readRequester(writeRequester(alice))).toEqual(alice);
  expect(readRequester(writeRequester({ user: 'bob' }))).toEqual({ user: 'bob' });
});

it('is never long, and leaves out rather than invents', () => {
  const groups = Array.from({ length: 3000 }, (_, index) => `group-${index}`);
  const text = writeRequester({ user: 'alice', groups, extra: { scopes: ['a'] } });
  expect(text.length).toBeLessThanOrEqual(16 * 1024);
  const read = readRequester(text);
  expect(read?.user).toBe('alice');
  expect(read?.extra).toBeUndefined();
  expect(read?.groups?.length).toBeGreaterThan(500);
  expect(read?.groups).toEqual(groups.slice(0, read?.groups?.length));
});

it.each([undefined, '', '{', '[]', '{"groups":["system:masters"]}', '{"user":1}'])(
  'reads nobody from %j',
  (text) => {
    expect(readRequester(text)).toBeUndefined();
  },
);
