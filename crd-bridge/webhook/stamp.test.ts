import { expect, it } from 'vitest';
import { ANNOTATIONS } from '../../api/group.js';
import type { KubeClient } from '../../kube/client.js';
import { createAuthority } from './authority.js';
import type { ReviewRequest } from './review.js';
import { stamp } from './stamp.js';
import type { StampDeps } from './stamp.js';

const kube = {} as KubeClient;
const deps = {
  dr: { kube } as StampDeps['dr'],
  authority: createAuthority(kube, 'Off'),
  lookups: { plan: () => Promise.resolve(undefined) },
};
const { authorizedAs, cancel, cancelRequestedBy, requestedBy, nestedIn, key } = ANNOTATIONS;
type Annotations = Record<string, string> | undefined;

/** Annotations after the patch, as the API server applies it. */
async function stamped(
  operation: 'CREATE' | 'UPDATE',
  after: Annotations,
  before?: Annotations,
): Promise<Annotations> {
  const object = (annotations: Annotations) => ({
    metadata: { name: 'e', ...(annotations !== undefined && { annotations }) },
  });
  const request: ReviewRequest = {
    uid: 'u',
    kind: 'DRPlanExecution',
    operation,
    user: 'alice',
    namespace: 'ns',
    object: object(after),
    ...(operation === 'UPDATE' && { oldObject: object(before) }),
  };
  const verdict = await stamp(deps, request);
  if (!verdict.allowed) throw new Error('a stamp refuses nothing');
  let result = after && { ...after };
  for (const step of verdict.patch ?? []) {
    const key = step.path.slice('/metadata/annotations'.length + 1).replaceAll('~1', '/');
    if (key === '' && step.op !== 'remove') result = step.value as Annotations;
    else if (result === undefined) throw new Error(`${step.path} is in nothing`);
    else if (step.op === 'remove') {
      expect(result).toHaveProperty([key]);
      delete result[key];
    } else result[key] = step.value as string;
  }
  return result;
}

it('says who created an execution, whatever the object claims', async () => {
  expect(await stamped('CREATE', undefined)).toEqual({ [requestedBy]: 'alice' });
  expect(await stamped('CREATE', { x: 'y', [requestedBy]: 'root', [cancelRequestedBy]: 'root' })).toEqual({
    x: 'y',
    [requestedBy]: 'alice',
  });
  expect(await stamped('CREATE', { [authorizedAs]: 'controller' })).toEqual({ [requestedBy]: 'alice' });
  expect(await stamped('CREATE', { [cancel]: 'true' })).toEqual({
    [cancel]: 'true',
    [requestedBy]: 'alice',
    [cancelRequestedBy]: 'alice',
  });
});

it('says the same when a review comes again, also for what it has said itself [SEC12]', async () => {
  const first = await stamped('CREATE', { [cancel]: 'true' });
  expect(await stamped('CREATE', { [cancel]: 'true' })).toEqual(first);
  expect(await stamped('CREATE', first)).toEqual(first);
});

it('says who cancelled, and keeps what was said before', async () => {
  const before = { [requestedBy]: 'bob' };
  expect(await stamped('UPDATE', { ...before, [cancel]: 'true' }, before)).toEqual({
    [requestedBy]: 'bob',
    [cancel]: 'true',
    [cancelRequestedBy]: 'alice',
  });
  const cancelled = { ...before, [cancel]: 'true', [cancelRequestedBy]: 'carol' };
  expect(await stamped('UPDATE', { ...cancelled, x: 'y' }, cancelled)).toEqual({ ...cancelled, x: 'y' });
  expect(await stamped('UPDATE', { ...before, [cancelRequestedBy]: 'carol' }, cancelled)).toEqual(before);
});

it('lets nobody change or remove a stamp', async () => {
  const before = { [requestedBy]: 'bob', [cancel]: 'true', [cancelRequestedBy]: 'bob' };
  expect(await stamped('UPDATE', undefined, { [requestedBy]: 'bob' })).toEqual({ [requestedBy]: 'bob' });
  expect(
    await stamped('UPDATE', { ...before, [requestedBy]: 'root', [cancelRequestedBy]: 'root' }, before),
  ).toEqual(before);
  expect(await stamped('UPDATE', { [requestedBy]: 'root' }, {})).toEqual({});
});

it('keeps what the bridge says about nested executions, and lets nobody else say it', async () => {
  expect(await stamped('CREATE', { [nestedIn]: '{}', [key]: 'k' })).toEqual({ [requestedBy]: 'alice' });
  const before = { [requestedBy]: 'bob', [nestedIn]: '{}', [key]: 'k' };
  expect(await stamped('UPDATE', { [requestedBy]: 'bob', [nestedIn]: 'x' }, before)).toEqual(before);
});
