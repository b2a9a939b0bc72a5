import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { withNamedPhases } from './named-phases.js';
import { mentionsOf, outputsUsed, readsOf } from '../template/references.js';
import { RenderError, renderString } from '../template/render.js';
import type { ActionInput } from './run.js';
import type { Snapshot } from './snapshot.js';
import type { Action, ActionStatus } from '../types.js';
import { readsAny, stageViewsOf, undoViewsOf, viewsOf } from './views.js';
import { evaluateWhen } from '../when/when.js';

const ref = (name: string) => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  name,
  namespace: 'ns',
  uid: `uid-${name}`,
});
const refs = Array.from({ length: 250 }, (_, index) => ref(`made-${index}`));

const many: ActionStatus = {
  name: 'many',
  phase: 'Succeeded',
  outputs: { resourceRefs: refs, created: refs },
};
const asked: ActionStatus = {
  name: 'asked',
  phase: 'Succeeded',
  outputs: { httpResponse: { statusCode: 200, body: 'yes' } },
};
const later: ActionStatus = { name: 'later', phase: 'Pending' };
const STATUSES = [many, asked, later];

const http = (name: string, more: Partial<Action> = {}): Action => ({
  name,
  type: 'HTTP',
  http: { url: 'https://x' },
  ...more,
});
/** What an action reads, as it is compiled. */
const readsIn = (action: Action): Pick<ActionInput, 'reads' | 'undoReads' | 'rollback'> =>
  readsOf(mentionsOf(action, ''), action);
const seen = (action: Action, statuses: readonly ActionStatus[] = STATUSES, self = -1) =>
  viewsOf(readsIn(action), statuses, self);

describe('[F3] a task shows [S6.10]', () => {
  it.each<[string, Partial<Action>, object]>([
    ['nothing where nothing is read', {}, { outputs: {}, phases: {} }],
    [
      'the phase where the phase is read',
      { when: 'outputs["many"].phase == "Succeeded"' },
      { outputs: { many: { phase: 'Succeeded' } }, phases: {} },
    ],
    [
      'the phase where it is asked whether an action is there',
      { when: 'has(outputs.many) && "asked" in outputs' },
      { outputs: { many: { phase: 'Succeeded' }, asked: { phase: 'Succeeded' } }, phases: {} },
    ],
    [
      'phases that are named',
      { when: 'phases.many == "Succeeded"' },
      { outputs: {}, phases: { many: 'Succeeded' } },
    ],
    [
      'the field that a placeholder names',
      { http: { url: 'https://x/{{ .outputs.asked.httpResponse.statusCode }}' } },
      { outputs: { asked: { phase: 'Succeeded', httpResponse: { statusCode: 200 } } }, phases: {} },
    ],
    [
      'one item of a list, in its place',
      { when: 'outputs.many.resourceRefs[2].name == "made-2"' },
      {
        outputs: { many: { phase: 'Succeeded', resourceRefs: [null, null, { name: 'made-2' }] } },
        phases: {},
      },
    ],
    [
      'a list that is gone through, and no other',
      { when: 'outputs.many.created.exists(r, r.name == "made-9")' },
      { outputs: { many: { phase: 'Succeeded', created: refs } }, phases: {} },
    ],
    [
      'phases of all where a condition goes through them',
      { when: "!phases.exists(n, phases[n] == 'Failed')" },
      {
        outputs: { many: { phase: 'Succeeded' }, asked: { phase: 'Succeeded' }, later: { phase: 'Pending' } },
        phases: { many: 'Succeeded', asked: 'Succeeded', later: 'Pending' },
      },
    ],
    [
      'what a condition reads of each',
      { when: 'outputs.exists(n, outputs[n].httpResponse.statusCode == 200)' },
      {
        outputs: {
          many: { phase: 'Succeeded', resourceRefs: null, created: null },
          asked: { phase: 'Succeeded', httpResponse: { statusCode: 200 } },
          later: { phase: 'Pending' },
        },
        phases: { many: 'Succeeded', asked: 'Succeeded', later: 'Pending' },
      },
    ],
  ])('%s', (_, more, views) => {
    expect(seen(http('reader', more))).toEqual(views);
  });

  it('not the action itself, except to its own rollback', () => {
    const action = http('asked', {
      when: 'phases.all(n, phases[n] == "Succeeded")',
      rollback: { type: 'HTTP', http: { url: 'https://x/{{ .outputs.asked.httpResponse.body }}' } },
    });
    expect(Object.keys(seen(action, STATUSES, 1).phases)).toEqual(['many', 'later']);
    expect(undoViewsOf(readsIn(action), STATUSES, 1)).toEqual({
      outputs: { asked: { phase: 'Succeeded', httpResponse: { body: 'yes' } } },
      phases: {},
    });
  });

  it('to an undo what the action itself goes by, and not what its condition asked for', () => {
    const action: Action = {
      name: 'x',
      type: 'KubernetesResource',
      when: 'outputs.many.phase == "Succeeded"',
      resource: {
        operation: 'Apply',
        manifest: 'metadata: {name: "{{ .outputs.asked.httpResponse.body }}"}',
      },
    };
    expect(undoViewsOf(readsIn(action), STATUSES, 2).outputs).toEqual({
      asked: { phase: 'Succeeded', httpResponse: { body: 'yes' } },
    });
  });

  it('to what an earlier release has begun all that it names', () => {
    expect(viewsOf({ uses: ['asked'] }, STATUSES, 0)).toEqual({
      outputs: { asked: { phase: 'Succeeded', ...asked.outputs } },
      phases: { asked: 'Succeeded' },
    });
    const rollback = { type: 'HTTP' as const, timeoutMs: 1, retry: {} as never };
    expect(Object.keys(undoViewsOf({ uses: ['asked'], rollback }, STATUSES, 0).outputs)).toEqual([
      'many',
      'asked',
    ]);
  });

  it('names of what is there where a placeholder names what is not', () => {
    const action = http('reader', { http: { url: '{{ .outputs.asked.httpResponse.stat }}' } });
    const scope = { params: {}, planName: '', executionName: '', operation: '' };
    const render = (): string =>
      renderString(action.http?.url ?? '', { ...scope, outputs: seen(action).outputs });
    expect(render).toThrow(RenderError);
    expect(render).toThrow('has no output "httpResponse.stat"; it has phase, httpResponse');
  });
});

describe('[F3] many actions', () => {
  const count = 2000;
  const names = Array.from({ length: count }, (_, index) => `action-${String(index).padStart(4, '0')}`);
  const action = (name: string): Action => http(name, { when: "!phases.exists(n, phases[n] == 'Failed')" });
  const snapshot = {
    plan: { namespace: 'ns', spec: { stages: [{ workflows: [{ workflowRef: { name: 'w' } }] }] } },
    workflows: { 'ns/w': { spec: { actions: names.map(action) } } },
  } as unknown as Snapshot;

  it('send their phases by position, in hardly more than a task without', () => {
    const statuses = names.map((name, index): ActionStatus => ({
      name,
      phase: index < 1200 ? 'Succeeded' : index === 1200 ? 'Running' : 'Pending',
    }));
    const carried = seen(action('action-1200'), statuses, 1200);
    expect(carried).toEqual({ outputs: {}, phases: {}, packedPhases: 'S1200RP799' });
    const at = { stage: 0, workflow: 0, action: 1200 };
    const { phases, outputs } = withNamedPhases({ at, ...carried }, snapshot);
    expect(phases).toEqual(
      Object.fromEntries(statuses.filter((_, index) => index !== 1200).map((one) => [one.name, one.phase])),
    );
    expect(outputs['action-0003']).toEqual({ phase: 'Succeeded' });
  });

  it('are not listed in each, so that a worker of an earlier release leaves them to one of this', () => {
    const actions = names.map(action);
    expect(outputsUsed(readsIn(actions[3]!), actions[3]!, actions)).toBeUndefined();
    expect(outputsUsed(readsIn(actions[3]!), actions[3]!, actions.slice(0, 4))).toEqual(names.slice(0, 3));
  });

  it('of a plan send the phases of stages likewise', () => {
    const stages = Array.from({ length: 200 }, (_, index) => ({
      name: `stage-${index}`,
      phase: 'Succeeded',
    }));
    const when = 'phases.all(n, phases[n] == "Succeeded")';
    expect(stageViewsOf({ when, whenReads: { every: [] } }, stages)).toEqual({
      phases: {},
      packedPhases: 'S200',
    });
    expect(stageViewsOf({ when, whenReads: { phases: ['stage-7'] } }, stages)).toEqual({
      phases: { 'stage-7': 'Succeeded' },
    });
    expect(stageViewsOf({}, stages)).toEqual({ phases: {} });
    expect(Object.keys(stageViewsOf({ when }, stages).phases)).toHaveLength(200);
  });
});

it('[F3] tells which actions of a batch another one reads', () => {
  const reader = readsIn(http('r', { when: 'phases.a == "Succeeded" && outputs.b.phase == "Failed"' }));
  expect(readsAny(reader, new Set(['a']))).toBe(true);
  expect(readsAny(reader, new Set(['b']))).toBe(true);
  expect(readsAny(reader, new Set(['c']))).toBe(false);
  const every = readsIn(http('r', { when: 'phases.exists(n, phases[n] == "Failed")' }));
  expect([readsAny(every, new Set(['c'])), readsAny(every, new Set())]).toEqual([true, false]);
  expect(readsAny({ uses: ['c'] }, new Set(['c']))).toBe(true);
});

describe('[F3] a condition says the same', () => {
  const field = fc.constantFrom('httpResponse', 'resourceRefs', 'resourceRef', 'created', 'nothing');
  const leaf = fc.constantFrom(
    '.statusCode == 200',
    '.body == "x"',
    '[0].name == "a"',
    '[1].uid != "b"',
    '.name == "c"',
  );
  const name = fc.constantFrom('a', 'b', 'c');
  const term = fc.oneof(
    name.map((one) => `outputs.${one}.phase == "Succeeded"`),
    name.map((one) => `phases["${one}"] != "Failed"`),
    name.map((one) => `"${one}" in outputs`),
    name.map((one) => `has(outputs.${one})`),
    fc.tuple(name, field).map(([one, of]) => `has(outputs.${one}.${of})`),
    fc.tuple(name, field).map(([one, of]) => `size(outputs.${one}.${of}) > 1`),
    fc.tuple(name, field, leaf).map(([one, of, end]) => `outputs.${one}.${of}${end}`),
    fc.tuple(name, field).map(([one, of]) => `outputs["${one}"]["${of}"].exists(r, r.name == "a")`),
    fc.tuple(field, leaf).map(([of, end]) => `outputs.exists(n, outputs[n].${of}${end})`),
    fc.constantFrom(
      'phases.all(n, phases[n] == "Succeeded")',
      'outputs.exists(n, outputs[n].phase == "Failed")',
      'size(outputs) == 3',
      'outputs.all(n, n in phases)',
      'outputs.exists(n, "httpResponse" in outputs[n])',
      'outputs[phases.a == "Failed" ? "a" : "b"].phase == "Succeeded"',
      'outputs.a == outputs.b',
    ),
  );
  const condition = fc
    .array(fc.tuple(term, fc.constantFrom(' && ', ' || ')), { minLength: 1, maxLength: 4 })
    .map((terms) => terms.map(([text, join], index) => (index === 0 ? text : join + text)).join(''));
  const object = fc.record({ name: fc.constantFrom('a', 'b'), uid: fc.constantFrom('b', 'u') });
  const outputs = fc.option(
    fc.record(
      {
        httpResponse: fc.record({ statusCode: fc.constantFrom(200, 500), body: fc.constantFrom('x', '') }),
        resourceRef: object,
        resourceRefs: fc.array(object, { maxLength: 3 }),
        created: fc.array(object, { maxLength: 3 }),
      },
      { requiredKeys: [] },
    ),
    { nil: undefined },
  );
  const status = fc.record({
    phase: fc.constantFrom('Pending', 'Running', 'Succeeded', 'Failed', 'Skipped'),
    outputs,
  });
  const scope = { params: {}, runMode: 'Planned', operation: 'Execute' };

  it('over what it reads as over everything', () => {
    fc.assert(
      fc.property(condition, fc.array(status, { minLength: 3, maxLength: 3 }), (when, found) => {
        const statuses = found.map((one, index): ActionStatus => {
          const { phase, outputs: put } = one;
          return { name: 'abc'[index] ?? '', phase, ...(put && { outputs: put }) };
        });
        const carried = JSON.parse(JSON.stringify(seen(http('r', { when }), statuses))) as ReturnType<
          typeof seen
        >;
        const all = viewsOf({ uses: ['a', 'b', 'c'] }, statuses, -1);
        const [part, whole] = [carried, all].map((views) => evaluateWhen(when, { ...scope, ...views }));
        if ('value' in whole!) expect(part, when).toEqual(whole);
        else expect(part, when).toHaveProperty('error');
      }),
      { numRuns: 1000 },
    );
  });
});
