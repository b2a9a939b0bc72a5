/** Who asked for an execution and for its cancel is what the API server says, not what the object claims. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { ANNOTATIONS, API_VERSION } from '../../api/core/group.js';
import type { DRPlanExecution } from '../../api/plan/types.js';
import { startRecorder } from '../support/recorder.js';
import type { Recorder } from '../support/recorder.js';
import { http, openStack, unique } from '../support/stack.js';
import type { Stack } from '../support/stack.js';

const { authorizedAs, cancel, cancelRequestedBy, requestedBy, requester } = ANNOTATIONS;
let stack: Stack;
let recorder: Recorder;
beforeAll(async () => {
  [stack, recorder] = await Promise.all([openStack('stamp'), startRecorder()]);
});
afterAll(async () => {
  await recorder.close();
  await stack.close();
});

const as = (user: string) => stack.kube.as({ user, groups: ['system:masters'] });
const keyOf = ({ metadata }: DRPlanExecution) => ({
  apiVersion: API_VERSION,
  kind: 'DRPlanExecution',
  namespace: stack.namespace,
  name: metadata.name,
});

async function execute(user: string, annotations: Record<string, string>): Promise<DRPlanExecution> {
  const name = unique('stamp');
  await stack.simplePlan(name, [http('a', `${recorder.url}/${name}?delay=20000`)]);
  return as(user).create<DRPlanExecution>({
    apiVersion: API_VERSION,
    kind: 'DRPlanExecution',
    metadata: { name, namespace: stack.namespace, annotations },
    spec: { planRef: name, operationType: 'Execute' },
  });
}

it('are stamped, whatever is claimed at create, in a patch or in a replace [SEC13]', async () => {
  const execution = await execute('alice', {
    [requestedBy]: 'root',
    [cancelRequestedBy]: 'root',
    note: 'kept',
  });
  expect(execution.metadata.annotations).toEqual({
    [requestedBy]: 'alice',
    [requester]: expect.stringContaining('"groups":["system:masters","system:authenticated"]'),
    [authorizedAs]: 'controller',
    [ANNOTATIONS.admission]: expect.stringContaining('seal'),
    note: 'kept',
  });

  const forged = await as('bob').patch<DRPlanExecution>(
    keyOf(execution),
    {
      metadata: {
        annotations: { [requestedBy]: 'bob', [requester]: '{"user":"bob"}', [cancelRequestedBy]: 'carol' },
      },
    },
    { kind: 'merge' },
  );
  expect(forged.metadata.annotations).toMatchObject({
    [requestedBy]: 'alice',
    [requester]: execution.metadata.annotations?.[requester],
    note: 'kept',
  });
  expect(forged.metadata.annotations).not.toHaveProperty([cancelRequestedBy]);
  const removed = await as('bob').patch<DRPlanExecution>(
    keyOf(execution),
    { metadata: { annotations: { [requestedBy]: null } } },
    { kind: 'merge' },
  );
  expect(removed.metadata.annotations).toMatchObject({ [requestedBy]: 'alice' });

  const cancelled = await as('bob').patch<DRPlanExecution>(
    keyOf(execution),
    { metadata: { annotations: { [cancel]: 'true', [cancelRequestedBy]: 'carol' } } },
    { kind: 'merge' },
  );
  expect(cancelled.metadata.annotations).toMatchObject({
    [requestedBy]: 'alice',
    [cancelRequestedBy]: 'bob',
  });
  const ended = await stack.ended(execution);
  expect(ended.status?.phase).toBe('Cancelled');
  // The bridge's own writes leave the stamps as they are.
  expect(ended.metadata.annotations).toMatchObject({ [requestedBy]: 'alice', [cancelRequestedBy]: 'bob' });
});

it('name the canceller of an execution without a claim of its own, and go with the cancel', async () => {
  const execution = await execute('alice', {});
  await stack.until(execution, (now) => now.status?.stageStatuses?.[0]?.phase === 'Running');
  await as('dave').patch(
    keyOf(execution),
    { metadata: { annotations: { [cancel]: 'true' } } },
    { kind: 'merge' },
  );
  const ended = await stack.ended(execution);
  expect(ended.metadata.annotations).toMatchObject({ [cancelRequestedBy]: 'dave' });
  expect(ended.status?.cancelRequest).toMatchObject({ via: 'Annotation', requestedBy: 'dave' });
  const taken = await as('erin').patch<DRPlanExecution>(
    keyOf(execution),
    { metadata: { annotations: { [cancel]: null } } },
    { kind: 'merge' },
  );
  expect(taken.metadata.annotations).not.toHaveProperty([cancelRequestedBy]);
});
