/**
 * Objects put together at random from good and bad parts: none brings admission down, and none that is let in turns out
 * to be Invalid; and what the data model allows is let in by the definitions too. A sample: test/fuzz looks at thousands,
 * without servers. More cases with DROVER_FUZZ_CASES, another beginning with DROVER_FUZZ_SEED.
 */
import fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { API_VERSION } from '../../api/core/group.js';
import type { Kind } from '../../api/core/group.js';
import type { DRPlan, DRWorkflow } from '../../api/plan/types.js';
import { condition, http, openStack, poll, unique } from '../support/stack.js';
import type { Stack } from '../support/stack.js';
import { diceOf } from '../fuzz/dice.js';
import { legalStory } from '../fuzz/model.js';
import { ask } from './asking.js';

const numRuns = Number(process.env.DROVER_FUZZ_CASES ?? 150);
const seed = Number(process.env.DROVER_FUZZ_SEED ?? 20);

let stack: Stack;
beforeAll(async () => {
  stack = await openStack('fuzz');
  await stack.workflow('plain', { actions: [http('a', 'http://x/')] });
  await stack.workflow('site', {
    parameters: [
      { name: 'site', required: true },
      { name: 'count', type: 'number', default: 1 },
    ],
    actions: [http('a', 'http://x/{{ .params.site }}/{{ .params.count }}')],
  });
  await stack.workflow('open', { actions: [http('a', 'http://x/{{ .params.site }}')] });
});
afterAll(() => stack.close());

/** Any JSON now and then. */
const rarely = <T>(usual: fc.Arbitrary<T>): fc.Arbitrary<unknown> =>
  fc.oneof({ weight: 40, arbitrary: usual }, { weight: 1, arbitrary: fc.jsonValue({ maxDepth: 2 }) });
/** A good value, and a bad one now and then: an object of many fields has to have a chance. */
const mostly = (good: readonly unknown[], bad: readonly unknown[]): fc.Arbitrary<unknown> =>
  fc.oneof(
    { weight: 25, arbitrary: fc.constantFrom(...good) },
    { weight: 1, arbitrary: fc.constantFrom(...bad) },
  );
const name = mostly(['a', 'b', 'c-d', 'e', 'f', 'g', 'h'], ['x_y', 'A B', '', '🙂', 'n'.repeat(300)]);
const text = mostly(
  [
    'http://x/',
    'http://x/{{ .params.site }}',
    'http://x/{{ .params.site | default "3" }}',
    '{{ .Values.helm }}',
  ],
  [
    '{{ .params.nobody }}',
    '{{ .outputs.a.phase }}',
    '{{ .outputs.zz.phase }}',
    '$(params.site)',
    'x\u0000\r\n\ufeff',
  ],
);
const manifest = mostly(
  ['apiVersion: v1\nkind: ConfigMap\nmetadata: {name: "{{ .params.site }}"}', '{{ .params.site }}: 1\n'],
  ['a: &x [*x]', 'kind: {', 'kind: A\nkind: B', '\u0000', '---\n---\n'],
);
const whenText = mostly(
  ['true', 'params.site == "b"', 'mode == "install"'],
  ['outputs.a.phase == "Succeeded"', "{{ .outputs.a.phase == 'Succeeded' }}", '1 + "a"', 'outputs.'],
);
const duration = mostly(['5m', '1h30m', '500ms'], ['0s', '-1s', '9999999h', 'soon']);
const optional = <T>(value: fc.Arbitrary<T>): fc.Arbitrary<unknown> =>
  fc.option(rarely(value), { nil: undefined, freq: 3 });
const retryPolicy = fc.record({
  limit: optional(mostly([0, 1, 5], [-1, 1.5, 1e9])),
  interval: optional(duration),
  backoffMultiplier: optional(mostly(['2.0', 2, 1.5], [0, 'x'])),
});
const bodies = {
  http: fc.record({
    url: rarely(text),
    method: optional(mostly(['GET', 'POST'], ['EAT'])),
    body: optional(text),
  }),
  resource: fc.record({
    operation: optional(mostly(['Create', 'Apply', 'Delete'], ['Patch', 'Eat'])),
    manifest: rarely(manifest),
  }),
  job: fc.record({
    namespace: optional(text),
    template: rarely(
      fc.constant({
        spec: { template: { spec: { restartPolicy: 'Never', containers: [{ name: 'm', image: 'i' }] } } },
      }),
    ),
  }),
};
const block = fc.oneof(
  { weight: 8, arbitrary: fc.record({ type: fc.constant('HTTP'), http: rarely(bodies.http) }) },
  {
    weight: 8,
    arbitrary: fc.record({ type: fc.constant('KubernetesResource'), resource: rarely(bodies.resource) }),
  },
  { weight: 8, arbitrary: fc.record({ type: fc.constant('Job'), job: rarely(bodies.job) }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constantFrom('Magic', 'Localization', 'Subscription') }) },
);
const action = fc
  .tuple(
    fc.record({
      name: rarely(name),
      timeout: optional(duration),
      retryPolicy: optional(retryPolicy),
      dependsOn: optional(fc.array(mostly(['a', 'b'], ['zz', '']), { maxLength: 1 })),
      when: optional(whenText),
      rollback: optional(block),
    }),
    block,
  )
  .map(([common, own]) => ({ ...common, ...own }));
const value = mostly(['b', 'c', '', '2', 'v'.repeat(2000)], [1, true, { a: 1 }]);
const parameter = fc.record({
  name: rarely(mostly(['site', 'count'], ['a b', ''])),
  type: optional(mostly(['string'], ['number', 'boolean', 'date'])),
  default: optional(value),
  required: optional(fc.boolean()),
});
const workflowSpec = fc.record({
  parameters: optional(fc.array(parameter, { maxLength: 2 })),
  actions: rarely(fc.array(rarely(action), { minLength: 1, maxLength: 3 })),
  failurePolicy: optional(mostly(['FailFast', 'Continue'], ['Never'])),
});
const given = fc.array(
  fc.record({ name: rarely(mostly(['site'], ['count', 'odd'])), value: optional(value) }),
  {
    maxLength: 2,
  },
);
const stage = fc.record({
  name: rarely(name),
  workflows: rarely(
    fc.array(
      fc.record({
        workflowRef: rarely(fc.record({ name: mostly(['plain', 'site', 'nowhere'], ['open', '']) })),
        params: optional(given),
      }),
      { minLength: 1, maxLength: 2 },
    ),
  ),
  dependsOn: optional(fc.array(mostly(['a', 'b'], ['zz', '']), { maxLength: 1 })),
  parallel: optional(fc.boolean()),
  when: optional(whenText),
});
const planSpec = fc.record({
  stages: rarely(fc.array(rarely(stage), { minLength: 1, maxLength: 3 })),
  globalParams: optional(given),
  failurePolicy: optional(mostly(['Stop', 'Continue'], ['Never'])),
});

/** Lets nothing in that the bridge then calls Invalid, but for what may still come. */
async function holds(kind: Kind, spec: unknown, excused: readonly string[]): Promise<'in' | 'out'> {
  const id = unique('f');
  const asked = await ask(stack.namespace, kind, id, spec);
  if (asked.status !== 201) {
    expect([400, 422]).toContain(asked.status);
    expect(asked.message).not.toMatch(/failed calling webhook|no response within/);
    return 'out';
  }
  const key = { apiVersion: API_VERSION, kind, namespace: stack.namespace, name: id };
  const object = await poll(
    async () =>
      (await stack.kube.get<DRPlan | DRWorkflow>(key)) ?? ({ metadata: { name: id } } as DRWorkflow),
    ({ status }) => status?.phase !== undefined,
  );
  const ready = condition(object, 'Ready');
  if (!excused.includes(ready?.reason ?? '')) expect({ spec, ...ready }).toMatchObject({ status: 'True' });
  return 'in';
}

it(`${numRuns} objects`, { tags: ['nightly'], timeout: 120_000 + numRuns * 200 }, async () => {
  const count = { in: 0, out: 0 };
  await fc.assert(
    fc.asyncProperty(
      fc.oneof(
        workflowSpec.map((spec) => ['DRWorkflow', spec] as const),
        planSpec.map((spec) => ['DRPlan', spec] as const),
      ),
      async ([kind, spec]) => {
        count[await holds(kind, spec, ['WorkflowNotFound', 'UndeclaredParameter'])] += 1;
      },
    ),
    { numRuns, seed },
  );
  // Both happen often enough for this to say something.
  expect(count.in).toBeGreaterThan(numRuns / 20);
  expect(count.out).toBeGreaterThan(numRuns / 20);
});

it(
  'stories that the data model allows are let in whole [S6.17]',
  { tags: ['nightly'], timeout: 300_000 },
  async () => {
    await fc.assert(
      fc.asyncProperty(fc.gen(), async (g) => {
        const story = legalStory(diceOf(g));
        // Each in names of its own: the plans of one are not to meet the workflows of another.
        const suffix = unique('s');
        const text = JSON.stringify(story)
          .replaceAll(/"name":"(w\d|outer)"/g, `"name":"$1-${suffix}"`)
          .replaceAll('"namespace":"ns"', `"namespace":"${stack.namespace}"`)
          .replaceAll('"namespace":"other"', `"namespace":"${stack.namespace}"`);
        const { workflows, plans, acts } = JSON.parse(
          text.replaceAll('"plan":{"name":"q"}', `"plan":{"name":"q-${suffix}"}`),
        ) as typeof story;
        for (const { name: id, spec } of workflows) {
          expect(await ask(stack.namespace, 'DRWorkflow', id, spec)).toMatchObject({
            message: '',
            status: 201,
          });
        }
        for (const { name: id, spec } of plans) {
          expect(await ask(stack.namespace, 'DRPlan', `${id}-${suffix}`, spec)).toMatchObject({
            message: '',
            status: 201,
          });
        }
        const run = { ...(acts[0]?.spec as object), planRef: `p-${suffix}` };
        // A dry run: what these plans do is not meant to be done.
        const asked = await ask(stack.namespace, 'DRPlanExecution', `e-${suffix}`, run, { dryRun: true });
        expect(asked).toMatchObject({ message: '', status: 201 });
      }),
      { numRuns: 40, seed, endOnFailure: true },
    );
  },
);
