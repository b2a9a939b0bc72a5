/** Order and failure on the real servers: who runs, who is skipped and why (docs/semantics.md#4-order-and-failure). */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Action, DRPlanExecution, DRPlanSpec, DRWorkflowSpec, Stage } from '../../api/plan/types.js';
import { startRecorder } from '../support/recorder.js';
import type { Recorder } from '../support/recorder.js';
import { condition, http, openStack } from '../support/stack.js';
import type { Stack } from '../support/stack.js';
import { phasesOf } from '../support/scripted.js';
import { expectWhole } from './whole.js';

let stack: Stack;
let recorder: Recorder;
beforeAll(async () => {
  [stack, recorder] = await Promise.all([openStack('order'), startRecorder()]);
});
afterAll(async () => {
  await recorder.close();
  await stack.close();
});

const call = (plan: string, name: string, more: Partial<Action> & { query?: string } = {}): Action => {
  const { query = '', ...rest } = more;
  return http(name, `${recorder.url}/${plan}/${name}${query}`, rest);
};
/** A plan of the stages, each with its workflows, run to its end. */
async function run(
  plan: string,
  stages: (Omit<Stage, 'workflows'> & { workflows: (Partial<DRWorkflowSpec> & { actions: Action[] })[] })[],
  spec: Partial<DRPlanSpec> = {},
): Promise<DRPlanExecution> {
  const referenced = await Promise.all(
    stages.map(async (stage) => ({
      ...stage,
      workflows: await Promise.all(
        stage.workflows.map(async (workflow, index) => {
          const name = `${plan}-${stage.name}-${index}`;
          await stack.workflow(name, workflow);
          return { workflowRef: { name } };
        }),
      ),
    })),
  );
  await stack.plan(plan, { ...spec, stages: referenced });
  const ended = await stack.ended(await stack.execute(plan));
  await expectWhole(stack, ended);
  return ended;
}
const came = (plan: string): string[] =>
  recorder.requests
    .filter(({ path }) => path.startsWith(`/${plan}/`))
    .map(({ path }) => path.slice(plan.length + 2));
const beside = (plan: string): number[] =>
  recorder.requests
    .filter(({ path }) => path.startsWith(`/${plan}/`))
    .map((request) => request.beside.filter((path) => path.startsWith(`/${plan}/`)).length);
const phases = (execution: DRPlanExecution): string[] => phasesOf(execution.status?.stageStatuses ?? []);

interface Row {
  workflow: 'FailFast' | 'Continue';
  stage: 'Stop' | 'FailFast' | 'Continue' | undefined;
  plan: 'Stop' | 'Continue';
  parallel: boolean;
}
const MATRIX: Row[] = (['FailFast', 'Continue'] as const).flatMap((workflow) =>
  ([undefined, 'Stop', 'FailFast', 'Continue'] as const).flatMap((stage) =>
    (['Stop', 'Continue'] as const).flatMap((plan) =>
      [false, true].map((parallel) => ({ workflow, stage, plan, parallel })),
    ),
  ),
);

/** What the semantics say of a stage whose first workflow fails, beside a slow one, and of what comes after it. */
function expected({ workflow, stage, plan, parallel }: Row): string[] {
  const policy = stage ?? plan;
  const after = workflow === 'Continue' ? 'after=Succeeded' : 'after=Skipped/FailFast';
  const rest = {
    Continue: 'Succeeded:slow=Succeeded,next=Succeeded',
    Stop: parallel
      ? 'Succeeded:slow=Succeeded,next=Succeeded'
      : 'Skipped:slow=Skipped/StageFailed,next=Skipped/StageFailed',
    FailFast: parallel
      ? 'Failed:slow=Failed/StageFailed,next=Skipped/StageFailed'
      : 'Skipped:slow=Skipped/StageFailed,next=Skipped/StageFailed',
  }[policy];
  const goesOn = policy === 'Continue';
  const skipped = (name: string, reason: string) => `${name}=Skipped(Skipped:${name}=Skipped/${reason})`;
  return [
    `s=Failed(Failed:bad=Failed/HTTPStatus,${after} | ${rest})`,
    goesOn ? 't=Succeeded(Succeeded:t=Succeeded)' : skipped('t', 'PlanStopped'),
    skipped('u', goesOn ? 'DependencyFailed' : 'PlanStopped'),
    skipped('v', goesOn ? 'DependencyFailed' : 'PlanStopped'),
  ];
}

describe('failure policies', () => {
  it('of workflow, stage and plan, in order and in parallel: the whole matrix [S4.8] [S4.9] [S5.22]', async () => {
    const waiting = [...MATRIX.entries()];
    const seen = new Map<number, DRPlanExecution>();
    const worker = async (): Promise<void> => {
      for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
        const [n, row] = next;
        const plan = `matrix-${n}`;
        // What is cut short may not end by itself before, on a busy machine either.
        const delay = (row.stage ?? row.plan) === 'FailFast' ? 30_000 : 1500;
        const single = (name: string) => [{ actions: [call(plan, name)] }];
        seen.set(
          n,
          await run(
            plan,
            [
              {
                name: 's',
                parallel: row.parallel,
                ...(row.stage !== undefined && { failurePolicy: row.stage }),
                workflows: [
                  {
                    failurePolicy: row.workflow,
                    actions: [call(plan, 'bad', { query: '?status=400' }), call(plan, 'after')],
                  },
                  { actions: [call(plan, 'slow', { query: `?delay=${delay}` }), call(plan, 'next')] },
                ],
              },
              { name: 't', workflows: single('t') },
              { name: 'u', dependsOn: ['s'], workflows: single('u') },
              { name: 'v', dependsOn: ['u'], workflows: single('v') },
            ],
            { failurePolicy: row.plan },
          ),
        );
      }
    };
    await Promise.all(Array.from({ length: 8 }, worker));
    for (const [n, row] of MATRIX.entries()) {
      const execution = seen.get(n);
      expect({ ...row, phases: execution && phases(execution) }).toEqual({ ...row, phases: expected(row) });
      expect(execution?.status).toMatchObject({ phase: 'Failed', reason: 'StageFailed' });
      // What is said to have run has run, and nothing else.
      const ran = expected(row)
        .join()
        .match(/\w+(?=\/?\w*=(Succeeded|Failed))/g);
      expect(ran).not.toBeNull();
      for (const name of ['after', 'slow', 'next', 't', 'u', 'v']) {
        const isMeant = new RegExp(`[:,]${name}=(Succeeded|Failed)`).test(expected(row).join());
        expect({ ...row, name, calls: came(`matrix-${n}`).filter((path) => path === name).length }).toEqual({
          ...row,
          name,
          calls: isMeant ? 1 : 0,
        });
      }
    }
  });

  it('let a failure spread along dependencies of actions, past what is independent [S4.10]', async () => {
    const plan = 'spread';
    const ended = await run(plan, [
      {
        name: 's',
        workflows: [
          {
            failurePolicy: 'Continue',
            actions: [
              call(plan, 'bad', { query: '?status=400' }),
              call(plan, 'needs', { dependsOn: ['bad'] }),
              call(plan, 'needs-that', { dependsOn: ['needs'] }),
              call(plan, 'free'),
            ],
          },
        ],
      },
    ]);
    expect(phases(ended)).toEqual([
      's=Failed(Failed:bad=Failed/HTTPStatus,needs=Skipped/DependencyFailed,needs-that=Skipped/DependencyFailed,free=Succeeded)',
    ]);
  });

  it('let running stages finish when the plan stops [S4.8]', async () => {
    const plan = 'finish';
    const ended = await run(
      plan,
      [
        { name: 'bad', workflows: [{ actions: [call(plan, 'bad', { query: '?status=400&delay=300' })] }] },
        { name: 'slow', workflows: [{ actions: [call(plan, 'slow', { query: '?delay=2000' })] }] },
        { name: 'next', dependsOn: ['slow'], workflows: [{ actions: [call(plan, 'next')] }] },
      ],
      { maxConcurrentStages: 2 },
    );
    expect(phases(ended)).toEqual([
      'bad=Failed(Failed:bad=Failed/HTTPStatus)',
      'slow=Succeeded(Succeeded:slow=Succeeded)',
      'next=Skipped(Skipped:next=Skipped/PlanStopped)',
    ]);
  });
});

describe('conditions', () => {
  it('that are false satisfy who depends on the skipped, for stages and actions alike [S4.7] [S4.10]', async () => {
    const plan = 'meant';
    const ended = await run(plan, [
      { name: 'last', dependsOn: ['skipped'], workflows: [{ actions: [call(plan, 'last')] }] },
      { name: 'skipped', when: 'runMode == "Drill"', workflows: [{ actions: [call(plan, 'never')] }] },
      {
        name: 'actions',
        workflows: [
          {
            actions: [
              call(plan, 'off', { when: 'false' }),
              call(plan, 'then', { dependsOn: ['off'], when: 'phases.off == "Skipped"' }),
            ],
          },
        ],
      },
    ]);
    expect(phases(ended)).toEqual([
      'last=Succeeded(Succeeded:last=Succeeded)',
      'skipped=Skipped(Skipped:never=Skipped/WhenFalse)',
      'actions=Succeeded(Succeeded:off=Skipped/WhenFalse,then=Succeeded)',
    ]);
    expect(ended.status?.phase).toBe('Succeeded');
    expect(came(plan)).toEqual(['last', 'then']);
  });

  it('that skip everything on purpose make a success, and a run that did nothing else a failure [S4.11]', async () => {
    const none = await run('none', [
      { name: 's', workflows: [{ actions: [call('none', 'a', { when: 'false' })] }] },
    ]);
    expect(none.status).toMatchObject({ phase: 'Succeeded' });
    expect(came('none')).toEqual([]);
    const plan = 'nothing';
    const ended = await run(
      plan,
      [
        {
          name: 's',
          failurePolicy: 'Continue',
          workflows: [{ actions: [call(plan, 'bad', { query: '?status=400' })] }],
        },
      ],
      { failurePolicy: 'Continue' },
    );
    expect(ended.status?.phase).toBe('Failed');
    expect(condition(ended, 'Succeeded')).toMatchObject({ status: 'False' });
  });
});

describe('order', () => {
  it('of stages is that of the list without dependsOn, whatever maxConcurrentStages says [S4.1]', async () => {
    const plan = 'list';
    const stage = (name: string) => ({
      name,
      workflows: [{ actions: [call(plan, name, { query: '?delay=300' })] }],
    });
    await run(plan, ['c', 'a', 'b'].map(stage), { maxConcurrentStages: 3 });
    expect(came(plan)).toEqual(['c', 'a', 'b']);
    expect(beside(plan)).toEqual([0, 0, 0]);
  });

  it.each([
    [undefined, ['left', 'right', 'other', 'join'], [0, 0, 0, 0]],
    [2, ['left', 'right', 'other', 'join'], [0, 1, 1, 0]],
  ] as const)(
    'of stages is a graph with dependsOn, forward too, up to maxConcurrentStages %s at once [S4.2]',
    async (limit, order, together) => {
      const plan = `graph-${limit ?? 'one'}`;
      const stage = (name: string, ...dependsOn: string[]) => ({
        name,
        dependsOn,
        workflows: [{ actions: [call(plan, name, { query: `?delay=${name === 'left' ? 500 : 1500}` })] }],
      });
      await run(
        plan,
        [stage('join', 'left', 'right', 'other'), stage('left'), stage('right'), stage('other')],
        limit === undefined ? {} : { maxConcurrentStages: limit },
      );
      const first = limit ?? 1;
      expect([...came(plan).slice(0, first).sort(), ...came(plan).slice(first)]).toEqual(order);
      expect(beside(plan)).toEqual(together);
    },
  );

  it('of workflows is all at once with parallel, up to maxConcurrency, else one by one [S4.5]', async () => {
    const stage = (plan: string) => ({
      name: 's',
      workflows: ['a', 'b', 'c'].map((name) => ({
        actions: [call(plan, name, { query: `?delay=${name === 'a' ? 700 : 1500}` })],
      })),
    });
    await Promise.all([
      run('wf-one', [stage('wf-one')]),
      run('wf-all', [{ ...stage('wf-all'), parallel: true }]),
      run('wf-two', [{ ...stage('wf-two'), parallel: true, maxConcurrency: 2 }]),
    ]);
    expect(came('wf-one')).toEqual(['a', 'b', 'c']);
    expect(beside('wf-one')).toEqual([0, 0, 0]);
    expect(beside('wf-all')).toEqual([0, 1, 2]);
    expect(came('wf-two').at(-1)).toBe('c');
    expect(beside('wf-two')).toEqual([0, 1, 1]);
  });

  it('of actions is that of the list, or a graph with any dependsOn [S4.6]', async () => {
    const action = (plan: string, name: string, dependsOn?: string[]) =>
      call(plan, name, { query: '?delay=600', ...(dependsOn && { dependsOn }) });
    await Promise.all([
      run('act-list', [
        { name: 's', workflows: [{ actions: ['b', 'a'].map((name) => action('act-list', name)) }] },
      ]),
      run('act-graph', [
        {
          name: 's',
          workflows: [
            {
              actions: [
                action('act-graph', 'z', ['x', 'y']),
                action('act-graph', 'x'),
                action('act-graph', 'y'),
              ],
            },
          ],
        },
      ]),
    ]);
    expect(came('act-list')).toEqual(['b', 'a']);
    expect(beside('act-list')).toEqual([0, 0]);
    expect(came('act-graph').at(-1)).toBe('z');
    expect(beside('act-graph')).toEqual([0, 1, 0]);
  });
});

describe('many plans at once', () => {
  it('do not wait for each other [S5.17]', async () => {
    const names = Array.from({ length: 20 }, (_, n) => `many-${n}`);
    const executions = await Promise.all(
      names.map(async (name) => {
        await stack.simplePlan(name, [call(name, 'slow', { query: '?together=20' })]);
        return name;
      }),
    ).then((ready) => Promise.all(ready.map((name) => stack.execute(name))));
    const ended = await Promise.all(executions.map((execution) => stack.ended(execution)));
    expect(ended.map(({ status }) => status?.phase)).toEqual(names.map(() => 'Succeeded'));
    const together = recorder.requests
      .filter(({ path }) => path.startsWith('/many-'))
      .map((request) => request.beside.filter((path) => path.startsWith('/many-')).length);
    expect(Math.max(...together)).toBe(names.length - 1);
  });
});
