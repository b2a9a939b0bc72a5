import { expect, it } from 'vitest';
import type { DRWorkflow } from '../../api/types.js';
import { describeWorkflow } from './describe-plan.js';
import { createStyle } from './style.js';

it('no password of a URL that is stored already is shown [F15]', () => {
  const of = (url: string): DRWorkflow => ({
    metadata: { name: 'w', namespace: 'n' },
    spec: { actions: [{ name: 'a', type: 'HTTP', http: { url } }] },
  });
  const shown = (url: string): string =>
    describeWorkflow(of(url), {
      style: createStyle({ color: false, unicode: true }),
      now: 0,
      width: undefined,
    }).join('\n');
  expect(shown('http://admin:canary@host.example/x')).toContain('GET http://[hidden]@host.example/x');
  expect(shown('http://host.example/a@b')).toContain('GET http://host.example/a@b');
});
