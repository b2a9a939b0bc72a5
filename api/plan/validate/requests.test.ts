import { describe, expect, it } from 'vitest';
import { errorsOf } from '../../core/problem.js';
import type { Problem } from '../../core/problem.js';
import { http } from '../actions/http.js';
import { notify } from '../actions/notify.js';
import type { HTTPAction } from '../types.js';

const errors = (block: HTTPAction): Problem[] => errorsOf(http.check(block, {}, 'http'));

describe('user information in a URL', () => {
  it.each([
    'http://admin:canary@host.example/',
    'https://canary@host.example/',
    'https://:canary@host.example/',
    'https://admin:canary@{{ .params.host }}/',
    'https://{{ .params.user }}:canary@host.example/',
    'https://{{ .params.canary }}@host.example/',
    'https:/\\admin:canary@host.example/',
  ])('is refused and not shown: %s [F15] [S3.22]', (url) => {
    for (const found of [
      errors({ url }),
      errorsOf(notify.check({ type: 'Webhook', template: 'x', url }, {}, 'notify')),
    ]) {
      expect(found).toMatchObject([{ reason: 'InvalidURL' }]);
      expect(found[0]?.message).not.toContain('canary');
    }
  });

  it.each([
    'https://host.example/a@b',
    'https://host.example/?to=ops@example.org',
    'https://{{ .params.h }}/@x',
  ])('is not seen in %s [F15]', (url) => expect(errors({ url })).toEqual([]));
});

describe('header Host [S3.23]', () => {
  const url = 'https://host.example:8443/';
  it.each([
    ['host.example:8443', true],
    ['HOST.example:8443', true],
    ['{{ .params.host }}', true],
    ['host.example', false],
    ['other.example', false],
    ['host.example:8443@other.example', false],
  ])('%s is taken: %s [F15]', (host, isTaken) => {
    const found = errors({ url, headers: { host } });
    if (isTaken) expect(found).toEqual([]);
    else {
      expect(found).toMatchObject([
        {
          path: 'http.headers.host',
          reason: 'InvalidHeader',
          message: expect.stringContaining('host.example:8443'),
        },
      ]);
    }
  });
});
