/** Runs of all shapes, each long enough that programs are replaced in the middle of it, and each with effects that are counted. */
import { isTerminalExecution } from '../../../api/core/phase.js';
import type { Action, DRPlanExecution, DRPlanSpec } from '../../../api/plan/types.js';
import { PLAN_SIGNALS } from '../../../workflows/plan/contract.js';
import type { Recorder } from '../../support/recorder.js';
import { condition, http } from '../../support/stack.js';
import type { Stack } from '../../support/stack.js';

/** A run that goes on. */
export interface Journey {
  shape: string;
  moment: string;
  execution: DRPlanExecution;
  /** Phase that it ends in. */
  phase: 'Succeeded' | 'Failed';
  /** Effects by path of the recorder: with how many keys each is to be called. */
  effects: Record<string, number>;
  /** ConfigMaps that it makes, and Jobs. */
  configMaps: readonly string[];
  jobs: number;
  /** Does what somebody outside has to do, and resolves then. */
  helped: Promise<void>;
}

/** What a shape is made with. */
interface Ground {
  stack: Stack;
  recorder: Recorder;
  /** Names of objects and paths begin with it. */
  id: string;
}

/** What a shape is: its plan, and what is to come of it. */
interface Shape {
  actions: (ground: Ground) => Action[];
  plan?: Partial<DRPlanSpec>;
  expects: (id: string) => Partial<Pick<Journey, 'phase' | 'effects' | 'configMaps' | 'jobs'>>;
  help?: (ground: Ground, execution: DRPlanExecution) => Promise<void>;
}

const wait = (duration: string): Action => ({ name: `wait-${duration}`, type: 'Wait', wait: { duration } });
const call = ({ recorder, id }: Ground, name: string, query = '', more: Partial<Action> = {}): Action =>
  http(name, `${recorder.url}/${id}/${name}${query}`, {
    rollback: { http: { url: `${recorder.url}/${id}/${name}-undo?delay=1500`, method: 'POST' } },
    ...more,
  });
const configMap = (name: string, site: string): string =>
  JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name }, data: { site } });
const object = (name: string, operation: string, manifest: string): Action => ({
  name,
  type: 'KubernetesResource',
  resource: { operation, manifest },
});
const once = (id: string, ...names: string[]): Record<string, number> =>
  Object.fromEntries(names.map((name) => [`/${id}/${name}`, 1]));
const CHAIN = ['a', 'b', 'c', 'd', 'e', 'f'];

/** All shapes. */
const SHAPES: Record<string, Shape> = {
  chain: {
    actions: (ground) => CHAIN.map((name) => call(ground, name, '?delay=2500')),
    expects: (id) => ({ effects: once(id, ...CHAIN) }),
  },
  wide: {
    actions: (ground) =>
      ['p', 'q', 'r', 's', 't'].map((name, index) =>
        call(ground, name, `?delay=${3000 + index * 2500}`, { dependsOn: [] }),
      ),
    expects: (id) => ({ effects: once(id, 'p', 'q', 'r', 's', 't') }),
  },
  timer: {
    actions: (ground) => [call(ground, 'before'), wait('12s'), call(ground, 'after')],
    expects: (id) => ({ effects: once(id, 'before', 'after') }),
  },
  watch: {
    actions: (ground) => [
      {
        name: 'go',
        type: 'Wait',
        timeout: '5m',
        wait: {
          for: { apiVersion: 'v1', kind: 'ConfigMap', name: `${ground.id}-go` },
          condition: 'object.data.site == "b"',
        },
      },
      call(ground, 'gone'),
    ],
    expects: (id) => ({ effects: once(id, 'gone') }),
    async help({ stack, id }, execution) {
      await stack.until(execution, (now) => now.status?.phase === 'Running', HELP_MS);
      await later(10_000);
      await stack.apply(configMap(`${id}-go`, 'b'));
    },
  },
  objects: {
    actions: (ground) => [
      object('create', 'Create', configMap(`${ground.id}-made`, 'a')),
      wait('8s'),
      { ...object('apply', 'Apply', configMap(`${ground.id}-applied`, 'b')) },
      wait('3s'),
      call(ground, 'done'),
    ],
    expects: (id) => ({ effects: once(id, 'done'), configMaps: [`${id}-made`, `${id}-applied`] }),
  },
  job: {
    actions: (ground) => [
      {
        name: 'job',
        type: 'Job',
        timeout: '5m',
        job: {
          namespace: ground.stack.namespace,
          template: {
            metadata: { labels: { journey: ground.id } },
            spec: {
              backoffLimit: 0,
              template: {
                metadata: { annotations: { 'sim.drover.dev/duration': '10s' } },
                spec: { restartPolicy: 'Never', containers: [{ name: 'main', image: 'example/none' }] },
              },
            },
          },
        },
      },
      call(ground, 'done'),
    ],
    expects: (id) => ({ effects: once(id, 'done'), jobs: 1 }),
  },
  nested: {
    actions: (ground) => [
      { name: 'inner', type: 'Plan', plan: { name: `${ground.id}-inner` } },
      call(ground, 'outer'),
    ],
    expects: (id) => ({ effects: once(id, 'inner', 'outer') }),
  },
  paused: {
    actions: (ground) => [
      wait('4s'),
      // The first answer is an error, which nobody tries again but a person.
      call(ground, 'again', '?fail=1', { retryPolicy: { limit: 0 } }),
      wait('2s'),
    ],
    plan: { onFailure: 'Pause' },
    expects: (id) => ({ effects: { [`/${id}/again`]: 2 } }),
    async help({ stack }, execution) {
      const paused = await stack.until(
        execution,
        (now) => condition(now, 'Progressing')?.reason === 'Paused' || isTerminalExecution(now.status?.phase),
        HELP_MS,
      );
      const run = stack.temporal.workflow.getHandle(paused.status?.temporal?.workflowId ?? '');
      await later(3_000);
      await run.signal(PLAN_SIGNALS.retry, {});
    },
  },
  rollback: {
    actions: (ground) => [
      call(ground, 'one', '?delay=2000'),
      call(ground, 'two', '?delay=2000'),
      wait('4s'),
      http('fail', `${ground.recorder.url}/${ground.id}/fail?status=400`),
    ],
    plan: { onFailure: 'Rollback' },
    expects: (id) => ({ phase: 'Failed', effects: once(id, 'one', 'two', 'one-undo', 'two-undo') }),
  },
  revert: {
    actions: (ground) => [
      call(ground, 'one'),
      call(ground, 'two'),
      call(ground, 'three'),
      call(ground, 'four'),
    ],
    expects: (id) => ({
      effects: once(id, ...['one', 'two', 'three', 'four'].flatMap((name) => [name, `${name}-undo`])),
    }),
  },
};

/** Names of all shapes. */
export const SHAPE_NAMES = Object.keys(SHAPES);

/** Time within which a run gets to where it needs help. */
const HELP_MS = 180_000;
const later = (ms: number): Promise<void> =>
  new Promise((resolve) => {
    setTimeout(resolve, ms);
  });

/** A run that is ready to begin. */
export interface Prepared {
  shape: string;
  moment: string;
  begin(): Promise<Journey>;
}

/** Makes the plan of a run; of a revert, also the run that is reverted. Names begin with shape and moment. */
export async function prepare(
  { stack, recorder }: Omit<Ground, 'id'>,
  { shape, moment, id }: { shape: string; moment: string; id: string },
): Promise<Prepared> {
  const ground: Ground = { stack, recorder, id };
  const { actions, plan = {}, expects, help } = SHAPES[shape]!;
  if (shape === 'nested')
    await stack.simplePlan(`${id}-inner`, [wait('6s'), call(ground, 'inner', '?delay=3000')]);
  await stack.simplePlan(id, actions(ground), { plan });
  const before = shape === 'revert' ? await stack.ended(await stack.execute(id)) : undefined;
  return {
    shape,
    moment,
    async begin() {
      const execution = before === undefined ? await stack.execute(id) : await stack.revert(before);
      return {
        shape,
        moment,
        execution,
        phase: 'Succeeded',
        effects: {},
        configMaps: [],
        jobs: 0,
        ...expects(id),
        helped: help === undefined ? Promise.resolve() : help(ground, execution),
      };
    },
  };
}

/** What has become of a run. */
export interface Outcome {
  shape: string;
  moment: string;
  lost: string[];
  repeated: string[];
  stuck: string[];
}

/** Waits for the end of a run and looks at its effects. */
export async function outcomeOf(
  { stack, recorder }: Omit<Ground, 'id'>,
  journey: Journey,
  timeoutMs: number,
): Promise<Outcome> {
  const { shape, moment, execution } = journey;
  const outcome: Outcome = { shape, moment, lost: [], repeated: [], stuck: [] };
  const ended = await Promise.all([stack.ended(execution, timeoutMs), journey.helped]).then(
    ([now]) => now,
    (error: unknown) => {
      outcome.stuck.push(error instanceof Error ? error.message : String(error));
      return undefined;
    },
  );
  if (ended === undefined) return outcome;
  const { phase, reason, message } = ended.status ?? {};
  if (phase !== journey.phase) outcome.lost.push(`${phase ?? ''} ${reason ?? ''}: ${message ?? ''}`);
  for (const [path, keys] of Object.entries(journey.effects)) {
    const seen = recorder.effects(path);
    if (seen < keys) outcome.lost.push(`${path} ${seen} of ${keys}`);
    if (seen > keys) outcome.repeated.push(`${path} ${seen} instead of ${keys}`);
  }
  const { namespace } = stack;
  for (const name of journey.configMaps) {
    if ((await stack.kube.get({ apiVersion: 'v1', kind: 'ConfigMap', namespace, name })) === undefined)
      outcome.lost.push(`ConfigMap ${name}`);
  }
  const { items } = await stack.kube.list(
    { apiVersion: 'batch/v1', kind: 'Job' },
    { namespace, labelSelector: `journey=${execution.spec.planRef}` },
  );
  if (items.length < journey.jobs) outcome.lost.push('Job');
  if (items.length > journey.jobs) outcome.repeated.push(`${items.length} Jobs`);
  return outcome;
}

/** Shapes × moments; in each cell lost, repeated and stuck. */
export function tableOf(outcomes: readonly Outcome[], moments: readonly string[]): string {
  const cell = (shape: string, moment: string): string => {
    const of = outcomes.filter((one) => one.shape === shape && one.moment === moment);
    const count = (part: 'lost' | 'repeated' | 'stuck'): number =>
      of.filter((one) => one[part].length > 0).length;
    return of.length === 0 ? '-' : `${count('lost')}/${count('repeated')}/${count('stuck')} of ${of.length}`;
  };
  const width = Math.max(16, ...moments.map(({ length }) => length + 2));
  const line = (head: string, cells: readonly string[]): string =>
    `${head.padEnd(10)}${cells.map((text) => text.padEnd(width)).join('')}`.trimEnd();
  return [
    'lost/repeated/stuck',
    line('', moments),
    ...SHAPE_NAMES.map((shape) =>
      line(
        shape,
        moments.map((moment) => cell(shape, moment)),
      ),
    ),
  ].join('\n');
}
