import { expect, it } from 'vitest';
import { ANNOTATIONS } from '../../api/core/group.js';
import { allowed } from '../core/review.js';
import type { ReviewRequest, ReviewResponse } from '../core/review.js';
import { reviewsOf } from './reviews.js';

const TRACEPARENT = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
const PATH = `/metadata/annotations/${ANNOTATIONS.traceparent.replace('/', '~1')}`;

/** The patch of a stamp, given what the row answers. */
async function patchOf(
  response: ReviewResponse,
  request: Partial<ReviewRequest> = {},
  traceparent: string | undefined = TRACEPARENT,
): Promise<unknown> {
  const rows = [{ cache: { kind: 'Kind' }, review: () => ({ validate: allowed, stamp: () => response }) }];
  const tracing = { current: () => (traceparent === undefined ? undefined : { traceparent }) };
  const given = await reviewsOf(rows as never, tracing)('/stamp', {
    uid: 'u',
    kind: 'Kind',
    operation: 'CREATE',
    user: 'ann',
    namespace: 'ns',
    object: { metadata: { name: 'e' } },
    ...request,
  });
  return given?.allowed === true ? given.patch : 'refused';
}

it('what is created in a trace carries its place there', async () => {
  const own = { op: 'add', path: PATH, value: TRACEPARENT };
  const first = { op: 'add' as const, path: '/metadata/annotations', value: {} };
  expect(await patchOf(allowed())).toEqual([first, own]);
  expect(await patchOf({ ...allowed(), patch: [first] } as ReviewResponse)).toEqual([first, own]);
  const object = { metadata: { name: 'e', annotations: { a: 'b' } } };
  expect(await patchOf(allowed(), { object })).toEqual([own]);
});

it('what is changed, refused, or in no trace, does not', async () => {
  expect(await patchOf(allowed(), { operation: 'UPDATE' })).toBeUndefined();
  const refusal = { allowed: false, code: 403, reason: 'R', message: 'm', causes: [], warnings: [] } as const;
  expect(await patchOf({ ...refusal, causes: [], warnings: [] })).toBe('refused');
  const rows = [{ cache: { kind: 'Kind' }, review: () => ({ validate: allowed, stamp: () => allowed() }) }];
  const request = {
    uid: 'u',
    kind: 'Kind',
    operation: 'CREATE',
    user: 'a',
    namespace: 'n',
    object: { metadata: { name: 'e' } },
  };
  expect(await reviewsOf(rows as never)('/stamp', request)).toEqual(allowed());
});
