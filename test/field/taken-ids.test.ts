/**
 * Whoever reaches only Temporal may start workflows under ids that are free, also under those of stages that have not begun,
 * of settlements, and of a run that he has ended. Nobody takes them for parts of the run [F17].
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { clusterId } from '../../api/plan/naming.js';
import type { Action, DRPlanExecution } from '../../api/plan/types.js';
import { readClusterUid } from '../../kube/cluster-id.js';
import { taskQueues } from '../../workflows/core/contract.js';
import type { RunInput } from '../../workflows/plan/contract.js';
import { startReplica } from '../bridge/replica.js';
import type { Replica } from '../bridge/replica.js';
import { openAttacker } from '../support/attacker.js';
import type { Attacker } from '../support/attacker.js';
import type { Forgery } from '../support/forger.js';
import { actionAt, openStack, poll, unique } from '../support/stack.js';
import type { Stack } from '../support/stack.js';

let stack: Stack;
let attacker: Attacker;
let bridge: string;
let replica: Replica;

beforeAll(async () => {
  stack = await openStack('taken');
  bridge = taskQueues(clusterId(await readClusterUid(stack.kube))).bridge;
  // It notices soon that a run has ended.
  replica = await startReplica();
  attacker = await openAttacker(stack.temporal, { installs: false });
  const ask = {
    name: 'ask',
    type: 'Approval',
    approval: { message: 'go?', approvers: { users: ['boss'] } },
  } satisfies Action;
  await stack.workflow('asks', { actions: [ask] });
  const stages = ['one', 'two'].map((name, index) => ({
    name,
    workflows: [{ workflowRef: { name: 'asks' } }],
    ...(index > 0 && { dependsOn: ['one'] }),
  }));
  for (const name of ['spoken', 'ended', 'replaced']) await stack.plan(name, { stages });
});
afterAll(async () => {
  await replica?.stop();
  await attacker?.close();
  await stack.close();
});

async function running(
  plan: string,
): Promise<{ execution: DRPlanExecution; runId: string; input: RunInput }> {
  const execution = await stack.until(
    await stack.execute(plan),
    (now) => actionAt(now, 0, 0, 0)?.message?.includes('(0/1)') === true,
  );
  const runId = execution.status?.temporal?.workflowId ?? '';
  return { execution, runId, input: await attacker.inputOf<RunInput>(runId) };
}
const asked = (name: string, input: unknown): Forgery => ({ kind: 'activity', queue: bridge, name, input });
const forgedStage = {
  name: 'two',
  phase: 'Succeeded',
  workflowExecutions: [
    {
      workflowRef: { name: 'asks' },
      phase: 'Succeeded',
      actionStatuses: [{ name: 'ask', phase: 'Succeeded', message: 'forged' }],
    },
  ],
} as const;
const isForged = (execution: DRPlanExecution): boolean => JSON.stringify(execution.status).includes('orged');

describe('[F17] [SEC15] a workflow under a free id of a run', () => {
  it('moves no status, ends no run and frees no plan', async () => {
    const { execution, runId, input } = await running('spoken');
    const { run } = input;
    const object = { namespace: run.namespace, name: run.name, uid: run.uid };
    const envelope = (speaker: string, update: object) => ({
      kind: 'DRPlanExecution',
      object,
      epoch: 1,
      speaker,
      sequence: 1e9,
      update: { run, ...update },
    });
    const end = {
      phase: 'Failed',
      reason: 'Forged',
      message: 'forged',
      startTime: '2026-01-01T00:00:00Z',
      completionTime: '2026-01-01T00:00:00Z',
      stages: [],
    };
    const moved = { stages: [{ index: 1, status: forgedStage }], message: 'forged' };
    for (const id of ['s1', 'r1', 's0/settle', 'r0/settle']) {
      const stage = id.slice(1, 2);
      const told = await attacker.forgeFrom(
        `${runId}/${id}`,
        asked('mirror', envelope(`s${stage}`, moved)),
        asked('mirror', { run, from: Number(stage), sequence: 1e9, ...moved }),
        asked('finish', envelope(`s${stage}`, end)),
        asked('finish', { run, from: Number(stage), sequence: 1e9, ...end }),
      );
      for (const [index, forged] of told.entries())
        expect.soft(forged, `${id} ${index}`).toMatchObject({ failure: 'NotSealed' });
    }
    const now = await stack.get(execution);
    expect(isForged(now)).toBe(false);
    expect(now.status?.phase).toBe('Running');
    expect((await stack.getPlan('spoken')).status?.currentExecution?.uid).toBe(run.uid);
    await stack.temporal.workflow.getHandle(runId).signal('cancel');
    expect((await stack.ended(execution)).status?.phase).toBe('Cancelled');
  });

  it('is not taken for a stage of a run that was ended', async () => {
    const { execution, runId } = await running('ended');
    await stack.temporal.workflow.getHandle(runId).terminate('an attacker');
    await attacker.sayFrom(`${runId}/s1`, { status: forgedStage });
    const ended = await stack.ended(execution);
    expect(ended.status).toMatchObject({
      phase: 'Failed',
      conditions: expect.arrayContaining([expect.objectContaining({ reason: 'RunTerminated' })]),
    });
    expect(isForged(ended)).toBe(false);
  });

  it('is not followed in place of a run that was ended', async () => {
    const { execution, runId, input } = await running('replaced');
    await stack.temporal.workflow.getHandle(runId).terminate('an attacker');
    const end = {
      run: input.run,
      sequence: 1e9,
      phase: 'Succeeded',
      reason: 'Forged',
      message: 'forged',
      startTime: '2026-01-01T00:00:00Z',
      completionTime: '2026-01-01T00:00:00Z',
      stages: [],
    };
    const told = await attacker.forgeFrom(
      runId,
      asked('finish', end),
      asked('mirror', { run: input.run, from: 'run', sequence: 1e9, stages: [], message: 'forged' }),
    );
    for (const forged of told) expect.soft(forged).toMatchObject({ failure: 'NotSealed' });
    await attacker.sayFrom(runId, { phase: 'Succeeded', reason: 'Forged', message: 'forged' });
    const ended = await stack.ended(execution);
    expect(ended.status?.phase).toBe('Failed');
    expect(isForged(ended)).toBe(false);
    await poll(
      () => stack.getPlan('replaced'),
      (plan) => plan.status?.currentExecution === undefined,
    );
  });

  it('with a memo that does not open hides no other from the search for orphans', async () => {
    const workflowId = `dr/${replica.cluster}/${stack.namespace}/stranger/00000000`;
    await stack.temporal.workflowService.startWorkflowExecution({
      namespace: stack.temporal.options.namespace,
      requestId: unique('start'),
      workflowId,
      workflowType: { name: 'drPlanExecution' },
      taskQueue: { name: unique('nobody') },
      memo: {
        fields: { uid: { metadata: { encoding: Buffer.from('json/plain') }, data: Buffer.from('{') } },
      },
    });
    const ids = async (): Promise<string[]> => {
      const found: string[] = [];
      for await (const open of replica.runs.listOpen({
        workflowType: 'drPlanExecution',
        idPrefix: `dr/${replica.cluster}/`,
      }))
        found.push(open.workflowId);
      return found;
    };
    expect(await poll(ids, (found) => found.includes(workflowId))).toContain(workflowId);
    await stack.temporal.workflow.getHandle(workflowId).terminate();
  });
});
