import { expect, it } from 'vitest';
import { ANNOTATIONS, COPY_STAMP, FINALIZERS, LABELS } from '../../../api/core/group.js';
import type { KubeClient } from '../../../kube/client.js';
import type { DRPlanExecution } from '../../../api/plan/types.js';
import { judgeAdmissionStamp } from '../start/admission-stamp.js';
import { checkRestored } from '../start/checks.js';
import { createTestSealer } from '../testing/sealer.js';
import { createAuthority } from './authority.js';
import type { ReviewedObject, ReviewRequest } from '../../core/review.js';
import { stamp } from './stamp.js';
import type { StampDeps } from './stamp.js';

const kube = {} as KubeClient;
const sealer = createTestSealer();
const deps = {
  dr: { kube, sealer } as unknown as StampDeps['dr'],
  authority: createAuthority(kube, 'Off'),
  lookups: { plan: () => Promise.resolve(undefined) },
};
const { authorizedAs, cancel, cancelRequestedBy, requestedBy, nestedIn, key, admission } = ANNOTATIONS;
type Annotations = Record<string, string> | undefined;

type Metadata = ReviewedObject['metadata'];

/** Metadata after the patch, as the API server applies it. */
async function review(
  operation: 'CREATE' | 'UPDATE',
  after: Partial<Metadata>,
  before: Partial<Metadata> = {},
  spec: unknown = { planRef: 'p' },
): Promise<Metadata> {
  const object = (metadata: Partial<Metadata>): ReviewedObject => ({
    metadata: { name: 'e', ...metadata },
    spec,
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
  const response = await stamp(deps, request);
  if (!response.allowed) throw new Error('a stamp refuses nothing');
  const result = structuredClone(object(after)) as unknown as Record<string, unknown>;
  for (const step of response.patch ?? []) {
    const given = step.op === 'remove' ? undefined : step.value;
    const steps = step.path
      .slice(1)
      .split('/')
      .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'));
    const last = steps.pop() ?? '';
    const parent = steps.reduce<unknown>((at, part) => (at as Record<string, unknown>)[part], result);
    if (Array.isArray(parent)) parent.push(given);
    else if (step.op === 'remove') {
      expect(parent).toHaveProperty([last]);
      delete (parent as Record<string, unknown>)[last];
    } else (parent as Record<string, unknown>)[last] = given;
  }
  return (result as unknown as ReviewedObject).metadata;
}

/** Annotations after the patch; of the admission stamp, only whether it is present. */
async function stamped(
  operation: 'CREATE' | 'UPDATE',
  after: Annotations,
  before?: Annotations,
): Promise<Annotations> {
  const withThem = (annotations: Annotations) => (annotations === undefined ? {} : { annotations });
  const { annotations } = await review(operation, withThem(after), withThem(before));
  if (operation === 'UPDATE' || annotations === undefined) return annotations;
  const { [admission]: mark, ...rest } = annotations;
  expect(mark).toMatch(/seal/);
  return rest;
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

it('says the same when a review comes again [SEC12]', async () => {
  const first = await stamped('CREATE', { [cancel]: 'true' });
  expect(await stamped('CREATE', { [cancel]: 'true' })).toEqual(first);
});

it('gives what is new its finalizer, its label and a stamp that its start believes [F11] [F20] [S5.1] [S5.8]', async () => {
  const metadata = await review('CREATE', { labels: { x: 'y' } });
  expect(metadata).toMatchObject({
    labels: { x: 'y', [LABELS.plan]: 'p' },
    finalizers: [FINALIZERS.execution],
  });
  const stored = { ...metadata, namespace: 'ns', creationTimestamp: new Date().toISOString() };
  const judge = (of: object) =>
    judgeAdmissionStamp(sealer, { metadata: stored, spec: { planRef: 'p' }, ...of });
  expect(await judge({})).toEqual({ kind: 'admitted' });
  const refusals = [
    { spec: { planRef: 'q' } },
    { metadata: { ...stored, name: 'other' } },
    { metadata: { ...stored, namespace: 'other' } },
    { metadata: { ...stored, annotations: { ...stored.annotations, [requestedBy]: 'root' } } },
    { metadata: { ...stored, annotations: {} } },
  ];
  for (const of of refusals)
    expect(await judge(of)).toMatchObject({ kind: 'refused', refusal: { reason: 'NotAdmitted' } });
  expect(await judge({ metadata: { ...stored, creationTimestamp: '2020-01-01T00:00:00Z' } })).toMatchObject({
    kind: 'copy',
    refusal: { reason: 'RestoredCopy' },
  });
});

it('believes the stamp of what gets its name later [F20]', async () => {
  const metadata = await review('CREATE', { name: '', generateName: 'run-' });
  const stored = {
    ...metadata,
    name: 'run-x7k2p',
    namespace: 'ns',
    creationTimestamp: new Date().toISOString(),
  };
  expect(await judgeAdmissionStamp(sealer, { metadata: stored, spec: { planRef: 'p' } })).toEqual({
    kind: 'admitted',
  });
});

const UID = '11111111-0000-4000-8000-000000000000';

it('leaves the stamp of a copy as it is, and all its marks where a restore may write status too [S5.60]', async () => {
  const marks = { [ANNOTATIONS.stamp]: UID, [requestedBy]: 'bob', [key]: 'k', [nestedIn]: '{}' };
  expect((await review('CREATE', { annotations: marks })).annotations).toEqual({
    [ANNOTATIONS.stamp]: UID,
    [requestedBy]: 'alice',
  });
  const asked: unknown[] = [];
  const allowing = {
    raw: ({ body }: { body: { spec: { resourceAttributes: unknown } } }) => {
      asked.push(body.spec.resourceAttributes);
      return Promise.resolve({ status: { allowed: true } });
    },
  } as unknown as KubeClient;
  const object = { metadata: { name: 'e', annotations: marks }, spec: { planRef: 'p' } };
  const request: ReviewRequest = {
    uid: 'u',
    kind: 'DRPlanExecution',
    operation: 'CREATE',
    user: 'admin',
    namespace: 'ns',
    object,
  };
  const restoring = { ...deps, authority: createAuthority(allowing, 'Off') };
  expect(await stamp(restoring, request)).toEqual({ allowed: true, warnings: [] });
  expect(asked).toEqual([
    expect.objectContaining({
      resource: 'drplanexecutions',
      subresource: 'status',
      verb: 'patch',
      namespace: 'ns',
    }),
  ]);
});

it.each<[string, Partial<Metadata>]>([
  ['our finalizer', { finalizers: [FINALIZERS.execution] }],
  ['a uid stamp', { annotations: { [ANNOTATIONS.stamp]: 'an earlier uid' } }],
  [
    'an admission stamp of before',
    { annotations: { [admission]: '{"time":"2020-01-01T00:00:00Z","spec":"","seal":""}' } },
  ],
  ['the label of a restore tool', { labels: { 'velero.io/restore-name': 'nightly' } }],
])('marks what arrives with %s as a copy, which never starts [F20] [S5.11]', async (_, metadata) => {
  const { annotations, finalizers } = await review('CREATE', metadata);
  expect(annotations).toMatchObject({ [ANNOTATIONS.stamp]: COPY_STAMP });
  expect(annotations).not.toHaveProperty([admission]);
  expect(finalizers).toEqual(metadata.finalizers);
  // Nobody was asked for the right to run the plan: without its label it is a copy still.
  const now = await review('UPDATE', { annotations: {} }, { annotations: annotations ?? {} });
  expect(checkRestored({ metadata: now } as DRPlanExecution)).toMatchObject({ reason: 'RestoredCopy' });
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
