import { expect, it } from 'vitest';
import { planDigest, type PlanDigestParts } from './plan-digest.js';

const parts: PlanDigestParts = {
  run: 'r',
  planFile: 'p',
  archive: 'a',
  variables: 'v',
  lockFile: 'f',
  engine: { name: 'terraform', version: '1.11.4', digest: 'e' },
  lineage: 'l',
  serial: 3,
  targets: ['t.a'],
  replace: [],
  isDestroy: false,
};

it('the digest of a plan is that of the canonical JSON of its parts [T6.3]', () => {
  expect(planDigest(parts)).toBe('3337409e2d5da9ac10c5861d2921f2e431371562ba06e1dd84fe0bec2181be40');
});

it.each([
  { run: 'x' },
  { planFile: 'x' },
  { archive: 'x' },
  { variables: 'x' },
  { lockFile: 'x' },
  { lockFile: undefined },
  { engine: { ...parts.engine, digest: 'x' } },
  { engine: { ...parts.engine, version: 'x' } },
  { lineage: 'x' },
  { serial: 4 },
  { targets: [] },
  { replace: ['t.a'] },
  { isDestroy: true },
] satisfies Partial<PlanDigestParts>[])('another %o is another plan [T6.3]', (change) => {
  expect(planDigest({ ...parts, ...change })).not.toBe(planDigest(parts));
});

it('what is not one of the parts does not change it', () => {
  expect(planDigest({ ...parts, comment: 'x' } as PlanDigestParts)).toBe(planDigest(parts));
});
