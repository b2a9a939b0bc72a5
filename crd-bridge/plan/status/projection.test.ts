import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isTerminalExecution, isTerminalItem } from '../../../api/core/phase.js';
import type { ActionStatus, DRPlanExecutionStatus, StageStatus } from '../../../api/plan/types.js';
import type { RunIdentity } from '../../../workflows/plan/contract.js';
import type { FinishUpdate, MirrorUpdate } from '../../../workflows/plan/contract-updates.js';
import { findCondition } from '../../core/conditions.js';
import {
  applyFinish,
  applyMirror,
  newFailures,
  refusedStatus,
  startedStatus,
  waitingStatus,
} from './projection.js';
import { applyRevertToTarget } from './revert-end.js';

const run: RunIdentity = {
  cluster: 'c',
  namespace: 'ns',
  name: 'e',
  uid: 'u',
  plan: { name: 'p', namespace: 'ns', uid: 'pu' },
  operation: 'Execute',
  runMode: 'Planned',
  snapshot: { name: 'p-1', namespace: 'ns', digest: 'd', parts: 1 },
};
const t = (seconds: number): string => new Date(Date.UTC(2026, 0, 1) + seconds * 1000).toISOString();

function stage(name: string, phase: string, actions: Partial<ActionStatus>[] = [{}]): StageStatus {
  return {
    name,
    phase,
    workflowExecutions: [
      {
        workflowRef: { name: 'w' },
        phase,
        actionStatuses: actions.map((action, index) => ({ name: `a${index}`, phase, ...action })),
      },
    ],
  };
}

const started = (...stages: StageStatus[]): DRPlanExecutionStatus =>
  startedStatus(undefined, {
    startTime: t(0),
    generation: 1,
    stages,
    run,
    temporal: { workflowId: 'id', runId: 'r', namespaceId: 'n' },
    message: 'started',
  });
const mirror = (update: Partial<MirrorUpdate>): MirrorUpdate => ({
  run,
  from: 'run',
  sequence: 1,
  stages: [],
  ...update,
});
const finish = (update: Partial<FinishUpdate> = {}): FinishUpdate => ({
  run,
  sequence: 99,
  phase: 'Succeeded',
  reason: 'Completed',
  message: 'done',
  startTime: t(0),
  completionTime: t(10),
  stages: [],
  ...update,
});

/** What must hold of every terminal status (S5.22). */
function expectTerminal(status: DRPlanExecutionStatus): void {
  expect(isTerminalExecution(status.phase)).toBe(true);
  expect(status.completionTime).toBeDefined();
  const { summary, stageStatuses = [] } = status;
  if (summary === undefined) throw new Error('no summary');
  expect(summary.totalStages).toBe(stageStatuses.length);
  expect(
    summary.completedStages + summary.failedStages + summary.skippedStages,
    'nothing is running or pending',
  ).toBe(summary.totalStages);
  expect(summary.completedWorkflows + summary.failedWorkflows + summary.skippedWorkflows).toBe(
    summary.totalWorkflows,
  );
  for (const one of stageStatuses) {
    expect(isTerminalItem(one.phase)).toBe(true);
    for (const workflow of one.workflowExecutions ?? []) {
      expect(isTerminalItem(workflow.phase)).toBe(true);
      for (const action of workflow.actionStatuses ?? []) expect(isTerminalItem(action.phase)).toBe(true);
    }
  }
  expect(findCondition(status.conditions, 'Finished')).toMatchObject({ status: 'True' });
  expect(findCondition(status.conditions, 'Succeeded')?.status).toBe(
    status.phase === 'Succeeded' ? 'True' : 'False',
  );
  expect(findCondition(status.conditions, 'Progressing')?.status).toBe('False');
}

describe('mirrored progress', () => {
  it('lays a stage in, counts anew, and leaves the others alone', () => {
    const before = started(stage('a', 'Pending'), stage('b', 'Pending'));
    const after = applyMirror(
      before,
      mirror({ from: 0, stages: [{ index: 0, status: stage('a', 'Running') }] }),
      t(1),
    );
    expect(after?.stageStatuses?.[0]).toMatchObject({ phase: 'Running', sequence: 1 });
    expect(after?.stageStatuses?.[1]).toBe(before.stageStatuses?.[1]);
    expect(after?.summary).toMatchObject({ runningStages: 1, pendingStages: 1, totalStages: 2 });
  });

  it('drops a lower or equal sequence of the same speaker, and only of that one [S6.5]', () => {
    let status = started(stage('a', 'Pending'), stage('b', 'Pending'));
    status =
      applyMirror(
        status,
        mirror({ from: 0, sequence: 5, stages: [{ index: 0, status: stage('a', 'Running') }] }),
        t(1),
      ) ?? status;
    for (const sequence of [4, 5]) {
      expect(
        applyMirror(
          status,
          mirror({ from: 0, sequence, stages: [{ index: 0, status: stage('a', 'Failed') }] }),
          t(2),
        ),
      ).toBeUndefined();
    }
    const other = applyMirror(
      status,
      mirror({ from: 1, sequence: 1, stages: [{ index: 1, status: stage('b', 'Running') }] }),
      t(2),
    );
    expect(other?.stageStatuses?.[1]?.phase).toBe('Running');
  });

  it('drops everything about a stage that has ended, and everything after the end', () => {
    const ended = started(stage('a', 'Succeeded'));
    expect(
      applyMirror(
        ended,
        mirror({ from: 0, sequence: 50, stages: [{ index: 0, status: stage('a', 'Running') }] }),
        t(2),
      ),
    ).toBeUndefined();
    const over = applyFinish(
      started(stage('a', 'Running')),
      finish({ stages: [{ index: 0, status: stage('a', 'Succeeded') }] }),
    );
    if (over === undefined) throw new Error('not finished');
    expect(applyMirror(over, mirror({ sequence: 1000, message: 'late' }), t(20))).toBeUndefined();
    expect(applyFinish(over, finish({ phase: 'Failed' }))).toBeUndefined();
  });

  it('keeps the detail of a stage that was ended from outside, closed [S5.41]', () => {
    let status = started(stage('a', 'Pending'));
    const detail = stage('a', 'Running', [
      { phase: 'Succeeded' },
      { phase: 'Running' },
      { phase: 'Pending' },
    ]);
    status =
      applyMirror(status, mirror({ from: 0, sequence: 3, stages: [{ index: 0, status: detail }] }), t(1)) ??
      status;
    const said = { ...stage('a', 'Failed', []), reason: 'StageTerminated', message: 'killed' };
    const after = applyMirror(
      status,
      mirror({ stages: [{ index: 0, status: said, interrupted: true }] }),
      t(2),
    );
    expect(after?.stageStatuses?.[0]).toMatchObject({
      phase: 'Failed',
      reason: 'StageTerminated',
      workflowExecutions: [
        {
          phase: 'Failed',
          actionStatuses: [
            { phase: 'Succeeded' },
            { phase: 'Failed', reason: 'Interrupted' },
            { phase: 'Skipped', reason: 'Interrupted' },
          ],
        },
      ],
    });
  });

  it('takes what a stage had begun untold before it was ended from outside for begun', () => {
    const detail = stage('a', 'Pending', [{ phase: 'Pending' }, { phase: 'Pending' }, { phase: 'Pending' }]);
    const status = started(detail);
    const said = { ...stage('a', 'Failed', []), reason: 'StageTerminated', message: 'killed' };
    const begun = [0, 1].map((action) => ({ workflow: 0, action }));
    const stages = [{ index: 0, status: said, interrupted: true as const, begun }];
    for (const after of [
      applyMirror(status, mirror({ stages }), t(2)),
      applyFinish(status, finish({ stages, phase: 'Failed' })),
    ]) {
      expect(after?.stageStatuses?.[0]?.workflowExecutions?.[0]).toMatchObject({
        phase: 'Failed',
        actionStatuses: [
          { phase: 'Failed', reason: 'Interrupted' },
          { phase: 'Failed', reason: 'Interrupted' },
          { phase: 'Skipped', reason: 'Interrupted' },
        ],
      });
    }
  });

  it('takes over how actions had ended that a stage could not tell before it was ended from outside', () => {
    const detail = stage('a', 'Running', [
      { phase: 'Running' },
      { phase: 'Pending' },
      { phase: 'Succeeded' },
    ]);
    const said = { ...stage('a', 'Failed', []), reason: 'StageTerminated', message: 'killed' };
    const counts = { round: 0, retryCount: 0 };
    const failed = {
      phase: 'Failed',
      reason: 'HTTPStatus',
      message: 'answered 500',
      effect: 'None',
      ...counts,
    } as const;
    const ended = [0, 1, 2].map((action) => ({
      workflow: 0,
      action,
      outcome: action === 0 ? { phase: 'Succeeded' as const, outputs: { created: [] }, ...counts } : failed,
    }));
    const begun = [0, 1, 2].map((action) => ({ workflow: 0, action }));
    const stages = [{ index: 0, status: said, interrupted: true as const, begun, ended }];
    const after = applyFinish(started(detail), finish({ stages, phase: 'Failed' }));
    expect(after?.stageStatuses?.[0]?.workflowExecutions?.[0]).toMatchObject({
      phase: 'Failed',
      actionStatuses: [
        { phase: 'Succeeded', effect: 'Done', outputs: { created: [] } },
        { phase: 'Failed', reason: 'HTTPStatus', message: 'answered 500', effect: 'None' },
        { phase: 'Succeeded' },
      ],
    });
  });

  it('takes over what was found out about the actions of a stage that was ended from outside', () => {
    const detail = stage('a', 'Running', [
      { phase: 'Succeeded', effect: 'Done' },
      { phase: 'Running', effect: 'Unknown' },
      { phase: 'Running' },
      { phase: 'Pending' },
      { phase: 'Pending' },
    ]);
    const said = { ...stage('a', 'Failed', []), reason: 'StageTerminated', message: 'killed' };
    const none = { phase: 'Failed', reason: 'Test', message: 'stopped', effect: 'None' } as const;
    const counts = { round: 1, retryCount: 0 };
    const settled = [0, 1, 2, 3].map((action) => ({
      workflow: 0,
      action,
      outcome:
        action === 3
          ? { phase: 'Succeeded' as const, outputs: { created: [] }, ...counts }
          : { ...none, ...counts },
    }));
    const begun = [{ workflow: 0, action: 3 }];
    const stages = [{ index: 0, status: said, interrupted: true as const, begun, settled }];
    const after = applyMirror(started(detail), mirror({ stages }), t(2));
    expect(after?.stageStatuses?.[0]?.workflowExecutions?.[0]).toMatchObject({
      phase: 'Failed',
      actionStatuses: [
        { phase: 'Succeeded', effect: 'Done' },
        { phase: 'Failed', reason: 'Interrupted', effect: 'Unknown', message: 'killed; stopped', round: 1 },
        { phase: 'Failed', reason: 'Interrupted', effect: 'None' },
        { phase: 'Succeeded', effect: 'Done', outputs: { created: [] } },
        { phase: 'Skipped', reason: 'Interrupted' },
      ],
    });
  });

  it('names the run that ended, which is another one after a reset', () => {
    const status = started(stage('a', 'Running'));
    expect(applyFinish(status, finish({ runId: 'after the reset' }))?.temporal).toEqual({
      ...status.temporal,
      runId: 'after the reset',
    });
  });

  it('says that a stage is paused, and that it goes on', () => {
    let status = started(stage('a', 'Running'), stage('b', 'Running'));
    const say = (from: number, sequence: number, paused?: MirrorUpdate['paused']): void => {
      const name = from === 0 ? 'a' : 'b';
      status =
        applyMirror(
          status,
          mirror({
            from,
            sequence,
            stages: [{ index: from, status: stage(name, 'Running') }],
            ...(paused && { paused }),
          }),
          t(sequence),
        ) ?? status;
    };
    const progressing = () => findCondition(status.conditions, 'Progressing');
    say(0, 1, { stage: 'a', message: 'no', reminder: 0 });
    expect(progressing()).toMatchObject({ status: 'False', reason: 'Paused' });
    say(1, 1);
    expect(progressing()).toMatchObject({ reason: 'Paused' });
    say(0, 2);
    expect(progressing()).toMatchObject({ status: 'True', reason: 'Running' });
  });

  it('ends in the same status whatever is repeated, lost or late [S6.5]', () => {
    const phases = ['Running', 'Running', 'Succeeded'];
    const updates = [0, 1, 2].flatMap((index) =>
      phases.map((phase, n) =>
        mirror({
          from: index,
          sequence: n + 1,
          stages: [{ index, status: stage(`s${index}`, phase, [{ retryCount: n }]) }],
        }),
      ),
    );
    const last = finish({
      stages: [0, 1, 2].map((index) => ({
        index,
        status: stage(`s${index}`, 'Succeeded', [{ retryCount: 2 }]),
      })),
    });
    const begin = started(stage('s0', 'Pending'), stage('s1', 'Pending'), stage('s2', 'Pending'));
    const strip = (status: DRPlanExecutionStatus) => ({
      ...status,
      conditions: status.conditions?.map(({ lastTransitionTime: _, ...rest }) => rest),
      stageStatuses: status.stageStatuses?.map(({ sequence: _, ...rest }) => rest),
    });
    const play = (sent: readonly MirrorUpdate[]): DRPlanExecutionStatus => {
      let status = begin;
      for (const update of sent) {
        const next = applyMirror(status, update, t(1));
        status = next ?? status;
      }
      return applyFinish(status, last) ?? status;
    };
    const expected = strip(play(updates));
    fc.assert(
      fc.property(fc.array(fc.nat({ max: updates.length - 1 }), { maxLength: 30 }), (order) => {
        const status = play(order.map((index) => updates[index] ?? mirror({})));
        expectTerminal(status);
        expect(strip(status)).toEqual(expected);
      }),
    );
  });
});

describe('the end', () => {
  it('brings everything into a terminal phase, however little was told [S5.21] [S5.22]', () => {
    fc.assert(
      fc.property(
        fc.array(
          fc.array(fc.constantFrom('Pending', 'Running', 'Succeeded', 'Failed', 'Skipped'), { maxLength: 4 }),
          {
            maxLength: 4,
          },
        ),
        fc.constantFrom('Succeeded' as const, 'Failed' as const, 'Cancelled' as const),
        (stages, phase) => {
          const status = started(
            ...stages.map((actions, n) =>
              stage(
                `s${n}`,
                n % 2 ? 'Running' : 'Pending',
                actions.map((item) => ({ phase: item })),
              ),
            ),
          );
          const ended = applyFinish(status, finish({ phase }));
          if (ended === undefined) throw new Error('not ended');
          expectTerminal(ended);
          expect(ended.duration).toBe('10s');
        },
      ),
    );
  });

  it('tells what a revert left, on the revert and on its target [S5.49]', () => {
    const update = finish({
      run: { ...run, operation: 'Revert', target: { name: 'old', uid: 'o' } },
      undone: ['0/0/0'],
      unreverted: ['0/0/1'],
    });
    const revert = applyFinish(started(stage('a', 'Running')), update);
    expect(revert?.unreverted).toEqual(['0/0/1']);
    expect(findCondition(revert?.conditions, 'FullyReverted')).toMatchObject({ status: 'False' });
    const kind = { apiVersion: 'v', kind: 'DRPlanExecution' };
    const target = applyRevertToTarget({ phase: 'Succeeded', undone: ['1/0/0'] }, update, kind);
    expect(target).toMatchObject({ undone: ['1/0/0', '0/0/0'], revertedBy: { name: 'e', uid: 'u' } });
    expect(applyRevertToTarget(target, update, kind)).toEqual(target);
    const failed = applyRevertToTarget({ phase: 'Succeeded' }, { ...update, phase: 'Failed' }, kind);
    expect(failed.revertedBy).toBeUndefined();
    expect(failed.undone).toEqual(['0/0/0']);
  });

  it('of a revert names what may still run, on the revert and on its target [F9]', () => {
    const place = 'pod shop/j-1 on node n';
    const update = finish({
      run: { ...run, operation: 'Revert', target: { name: 'old', uid: 'o' } },
      undone: ['0/0/0'],
      unreverted: [],
      stages: [
        {
          index: 0,
          status: stage('a', 'Succeeded', [{ phase: 'Succeeded', outputs: { stopUnconfirmed: [place] } }]),
        },
      ],
    });
    const revert = applyFinish(started(stage('a', 'Running')), update);
    const kind = { apiVersion: 'v', kind: 'DRPlanExecution', unconfirmed: [place] };
    const target = applyRevertToTarget({ phase: 'Succeeded' }, update, kind);
    for (const { conditions } of [revert ?? {}, target]) {
      expect(findCondition(conditions, 'FullyReverted')).toMatchObject({
        status: 'True',
        message: expect.stringContaining(`may still run in "${place}"`),
      });
    }
    expect(findCondition(revert?.conditions, 'StopUnconfirmed')).toMatchObject({ reason: 'PodsDidNotEnd' });
    expect(target.revertedBy).not.toHaveProperty('unconfirmed');
  });

  it('of a rollback names what may still run [F9]', () => {
    const ended = applyFinish(
      started(stage('a', 'Running')),
      finish({
        phase: 'Failed',
        rolledBack: { complete: true, message: 'all', stopUnconfirmed: ['pod shop/j-1'] },
      }),
    );
    expect(findCondition(ended?.conditions, 'RolledBack')).toMatchObject({
      status: 'True',
      message: expect.stringContaining('may still run in "pod shop/j-1"'),
    });
  });

  it('of a rollback that undid everything leaves nothing to revert', () => {
    const ended = applyFinish(
      started(stage('a', 'Running')),
      finish({
        phase: 'Failed',
        stages: [
          {
            index: 0,
            status: stage('a', 'Failed', [{ phase: 'Succeeded' }, { phase: 'Failed' }, { phase: 'Skipped' }]),
          },
        ],
        rolledBack: { complete: true, message: 'all' },
      }),
    );
    expect(findCondition(ended?.conditions, 'RolledBack')).toMatchObject({ status: 'True' });
    expect(ended?.undone).toEqual(['0/0/0', '0/0/1']);
  });

  it('of an execution that never ran has all that a terminal status has [S5.22]', () => {
    const waiting = waitingStatus(
      undefined,
      { reason: 'PlanNotObserved', message: 'waiting', generation: 1 },
      t(0),
    );
    expect(waiting.phase).toBe('Pending');
    const refused = refusedStatus(
      waiting,
      { phase: 'Failed', reason: 'PlanBusy', message: 'no', generation: 1 },
      t(1),
    );
    expectTerminal(refused);
    expect(refused).toMatchObject({ reason: 'PlanBusy', message: 'no', observedGeneration: 1 });
  });
});

describe('a stop that a cluster did not confirm', () => {
  it('is a condition as soon as it is known, and stays beyond the end [S3.41]', () => {
    const outputs = { stopUnconfirmed: ['ns-b/site-b'] };
    const running = applyMirror(
      started(stage('a', 'Pending')),
      mirror({ from: 0, stages: [{ index: 0, status: stage('a', 'Running', [{ outputs }]) }] }),
      t(1),
    );
    const ended = applyFinish(running ?? {}, finish());
    for (const status of [running, ended]) {
      const condition = findCondition(status?.conditions, 'StopUnconfirmed');
      expect(condition).toMatchObject({ status: 'True', message: expect.stringContaining('"ns-b/site-b"') });
    }
  });
});

describe('failed actions', () => {
  it('are told once per round [S5.28]', () => {
    const failed = (round: number) => ({
      stageStatuses: [stage('a', 'Running', [{ phase: 'Failed', round }])],
    });
    const first = newFailures({ stageStatuses: [stage('a', 'Running')] }, failed(0));
    expect(first).toMatchObject([{ stage: 'a', workflow: 'w', key: '0/0/0/0' }]);
    expect(newFailures(failed(0), failed(0))).toEqual([]);
    expect(newFailures(failed(0), failed(1))).toMatchObject([{ key: '0/0/0/1' }]);
  });
});
