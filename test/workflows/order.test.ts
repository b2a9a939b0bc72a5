import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  action,
  phasesOf,
  stages,
  startScriptedWorker,
  untilCancelled,
  workflow,
} from '../support/scripted.js';
import type { ScriptedWorker } from '../support/scripted.js';
import { servers } from '../support/servers.js';

let scripted: ScriptedWorker;
beforeAll(async () => {
  scripted = await startScriptedWorker(servers.temporal, servers.temporalNamespace);
});
afterAll(() => scripted.close());

const failed = { phase: 'Failed' } as const;
const slow = (ms: number) => async () => {
  await new Promise((resolve) => setTimeout(resolve, ms));
  return {};
};

describe('order of stages', () => {
  it('without dependsOn is list order [S4.1]', async () => {
    const run = await scripted.run({
      maxConcurrentStages: 5,
      stages: stages(
        { name: 'one', workflows: [workflow(['a', 'b'])] },
        { name: 'two', workflows: [workflow(['c'])] },
      ),
    });
    const result = await run.result();
    expect(result).toMatchObject({ phase: 'Succeeded', reason: 'Completed' });
    expect(run.recording.events).toEqual([
      'start a', 'Succeeded a', 'start b', 'Succeeded b', 'start c', 'Succeeded c',
    ]); // oxfmt-ignore
    expect(result.stages.map((stage) => stage.order)).toEqual([1, 2]);
  });

  it('with dependsOn is a graph, forward references allowed, one at a time unless maxConcurrentStages says more [S4.2]', async () => {
    const list = stages(
      { name: 'last', dependsOn: ['left', 'right'], workflows: [workflow(['z'])] },
      { name: 'left', workflows: [workflow(['l'])] },
      { name: 'right', workflows: [workflow(['r'])] },
    );
    const one = await scripted.run({ stages: list }, { l: slow(100), r: slow(100) });
    await one.result();
    expect(one.recording.events.slice(0, 4)).toEqual(['start l', 'Succeeded l', 'start r', 'Succeeded r']);
    const two = await scripted.run({ stages: list, maxConcurrentStages: 2 }, { l: slow(300), r: slow(300) });
    await two.result();
    expect(two.recording.events.slice(0, 2).sort()).toEqual(['start l', 'start r']);
    expect(two.recording.events.at(-1)).toBe('Succeeded z');
  });

  it('goes on after a stage that its own condition skipped [S4.10]', async () => {
    const run = await scripted.run({
      stages: stages(
        { name: 'one', when: 'false', workflows: [workflow(['a'])] },
        { name: 'two', dependsOn: ['one'], workflows: [workflow(['b'])] },
      ),
    });
    expect(phasesOf((await run.result()).stages)).toEqual([
      'one=Skipped(Skipped:a=Skipped/WhenFalse)',
      'two=Succeeded(Succeeded:b=Succeeded)',
    ]);
  });

  it('fails a stage whose condition cannot be evaluated', async () => {
    const run = await scripted.run({
      stages: stages({ name: 'one', when: 'broken', workflows: [workflow(['a'])] }),
    });
    const result = await run.result();
    expect(result).toMatchObject({ phase: 'Failed' });
    expect(result.message).toContain('no such thing');
    expect(run.recording.events).toEqual([]);
  });
});

describe('order of workflows and actions', () => {
  it('runs parallel workflows at once, up to maxConcurrency [S4.5]', async () => {
    const list = (extra: object) =>
      stages({
        name: 'one',
        parallel: true,
        ...extra,
        workflows: [workflow(['a']), workflow(['b']), workflow(['c'])],
      });
    const script = { a: slow(200), b: slow(200), c: slow(200) };
    const all = await scripted.run({ stages: list({}) }, script);
    await all.result();
    expect(all.recording.events.slice(0, 3).sort()).toEqual(['start a', 'start b', 'start c']);
    const two = await scripted.run({ stages: list({ maxConcurrency: 2 }) }, script);
    await two.result();
    expect(two.recording.events.slice(0, 2).sort()).toEqual(['start a', 'start b']);
    expect(two.recording.events[2]).toMatch(/^Succeeded/);
  });

  it('runs actions as a graph when any has a dependency [S4.6]', async () => {
    const run = await scripted.run(
      {
        stages: stages({
          name: 'one',
          workflows: [workflow([action('z', { dependsOn: ['a', 'b'] }), action('a'), action('b')])],
        }),
      },
      { a: slow(200), b: slow(200) },
    );
    await run.result();
    expect(run.recording.events.slice(0, 2).sort()).toEqual(['start a', 'start b']);
    expect(run.recording.events.at(-1)).toBe('Succeeded z');
  });

  it('records prior state before an action that changes what is there [S3.15]', async () => {
    const run = await scripted.run({
      stages: stages({ name: 'one', workflows: [workflow([action('a', { capture: true })])] }),
    });
    await run.result();
    expect(run.recording.events).toEqual(['capture a', 'start a', 'Succeeded a']);
  });
});

describe('failure policies', () => {
  const rows: [string, Parameters<ScriptedWorker['run']>[0], string[]][] = [
    [
      'workflow FailFast skips the rest',
      { stages: stages({ name: 's', workflows: [workflow(['bad', 'b', 'c'])] }) },
      ['s=Failed(Failed:bad=Failed/Test,b=Skipped/FailFast,c=Skipped/FailFast)'],
    ],
    [
      'workflow Continue runs the rest and fails at the end',
      { stages: stages({ name: 's', workflows: [workflow(['bad', 'b'], { failurePolicy: 'Continue' })] }) },
      ['s=Failed(Failed:bad=Failed/Test,b=Succeeded)'],
    ],
    [
      'workflow Continue skips what depends on a failed action, and what depends on that',
      {
        stages: stages({
          name: 's',
          workflows: [
            workflow(
              [
                action('bad'),
                action('b', { dependsOn: ['bad'] }),
                action('c', { dependsOn: ['b'] }),
                action('d'),
              ],
              { failurePolicy: 'Continue' },
            ),
          ],
        }),
      },
      ['s=Failed(Failed:bad=Failed/Test,b=Skipped/DependencyFailed,c=Skipped/DependencyFailed,d=Succeeded)'],
    ],
    [
      'stage Stop starts nothing more in a sequential stage',
      { stages: stages({ name: 's', workflows: [workflow(['bad']), workflow(['b'])] }) },
      ['s=Failed(Failed:bad=Failed/Test | Skipped:b=Skipped/StageFailed)'],
    ],
    [
      'stage Stop lets running workflows of a parallel stage finish',
      {
        stages: stages({
          name: 's',
          parallel: true,
          workflows: [workflow(['bad']), workflow(['slow', 'b'])],
        }),
      },
      ['s=Failed(Failed:bad=Failed/Test | Succeeded:slow=Succeeded,b=Succeeded)'],
    ],
    [
      'stage FailFast cancels running workflows',
      {
        stages: stages({
          name: 's',
          parallel: true,
          failurePolicy: 'FailFast',
          workflows: [workflow(['bad']), workflow(['endless', 'b'])],
        }),
      },
      ['s=Failed(Failed:bad=Failed/Test | Failed:endless=Failed/StageFailed,b=Skipped/StageFailed)'],
    ],
    [
      'stage Continue runs all workflows, and the plan goes on',
      {
        stages: stages(
          { name: 's', failurePolicy: 'Continue', workflows: [workflow(['bad']), workflow(['b'])] },
          { name: 't', workflows: [workflow(['c'])] },
        ),
      },
      ['s=Failed(Failed:bad=Failed/Test | Succeeded:b=Succeeded)', 't=Succeeded(Succeeded:c=Succeeded)'],
    ],
    [
      'plan Stop skips later stages',
      {
        stages: stages(
          { name: 's', workflows: [workflow(['bad'])] },
          { name: 't', workflows: [workflow(['c'])] },
        ),
      },
      ['s=Failed(Failed:bad=Failed/Test)', 't=Skipped(Skipped:c=Skipped/PlanStopped)'],
    ],
    [
      'plan Stop lets running stages finish',
      {
        maxConcurrentStages: 3,
        stages: stages(
          { name: 's', workflows: [workflow(['bad'])] },
          { name: 't', workflows: [workflow(['slow', 'c'])] },
          { name: 'u', dependsOn: ['t'], workflows: [workflow(['d'])] },
        ),
      },
      [
        's=Failed(Failed:bad=Failed/Test)',
        't=Succeeded(Succeeded:slow=Succeeded,c=Succeeded)',
        'u=Skipped(Skipped:d=Skipped/PlanStopped)',
      ],
    ],
    [
      'plan Continue runs later stages and skips dependents of a failed one, transitively',
      {
        failurePolicy: 'Continue',
        stages: stages(
          { name: 's', failurePolicy: 'Continue', workflows: [workflow(['bad'])] },
          { name: 't', dependsOn: ['s'], failurePolicy: 'Continue', workflows: [workflow(['c'])] },
          { name: 'u', dependsOn: ['t'], failurePolicy: 'Continue', workflows: [workflow(['d'])] },
          { name: 'v', failurePolicy: 'Continue', workflows: [workflow(['e'])] },
        ),
      },
      [
        's=Failed(Failed:bad=Failed/Test)',
        't=Skipped(Skipped:c=Skipped/DependencyFailed)',
        'u=Skipped(Skipped:d=Skipped/DependencyFailed)',
        'v=Succeeded(Succeeded:e=Succeeded)',
      ],
    ],
  ];
  it.each(rows)('%s [S4.8] [S4.10]', async (_, input, expected) => {
    const run = await scripted.run(input, { bad: failed, slow: slow(300), endless: () => untilCancelled() });
    const result = await run.result();
    expect(phasesOf(result.stages)).toEqual(expected);
    expect(result).toMatchObject({ phase: 'Failed', reason: 'StageFailed' });
    for (const stage of result.stages) expect(stage.completionTime).toBeDefined();
  });

  it('fails a run in which nothing was executed and nothing was meant to be skipped [S4.11]', async () => {
    const run = await scripted.run({ stages: stages({ name: 's', workflows: [] }) });
    expect(await run.result()).toMatchObject({ phase: 'Failed', reason: 'NothingExecuted' });
  });
});

describe('start', () => {
  it('does nothing after the deadline [S5.9]', async () => {
    const run = await scripted.run({
      startDeadline: new Date(Date.now() - 1000).toISOString(),
      stages: stages({ name: 's', workflows: [workflow(['a'])] }),
    });
    const result = await run.result();
    expect(result).toMatchObject({ phase: 'Failed', reason: 'StartDeadlineExceeded' });
    expect(run.recording.events).toEqual([]);
    expect(phasesOf(result.stages)).toEqual(['s=Skipped(Skipped:a=Skipped/StartDeadlineExceeded)']);
  });
});
