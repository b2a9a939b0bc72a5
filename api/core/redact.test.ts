import { expect, it } from 'vitest';
import { secretsOf } from './redact.js';

const redactor = (value: string) => {
  const secrets = secretsOf();
  secrets.add(value);
  return secrets.redact;
};
const base64 = (text: string): string => Buffer.from(text).toString('base64');

it.each([
  ['as it is', 'a/b+c&d"é-secret'],
  ['in JSON', 'a/b+c&d\\"é-secret'],
  ['in JSON of ASCII only', 'a/b+c&d\\"\\u00e9-secret'],
  ['in JSON as Go writes it', 'a/b+c\\u0026d\\"é-secret'],
  ['in JSON with slashes escaped', 'a\\/b+c&d\\"é-secret'],
  ['in HTML', 'a/b+c&amp;d&quot;é-secret'],
  ['in a URL', encodeURIComponent('a/b+c&d"é-secret')],
  ['in a URL in lower case', 'a%2fb%2bc%26d%22%c3%a9-secret'],
  ['in base64', base64('a/b+c&d"é-secret')],
  ['in base64 for URLs', Buffer.from('a/b+c&d"é-secret').toString('base64url')],
])('a secret is not shown %s [SEC9]', (_, form) => {
  expect(redactor('a/b+c&d"é-secret')(`before ${form} after`)).toBe('before [redacted] after');
});

it.each(['u:', 'us:', 'use:', 'user:'])('a secret is not shown in base64 after %j [SEC9]', (user) => {
  const secret = 'correct-horse-battery';
  const shown = redactor(secret)(base64(`${user}${secret}@host`));
  expect(shown).toContain('[redacted]');
  expect(Buffer.from(shown.replace('[redacted]', '|'), 'base64').toString()).not.toContain('horse');
});

it('what is too short to be told from ordinary text stays', () => {
  expect(redactor('abc')('abc YWJj')).toBe('abc YWJj');
  // Four bytes are one whole group of base64, and that may stand anywhere.
  expect(redactor('abcd')('abcd YWJj')).toBe('[redacted] YWJj');
});
