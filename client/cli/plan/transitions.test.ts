import { describe, expect, it } from 'vitest';
import type { ActionStatus, DRPlanExecution, StageStatus } from '../../../api/plan/types.js';
import { type Transition, transitionsBetween } from './transitions.js';

const SEEN = '2026-01-01T10:01:00Z';
const at = (second: number): string => `2026-01-01T10:00:${String(second).padStart(2, '0')}Z`;

type Status = NonNullable<DRPlanExecution['status']>;

const execution = (status: Status | undefined): DRPlanExecution => ({
  metadata: { name: 'web-1', namespace: 'default' },
  spec: { planRef: 'web', operationType: 'Execute' },
  ...(status !== undefined && { status }),
});

function stage(phase: string, actions: ActionStatus[], extra: Partial<StageStatus> = {}): StageStatus {
  return {
    name: 'drain',
    phase,
    ...extra,
    workflowExecutions: [
      {
        workflowRef: { name: 'traffic' },
        phase,
        startTime: extra.startTime,
        completionTime: extra.completionTime,
        actionStatuses: actions,
      },
    ],
  };
}

const short = (transitions: Transition[]): string[] =>
  transitions.map(({ path, phase, duration, note }) =>
    [path, phase, duration, note].filter((part) => part !== undefined && part !== '').join(' '),
  );

const running = (actions: ActionStatus[]): DRPlanExecution =>
  execution({
    phase: 'Running',
    startTime: at(0),
    stageStatuses: [stage('Running', actions, { startTime: at(0) })],
  });

describe('transitions', () => {
  it('tell from nothing all that has happened, from the outside in', () => {
    const now = running([
      { name: 'a', phase: 'Running', startTime: at(0) },
      { name: 'b', phase: 'Pending' },
    ]);
    expect(short(transitionsBetween(undefined, now, SEEN))).toEqual([
      'web-1 Running',
      'drain Running',
      'drain/traffic Running',
      'drain/traffic/a Running',
    ]);
  });

  it('tell the end of the inner before the outer, with durations and reasons', () => {
    const before = running([{ name: 'a', phase: 'Running', startTime: at(0) }]);
    const after = execution({
      phase: 'Failed',
      reason: 'StageFailed',
      message: 'stage drain failed',
      startTime: at(0),
      completionTime: at(3),
      stageStatuses: [
        stage(
          'Failed',
          [
            {
              name: 'a',
              phase: 'Failed',
              reason: 'HTTPStatus',
              message: 'answered 503',
              retryCount: 3,
              startTime: at(0),
              completionTime: at(3),
            },
          ],
          { startTime: at(0), completionTime: at(3) },
        ),
      ],
    });
    expect(short(transitionsBetween(before, after, SEEN))).toEqual([
      'drain/traffic/a Failed 3s HTTPStatus: answered 503 (3 retries)',
      'drain/traffic Failed 3s',
      'drain Failed 3s',
      'web-1 Failed 3s StageFailed: stage drain failed',
    ]);
  });

  it('are none between equal states', () => {
    const state = running([{ name: 'a', phase: 'Running', startTime: at(0), message: 'waiting' }]);
    expect(transitionsBetween(state, structuredClone(state), SEEN)).toEqual([]);
  });

  it('tell retries and new messages of a running action', () => {
    const first = running([{ name: 'a', phase: 'Running', startTime: at(0) }]);
    const retried = running([
      { name: 'a', phase: 'Running', startTime: at(0), retryCount: 1, message: 'refused' },
    ]);
    const waiting = running([
      { name: 'a', phase: 'Running', startTime: at(0), retryCount: 1, message: 'waits' },
    ]);
    expect(short(transitionsBetween(first, retried, SEEN))).toEqual([
      'drain/traffic/a Retry refused (1 retry)',
    ]);
    expect(short(transitionsBetween(retried, waiting, SEEN))).toEqual([
      'drain/traffic/a Running waits (1 retry)',
    ]);
  });

  it('tell a retry by a person as a new start', () => {
    const failed = running([{ name: 'a', phase: 'Failed', startTime: at(0), completionTime: at(1) }]);
    const again = running([{ name: 'a', phase: 'Running', startTime: at(2) }]);
    expect(short(transitionsBetween(failed, again, SEEN))).toEqual(['drain/traffic/a Running']);
  });

  it('are in the order of time where stages run at once', () => {
    const two = (phases: [string, string]): DRPlanExecution =>
      execution({
        phase: 'Running',
        startTime: at(0),
        stageStatuses: [
          { name: 'one', phase: phases[0], startTime: at(1), completionTime: at(9) },
          { name: 'two', phase: phases[1], startTime: at(1), completionTime: at(5) },
        ],
      });
    expect(
      short(transitionsBetween(two(['Running', 'Running']), two(['Succeeded', 'Succeeded']), SEEN)),
    ).toEqual(['two Succeeded 4s', 'one Succeeded 8s']);
  });

  it('leave out what is skipped inside a skipped stage', () => {
    const before = execution({
      phase: 'Running',
      stageStatuses: [stage('Pending', [{ name: 'a', phase: 'Pending' }])],
    });
    const after = execution({
      phase: 'Running',
      stageStatuses: [stage('Skipped', [{ name: 'a', phase: 'Skipped' }], { reason: 'PlanStopped' })],
    });
    expect(short(transitionsBetween(before, after, SEEN))).toEqual(['drain Skipped PlanStopped']);
  });

  it('tell two uses of one workflow apart', () => {
    const workflow = { workflowRef: { name: 'w' }, phase: 'Running', startTime: at(1) };
    const now = execution({
      phase: 'Running',
      startTime: at(0),
      stageStatuses: [
        { name: 's', phase: 'Running', startTime: at(0), workflowExecutions: [workflow, workflow] },
      ],
    });
    expect(short(transitionsBetween(undefined, now, SEEN))).toEqual([
      'web-1 Running',
      's Running',
      's/w Running',
      's/w#2 Running',
    ]);
  });

  it('tell trouble of the run, and when it is over, but not what the phase says', () => {
    const condition = (type: string, status: 'True' | 'False', reason: string) => ({
      type,
      status,
      reason,
      message: '',
      lastTransitionTime: at(1),
    });
    const calm = execution({ phase: 'Running', conditions: [condition('Progressing', 'True', 'Running')] });
    const stuck = execution({
      phase: 'Running',
      conditions: [condition('Progressing', 'False', 'NoWorker')],
    });
    const ended = execution({
      phase: 'Running',
      conditions: [condition('Succeeded', 'True', 'Done'), condition('Progressing', 'True', 'Running')],
    });
    expect(short(transitionsBetween(execution({ phase: 'Running' }), calm, SEEN))).toEqual([]);
    expect(short(transitionsBetween(calm, stuck, SEEN))).toEqual(['Progressing False NoWorker']);
    expect(short(transitionsBetween(stuck, ended, SEEN))).toEqual(['Progressing True Running']);
  });

  it('take the time they are seen where the status has none', () => {
    const after = execution({ phase: 'Running', stageStatuses: [{ name: 's', phase: 'Skipped' }] });
    const [last] = transitionsBetween(execution({ phase: 'Running' }), after, SEEN);
    expect(last).toEqual({ time: SEEN, level: 'stage', path: 's', phase: 'Skipped', note: '' });
  });
});
