import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ANNOTATIONS, API_VERSION } from '../../api/core/group.js';
import type { DRPlanExecution } from '../../api/plan/types.js';
import { startRecorder } from '../support/recorder.js';
import type { Recorder } from '../support/recorder.js';
import { servers } from '../support/servers.js';
import { actionAt, condition, http, openStack, poll } from '../support/stack.js';
import type { Stack } from '../support/stack.js';

const exec = promisify(execFile);
let stack: Stack;
let recorder: Recorder;
beforeAll(async () => {
  [stack, recorder] = await Promise.all([openStack('cancel'), startRecorder()]);
});
afterAll(async () => {
  await recorder.close();
  await stack.close();
});

const annotate = (execution: DRPlanExecution): Promise<unknown> =>
  stack.kube.patch(
    {
      apiVersion: API_VERSION,
      kind: 'DRPlanExecution',
      namespace: stack.namespace,
      name: execution.metadata.name,
    },
    { metadata: { annotations: { [ANNOTATIONS.cancel]: 'true' } } },
    { kind: 'merge' },
  );
/** The call may be under way before status names its run. */
const workflowId = async (execution: DRPlanExecution): Promise<string> =>
  (await stack.until(execution, (now) => now.status?.temporal !== undefined)).status?.temporal?.workflowId ??
  '';
const cli = async (...args: string[]): Promise<unknown> =>
  exec(servers.endpoints.temporalCli ?? 'temporal', [
    ...args,
    '--address',
    servers.temporal,
    '--namespace',
    servers.temporalNamespace,
  ]);

/** A run whose first action waits for an answer. */
async function waiting(name: string): Promise<DRPlanExecution> {
  await stack.simplePlan(name, [
    http('slow', `${recorder.url}/${name}?delay=20000`, {
      rollback: { http: { url: `${recorder.url}/${name}-undo`, method: 'POST' } },
    }),
    http('never', `${recorder.url}/${name}-never`),
  ]);
  const execution = await stack.execute(name);
  await poll(
    () => Promise.resolve(recorder.of(`/${name}`).length),
    (count) => count === 1,
  );
  return execution;
}

describe('cancel', () => {
  it.each<[string, string, (execution: DRPlanExecution) => Promise<unknown>]>([
    ['annotation', 'Annotation', annotate],
    [
      'temporal workflow signal',
      'Signal',
      async (execution) =>
        cli('workflow', 'signal', '--name', 'cancel', '--workflow-id', await workflowId(execution)),
    ],
    [
      'temporal workflow signal with a reason',
      'Signal',
      async (execution) =>
        cli(
          'workflow',
          'signal',
          '--name',
          'cancel',
          '--workflow-id',
          await workflowId(execution),
          '--input',
          '{"reason":"wrong site","requestedBy":"ann"}',
        ),
    ],
    [
      'temporal workflow cancel',
      'CancelRequest',
      async (execution) => cli('workflow', 'cancel', '--workflow-id', await workflowId(execution)),
    ],
    [
      'the calls tctl makes',
      'Signal',
      async (execution) => {
        const id = await workflowId(execution);
        await stack.temporal.connection.withMetadata(
          { 'client-name': 'temporal-cli', 'client-version': '1.18.4' },
          () =>
            stack.temporal.workflowService.signalWorkflowExecution({
              namespace: servers.temporalNamespace,
              workflowExecution: { workflowId: id },
              signalName: 'cancel',
              identity: 'tctl@test',
            }),
        );
      },
    ],
  ])('by %s stops the running call and says so in status [S5.30]', async (how, via, cancel) => {
    const name = how.replaceAll(' ', '-');
    const execution = await waiting(name);
    const begun = Date.now();
    await cancel(execution);
    const ended = await stack.ended(execution);
    // Far below the twenty seconds that the call would take; the figure itself is the benchmark's business.
    expect(Date.now() - begun).toBeLessThan(15_000);
    expect(ended.status).toMatchObject({ phase: 'Cancelled', cancelRequest: { via } });
    expect(actionAt(ended, 0, 0, 0)).toMatchObject({ phase: 'Failed', reason: 'Cancelled' });
    expect(actionAt(ended, 0, 0, 1)).toMatchObject({ phase: 'Skipped', reason: 'Cancelled' });
    expect(condition(ended, 'Finished')?.status).toBe('True');
    await poll(
      () => Promise.resolve(recorder.of(`/${name}`)[0]?.aborted),
      (aborted) => aborted === true,
    );
    expect(recorder.of(`/${name}-never`)).toHaveLength(0);
    const plan = await stack.getPlan(name);
    expect(plan.status?.currentExecution).toBeUndefined();
    expect(plan.status?.executionHistory?.[0]).toMatchObject({ phase: 'Cancelled' });
  });

  it('leaves a run that can be reverted [S5.32]', async () => {
    const execution = await waiting('cancel-revert');
    await annotate(execution);
    await stack.ended(execution);
    const revert = await stack.ended(await stack.revert(execution));
    expect(revert.status?.phase).toBe('Succeeded');
    expect(recorder.of('/cancel-revert-undo')).toHaveLength(1);
  });

  it('of an ended run is ignored [S5.30]', async () => {
    await stack.simplePlan('done', [http('a', `${recorder.url}/done`)]);
    const execution = await stack.execute('done');
    const { status } = await stack.ended(execution);
    expect(status?.phase).toBe('Succeeded');
    await annotate(execution);
    // The bridge sees changes in their order: by the end of this run it has long seen the annotation.
    const later = await stack.ended(await stack.execute('done', { rerun: 'Allowed' }));
    expect(later.status?.phase).toBe('Succeeded');
    expect((await stack.get(execution)).status).toEqual(status);
    expect(recorder.of('/done')).toHaveLength(2);
  });

  it('written before the run began cancels it at once [S5.31]', async () => {
    await stack.simplePlan('early', [http('a', `${recorder.url}/early`)]);
    const execution = await stack.create<DRPlanExecution>({
      apiVersion: API_VERSION,
      kind: 'DRPlanExecution',
      metadata: { name: 'early', namespace: stack.namespace, annotations: { [ANNOTATIONS.cancel]: 'true' } },
      spec: { planRef: 'early', operationType: 'Execute' },
    });
    const ended = await stack.ended(execution);
    expect(ended.status).toMatchObject({ phase: 'Cancelled', completionTime: expect.any(String) });
    expect(recorder.of('/early')).toHaveLength(0);
  });
});

describe('delete', () => {
  it('of a running execution cancels it, frees the plan and keeps the history row [S5.23]', async () => {
    const execution = await waiting('delete');
    const key = {
      apiVersion: API_VERSION,
      kind: 'DRPlanExecution',
      namespace: stack.namespace,
      name: execution.metadata.name,
    };
    await stack.kube.delete(key);
    await poll(
      () => stack.kube.get(key),
      (found) => found === undefined,
    );
    const plan = await poll(
      () => stack.getPlan('delete'),
      (now) => now.status?.currentExecution === undefined,
    );
    expect(plan.status?.executionHistory?.[0]).toMatchObject({
      uid: execution.metadata.uid,
      phase: 'Cancelled',
      completionTime: expect.any(String),
    });
    expect(recorder.of('/delete-never')).toHaveLength(0);
  });

  it('of an ended execution lets it go and undoes nothing [S1.12]', async () => {
    await stack.simplePlan('gone', [
      http('a', `${recorder.url}/gone`, { rollback: { http: { url: `${recorder.url}/gone-undo` } } }),
    ]);
    const execution = await stack.execute('gone');
    await stack.ended(execution);
    const key = {
      apiVersion: API_VERSION,
      kind: 'DRPlanExecution',
      namespace: stack.namespace,
      name: execution.metadata.name,
    };
    await stack.kube.delete(key);
    await poll(
      () => stack.kube.get(key),
      (found) => found === undefined,
    );
    expect(recorder.of('/gone-undo')).toHaveLength(0);
    expect((await stack.getPlan('gone')).status?.executionHistory).toHaveLength(1);
  });
});
