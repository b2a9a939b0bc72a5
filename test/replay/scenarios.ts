/**
 * Runs whose histories are kept: one of each shape that a workflow of ours can take. They are recorded for the version that
 * is to be released; those of a release that has run anywhere are never recorded again.
 */
import { planUndo } from '../../api/plan/undo/undo.js';
import { taskQueues } from '../../workflows/core/contract.js';
import { settlementWorkflowId, WORKFLOW_TYPES } from '../../workflows/plan/contract.js';
import type { SettlementInput } from '../../workflows/plan/contract.js';
import { action, BOUNDS, stages, untilCancelled, workflow, until } from '../support/scripted.js';
import type { ScriptedWorker } from '../support/scripted.js';

const job = (name: string) => action(name, { type: 'Job' });
/** An action between its hooks, written in another order than they run in. */
const hooksAround = (main: ReturnType<typeof action>) => [
  action('after', { type: 'Job', hook: 'post', hookType: 'post-install' }),
  main,
  action('before', {
    type: 'Job',
    hook: 'pre',
    hookType: 'pre-install',
    cleanup: { beforeCreate: true, onSuccess: true },
  }),
];

/** A workflow whose history is kept, with those of its stages. */
interface Recorded {
  handle: { workflowId: string };
  result(): Promise<{ stages: readonly unknown[] }>;
}

const SCENARIOS: Record<string, (scripted: ScriptedWorker) => Promise<Recorded>> = {
  async succeeded(scripted) {
    return scripted.run(
      {
        maxConcurrentStages: 2,
        stages: stages(
          { name: 'one', when: 'true', workflows: [workflow([action('a', { capture: true }), 'b'])] },
          { name: 'two', dependsOn: ['one'], parallel: true, workflows: [workflow(['c']), workflow(['d'])] },
          {
            name: 'three',
            dependsOn: ['one'],
            workflows: [workflow(['e', action('f', { dependsOn: ['e'] })])],
          },
        ),
      },
      { b: () => untilCancelled(400) },
    );
  },
  async failed(scripted) {
    return scripted.run(
      {
        stages: stages(
          {
            name: 'one',
            parallel: true,
            failurePolicy: 'FailFast',
            workflows: [workflow(['bad']), workflow(['slow'])],
          },
          { name: 'two', workflows: [workflow(['c'])] },
        ),
      },
      { bad: { phase: 'Failed' }, slow: () => untilCancelled() },
    );
  },
  async cancelled(scripted) {
    const run = await scripted.run(
      {
        stages: stages(
          { name: 'one', workflows: [workflow(['slow', 'b'])] },
          { name: 'two', workflows: [workflow(['c'])] },
        ),
      },
      { slow: () => untilCancelled() },
    );
    await until(run, 'start slow');
    await run.handle.signal('cancel', 'test');
    return run;
  },
  async paused(scripted) {
    let calls = 0;
    const run = await scripted.run(
      { onFailure: 'Pause', stages: stages({ name: 'one', workflows: [workflow(['flaky', 'b'])] }) },
      { flaky: () => Promise.resolve((calls += 1) === 1 ? { phase: 'Failed' } : {}) },
    );
    while (!run.recording.mirrors.some((update) => update.paused !== undefined))
      await new Promise((resolve) => setTimeout(resolve, 25));
    await run.handle.signal('retry');
    return run;
  },
  async rolledBack(scripted) {
    return scripted.run(
      { onFailure: 'Rollback', stages: stages({ name: 'one', workflows: [workflow([job('a'), 'bad'])] }) },
      { bad: { phase: 'Failed', effect: 'None' } },
    );
  },
  async nested(scripted) {
    const ref = { name: 'child', uid: 'u', plan: 'inner', phase: 'Running' };
    let looks = 0;
    const run = await scripted.run(
      {
        stages: stages({
          name: 'one',
          workflows: [workflow([action('sub', { type: 'Plan', step: { kind: 'plan', timeoutMs: 60_000 } })])],
        }),
      },
      {
        'look sub': () =>
          Promise.resolve(
            ((looks += 1) < 4
              ? { kind: 'waiting', ref, message: `look ${looks}` }
              : {
                  kind: 'ended',
                  outcome: { phase: 'Failed', reason: 'PlanCancelled', message: 'cancelled', effect: 'Done' },
                }) as never,
          ),
      },
    );
    await until(run, 'look sub');
    await scripted.signal(`${run.handle.workflowId}/s0`, 'look', undefined);
    while (looks < 2) await new Promise((resolve) => setTimeout(resolve, 25));
    await run.handle.signal('cancel');
    return run;
  },
  /** Hooks around the actions and around a revert, and what is cleaned up before and after. */
  async hooked(scripted) {
    const list = stages({
      name: 'one',
      workflows: [
        workflow([
          ...hooksAround(job('main')),
          action('undoing', {
            type: 'Job',
            hook: 'pre',
            hookType: 'pre-rollback',
            skip: { reason: 'OtherMode', message: 'a hook of another mode' },
          }),
        ]),
      ],
    });
    const target = await scripted.run({ stages: list });
    const { stages: statuses } = await target.result();
    const undo = planUndo({ stages: list, statuses, undone: [] });
    return scripted.run({
      run: { operation: 'Revert', target: { name: 'target', uid: 'uid' } } as never,
      undo,
      undoStatuses: undo.map((item) => item.status),
    });
  },
  /** The same hooks, going forward. */
  async hooks(scripted) {
    return scripted.run({
      stages: stages({
        name: 'one',
        workflows: [workflow([...hooksAround(job('main'))])],
      }),
    });
  },
  /** A batch of two actions per cluster, in three clusters, two at once. */
  async approved(scripted) {
    const asks = action('ask', { type: 'Approval', step: { kind: 'approval' } });
    const run = await scripted.run(
      { stages: stages({ name: 'one', workflows: [workflow([asks, 'b'])] }) },
      {
        'decide ask': {
          kind: 'approval',
          message: 'go on?',
          approvers: { users: ['ann'] },
          quorum: 1,
          excludeRequester: false,
          defaultOutcome: 'Reject',
        },
      },
    );
    await until(run, 'decide ask');
    await new Promise((resolve) => setTimeout(resolve, 500));
    const answer = {
      id: '1',
      at: '0/0/0',
      decision: 'Approve',
      user: 'ann',
      groups: [],
      time: 't',
      verified: true,
    };
    await scripted.signal(`${run.handle.workflowId}/s0`, 'answer', answer);
    return run;
  },
  async perCluster(scripted) {
    const clusters = ['a', 'b', 'c'].map((name) => ({ cluster: `ns/${name}`, clusterId: `id-${name}` }));
    const targets = { kind: 'clusters', clusters } as const;
    const spread = (name: string) => action(name, { type: 'Subscription', perCluster: { limit: 2 } });
    return scripted.run(
      { stages: stages({ name: 'one', workflows: [workflow([spread('x'), spread('y'), 'last'])] }) },
      {
        'targets x': targets,
        'targets y': targets,
        'x@ns/b': () => untilCancelled(200),
        'y@ns/c': { phase: 'Failed' },
      },
    );
  },
  /** Run and stage are ended from outside; what the stage had begun is settled by a workflow of its own. */
  async settled(scripted) {
    const { client, cluster } = scripted;
    const run = await scripted.run(
      { stages: stages({ name: 'one', workflows: [workflow([job('slow'), 'b'])] }) },
      { slow: () => untilCancelled() },
    );
    await until(run, 'start slow');
    const stage = `${run.handle.workflowId}/s0`;
    await run.handle.terminate('from outside');
    // The run may have taken its stage with it.
    await client.workflow
      .getHandle(stage)
      .terminate('from outside')
      .catch(() => undefined);
    const input: SettlementInput = { cluster, workflowId: stage, bounds: BOUNDS };
    const handle = await client.workflow.start(WORKFLOW_TYPES.stageSettlement, {
      workflowId: settlementWorkflowId(stage),
      taskQueue: taskQueues(cluster).worker,
      args: [input],
    });
    return { handle, result: async () => ({ stages: [], settled: await handle.result() }) };
  },
  async reverted(scripted) {
    const list = stages({ name: 'one', workflows: [workflow([job('a'), job('b')])] });
    const target = await scripted.run({ stages: list });
    const { stages: statuses } = await target.result();
    const undo = planUndo({ stages: list, statuses, undone: [] });
    return scripted.run({
      run: { operation: 'Revert', target: { name: 'target', uid: 'uid' } } as never,
      undo,
      undoStatuses: undo.map((item) => item.status),
    });
  },
};

/**
 * Runs every scenario, or one, and gives the histories of all its workflows, as JSON by file name.
 *
 * @param options.only name of the scenario; absent: all
 * @param options.show prints a history as JSON, as `temporal workflow show` does; undefined when there is no such workflow.
 */
export async function recordHistories(
  scripted: ScriptedWorker,
  { show, only }: { show: (workflowId: string) => Promise<string | undefined>; only?: string },
): Promise<Map<string, string>> {
  const files = new Map<string, string>();
  for (const [name, scenario] of Object.entries(SCENARIOS)) {
    if (only !== undefined && only !== name) continue;
    const run = await scenario(scripted);
    const { stages: ended } = await run.result();
    const id = run.handle.workflowId;
    const parts = ended.flatMap((_, index) => [`s${index}`, `r${index}`]);
    for (const part of ['', ...parts.map((item) => `/${item}`)]) {
      const history = await show(`${id}${part}`);
      if (history !== undefined) files.set(`${name}${part.replace('/', '.')}.json`, history);
    }
  }
  return files;
}
