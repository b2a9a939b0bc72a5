/** The keys of seals are changed under live runs [F17]: with the stack's own programs and their file. */
import { randomUUID } from 'node:crypto';
import { readFile, rename, writeFile } from 'node:fs/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { clusterId } from '../../api/plan/naming.js';
import { createSealer, newSealKey, parseSealKeys } from '../../api/core/seal.js';
import type { Action, DRPlanExecution } from '../../api/plan/types.js';
import { readClusterUid } from '../../kube/cluster-id.js';
import { taskQueues } from '../../workflows/core/contract.js';
import type { RunIdentity } from '../../workflows/plan/contract.js';
import { openAttacker } from '../support/attacker.js';
import type { Attacker } from '../support/attacker.js';
import { sealRun, stackRingFile } from '../support/seals.js';
import { actionAt, condition, http, openStack } from '../support/stack.js';
import type { Stack } from '../support/stack.js';
import { startRecorder } from '../support/recorder.js';
import type { Recorder } from '../support/recorder.js';

let stack: Stack;
let recorder: Recorder;
let outside: Attacker;
let queues: ReturnType<typeof taskQueues>;
/** As the stack has begun with it. */
let first: Record<string, string>;
let made = 0;

beforeAll(async () => {
  [stack, recorder] = await Promise.all([openStack('rotation'), startRecorder()]);
  queues = taskQueues(clusterId(await readClusterUid(stack.kube)));
  outside = await openAttacker(stack.temporal);
  first = JSON.parse(await readFile(stackRingFile(), 'utf8')) as Record<string, string>;
  // The middle one waits until it is let go on.
  const wait: Action = {
    name: 'wait',
    type: 'Approval',
    approval: { message: 'go on?', approvers: { users: ['x'] } },
  };
  await stack.simplePlan('long', [
    http('before', `${recorder.url}/before`),
    wait,
    http('after', `${recorder.url}/after`),
  ]);
  await stack.simplePlan('timed', [
    http('before', `${recorder.url}/before`),
    { name: 'wait', type: 'Wait', wait: { duration: '4s' } },
    http('after', `${recorder.url}/after`),
  ]);
});
afterAll(async () => {
  // Runs of other tests are sealed by what is there now.
  if (first !== undefined) await addKeys(first);
  await outside?.close();
  await recorder.close();
  await stack.close();
});

const keyIdOf = ({ status }: DRPlanExecution): string => status?.temporal?.sealKey ?? '';
const read = async (): Promise<Record<string, string>> =>
  JSON.parse(await readFile(stackRingFile(), 'utf8')) as Record<string, string>;

async function write(keys: Record<string, string>): Promise<void> {
  await writeFile(`${stackRingFile()}.new`, JSON.stringify(keys), { mode: 0o600 });
  await rename(`${stackRingFile()}.new`, stackRingFile());
}
const addKeys = async (keys: Record<string, string>): Promise<void> => write({ ...(await read()), ...keys });

/** A key that is newer than all before it. */
function nextKey(): Record<string, string> {
  const { id, value } = newSealKey(new Date(Date.now() + (made += 1) * 1000));
  return { [id]: value };
}

/** Lets both programs meet a key: then they read the ring, as every 30 s. */
async function meet(key: Record<string, string>): Promise<void> {
  const keys = parseSealKeys(key);
  const sealer = createSealer({ current: () => keys, again: () => Promise.resolve(keys) });
  const workflowId = `met-${randomUUID()}`;
  const identity: RunIdentity = {
    cluster: 'c',
    namespace: stack.namespace,
    name: 'nobody',
    uid: randomUUID(),
    plan: { name: 'nobody', namespace: stack.namespace, uid: 'u' },
    operation: 'Execute',
    runMode: 'Planned',
    snapshot: { name: 's', namespace: stack.namespace, digest: 'd', parts: 1 },
  };
  const run = sealRun(sealer, identity, workflowId);
  const evaluate = { run, stage: 0, expression: 'true', params: {}, phases: {} };
  const [answered, evaluated] = await outside.forgeFrom(
    workflowId,
    {
      kind: 'activity',
      queue: queues.bridge,
      name: 'mirror',
      input: { run, from: 'run', sequence: 1, stages: [] },
    },
    { kind: 'activity', queue: queues.worker, name: 'evaluate', input: evaluate },
  );
  expect(answered).toHaveProperty('result');
  expect(evaluated).toMatchObject({ result: { value: true } });
}

it('[F17] a new key signs what begins, and runs under the old one go on and are undone', async () => {
  const old = await stack.execute('timed');
  const begun = await stack.until(old, (now) => actionAt(now, 0, 0, 1)?.phase === 'Running');
  const next = nextKey();
  await addKeys(next);
  await meet(next);
  const fresh = await stack.ended(await stack.execute('long').then(stopAtApproval));
  expect(keyIdOf(fresh)).toBe(Object.keys(next)[0]);
  expect(keyIdOf(begun)).not.toBe(keyIdOf(fresh));
  const ended = await stack.ended(old);
  expect(ended.status).toMatchObject({ phase: 'Succeeded', temporal: { sealKey: keyIdOf(begun) } });
  expect((await stack.ended(await stack.revert(ended))).status?.phase).toBe('Succeeded');
});

it('[F17] a run whose key was taken out waits and says so; with the key it goes on', async () => {
  const execution = await stack.execute('timed');
  const begun = await stack.until(execution, (now) => actionAt(now, 0, 0, 1)?.phase === 'Running');
  const all = await read();
  const id = keyIdOf(begun);
  const next = nextKey();
  const { [id]: taken = '', ...rest } = { ...all, ...next };
  await write(rest);
  await meet(next);
  const calls = recorder.requests.length;
  const shown = await stack.until(
    execution,
    (now) => condition(now, 'Progressing')?.reason === 'SealKeyUnknown',
  );
  expect(condition(shown, 'Progressing')).toMatchObject({
    status: 'False',
    message: expect.stringContaining(`key "${id}", which is not in the ring`),
  });
  expect(recorder.requests).toHaveLength(calls);
  await addKeys({ [id]: taken });
  const ended = await stack.ended(execution);
  expect(ended.status).toMatchObject({ phase: 'Succeeded' });
  expect(condition(ended, 'Progressing')?.reason).not.toBe('SealKeyUnknown');
});

async function stopAtApproval(execution: DRPlanExecution): Promise<DRPlanExecution> {
  await stack.until(execution, (now) => actionAt(now, 0, 0, 1)?.phase === 'Running');
  await stack.temporal.workflow
    .getHandle((await stack.get(execution)).status?.temporal?.workflowId ?? '')
    .signal('cancel');
  return execution;
}
