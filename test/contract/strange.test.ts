/** Strange input: let in and run, or refused with a message that says what is wrong; never more than that. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { API_VERSION } from '../../api/core/group.js';
import type { Kind } from '../../api/core/group.js';
import { checkObjects } from '../../client/cli/plan/manifests/check.js';
import { pickObjects } from '../../client/cli/plan/manifests/objects.js';
import { parseManifests } from '../../client/cli/plan/manifests/parse.js';
import { NO_SURROUNDINGS } from '../../client/cli/plan/manifests/surroundings.js';
import { ask } from '../admission/asking.js';
import type { Action } from '../../api/plan/types.js';
import { servers } from '../support/servers.js';
import { openStack, unique } from '../support/stack.js';
import type { Stack } from '../support/stack.js';

let stack: Stack;
beforeAll(async () => {
  stack = await openStack('strange');
});
afterAll(() => stack.close());

const manifest = (text: string): Action => ({
  name: 'write',
  type: 'KubernetesResource',
  resource: { manifest: text },
});
const head = 'apiVersion: v1\nkind: ConfigMap\n';
/** Each anchor holds nine of the one before it. */
const bomb = Array.from(
  { length: 12 },
  (_, n) =>
    `l${n}: &l${n} [${Array(9)
      .fill(n === 0 ? 'x' : `*l${n - 1}`)
      .join(', ')}]`,
).join('\n');

/** What \`drover validate\` says about the same object in a file. */
function offline(kind: Kind, name: string, spec: unknown): string {
  const text = JSON.stringify({ apiVersion: API_VERSION, kind, metadata: { name }, spec });
  const { objects, faults } = parseManifests({ file: 'object.json', text });
  const { objects: picked } = pickObjects(objects, 'default');
  const problems = checkObjects(picked, NO_SURROUNDINGS).flatMap((object) => object.problems);
  return [...faults, ...problems.filter(({ severity }) => severity === 'error')]
    .map(({ message, ...place }) => `${'path' in place ? String(place.path) : ''}: ${message}`)
    .join('; ');
}

it.each<[string, () => string, RegExp]>([
  ['a bomb of aliases', () => `${head}metadata: {name: a}\ndata:\n  a: b\n${bomb}\n`, /alias/i],
  [
    'an alias of itself',
    () => `${head}metadata: &m\n  name: a\n  again: *m\n`,
    /line 5, column 10: alias \*m stands inside what &m names/,
  ],
  [
    'an alias of itself in a merge',
    () => `${head}metadata: &m\n  name: a\n  <<: *m\n`,
    /line 5, column 7: alias \*m stands inside/,
  ],
  [
    'a key that stands twice',
    () => `${head}metadata: {name: a}\ndata:\n  k: one\n  k: two\n`,
    /unique|twice|duplicate/i,
  ],
  [
    'three hundred levels',
    () => `${head}metadata: {name: a}\ndata: ${'['.repeat(300)}${']'.repeat(300)}\n`,
    /line 4, column 106: is nested more than 100 levels deep/,
  ],
  [
    'levels that aliases make',
    () =>
      `${head}metadata: {name: a}\na: &a ${'['.repeat(60)}x${']'.repeat(60)}\ndata: ${'['.repeat(60)}*a${']'.repeat(60)}\n`,
    /is nested more than 100 levels deep/,
  ],
  ['NUL in it', () => `${head}metadata: {name: "a\u0000b"}\n`, /./],
  [
    'a name of 10,000 characters',
    () => `${head}metadata: {name: ${'n'.repeat(10_000)}}\n`,
    /metadata\.name .* has 10000 characters, and at most 253/,
  ],
  [
    'a name that is too long without its placeholder',
    () => `${head}metadata: {name: "${'n'.repeat(300)}{{ .planName }}"}\n`,
    /metadata\.name .* has 300 characters beside its placeholders, and at most 253/,
  ],
  [
    'a namespace of 10,000 characters',
    () => `${head}metadata: {name: a, namespace: ${'n'.repeat(10_000)}}\n`,
    /metadata\.namespace .* at most 63/,
  ],
  [
    'a name that leads elsewhere',
    () => `${head}metadata: {name: ../../secrets/x}\n`,
    /metadata\.name .*"\/"/,
  ],
  ['a tag that makes code', () => `${head}metadata: {name: a}\ndata: !!js/function 'x'\n`, /tag/i],
  ['no object', () => '---\n---\n', /manifest/],
])('a manifest with %s is refused [SEC11] [S6.17]', async (_, text, message) => {
  const spec = { actions: [manifest(text())] };
  const asked = await ask(stack.namespace, 'DRWorkflow', 'bad', spec, { dryRun: true });
  expect(asked.message).toMatch(/spec\.actions\[0\]\.resource\.manifest/);
  expect(asked.message).toMatch(message);
  expect(asked.message.length).toBeLessThan(4000);
  expect(asked.status).toBe(422);
  expect(offline('DRWorkflow', 'bad', spec)).toMatch(message);
});

it.each<[string, (text: string) => Action]>([
  [
    'the value of an override',
    (value) => ({
      name: 'a',
      type: 'Localization',
      localization: {
        name: 'l',
        namespace: 'cluster-a',
        feed: { apiVersion: 'v1', kind: 'ConfigMap', name: 'c' },
        overrides: [{ name: 'o', type: 'MergePatch', value }],
      },
    }),
  ],
  [
    'the value of an override of all clusters',
    (value) => ({
      name: 'a',
      type: 'Globalization',
      globalization: {
        name: 'g',
        spec: {
          feed: { apiVersion: 'v1', kind: 'ConfigMap', name: 'c' },
          overrides: [{ name: 'o', type: 'MergePatch', value }],
        },
      },
    }),
  ],
  [
    'the manifest of a rollback',
    (text) => ({ ...manifest(`${head}metadata: {name: a}\n`), rollback: { resource: { manifest: text } } }),
  ],
])('%s is read within the same bounds [S6.17]', async (_, action) => {
  for (const [text, message] of [
    ['a: &a\n  b: *a\n', /line 2, column 6: alias \*a stands inside/],
    [`a: ${'['.repeat(300)}${']'.repeat(300)}`, /nested more than 100 levels deep/],
    ['a: 1\na: 2\n', /stands twice/],
  ] as const) {
    const spec = { actions: [action(text)] };
    const asked = await ask(stack.namespace, 'DRWorkflow', 'bad', spec, { dryRun: true });
    expect(asked.message).toMatch(message);
    expect(asked.status).toBe(422);
    expect(offline('DRWorkflow', 'bad', spec)).toMatch(message);
  }
});

it('a parameter of three hundred levels is refused, in every list of parameters [S6.17]', async () => {
  const deep: unknown = JSON.parse(`${'['.repeat(300)}${']'.repeat(300)}`);
  const specs: [Kind, unknown][] = [
    [
      'DRWorkflow',
      { parameters: [{ name: 'p', default: deep }], actions: [manifest(`${head}metadata: {name: a}`)] },
    ],
    [
      'DRPlan',
      {
        stages: [{ name: 's', workflows: [{ workflowRef: { name: 'w' } }] }],
        globalParams: [{ name: 'p', value: deep }],
      },
    ],
    [
      'DRPlan',
      {
        stages: [
          { name: 's', workflows: [{ workflowRef: { name: 'w' }, params: [{ name: 'p', value: deep }] }] },
        ],
      },
    ],
    ['DRPlanExecution', { planRef: 'p', operationType: 'Execute', params: [{ name: 'p', value: deep }] }],
  ];
  for (const [kind, spec] of specs) {
    const asked = await ask(stack.namespace, kind, 'deep', spec, { dryRun: true });
    expect(asked.message).toMatch(/nested more than 64 levels deep/);
    expect(asked.status).toBe(422);
    expect(offline(kind, 'deep', spec)).toMatch(/nested more than 100 levels deep/);
  }
});

it.each<[string, 'DRWorkflow' | 'DRPlan' | 'DRPlanExecution', unknown, RegExp]>([
  [
    'an action',
    'DRWorkflow',
    { actions: [{ name: 'n'.repeat(10_000), type: 'HTTP', http: { url: 'http://x/' } }] },
    /actions\[0\]\.name/,
  ],
  [
    'a stage',
    'DRPlan',
    { stages: [{ name: 'n'.repeat(10_000), workflows: [{ workflowRef: { name: 'w' } }] }] },
    /stages\[0\]\.name/,
  ],
  ['a plan', 'DRPlanExecution', { planRef: 'n'.repeat(10_000), operationType: 'Execute' }, /planRef/],
])('a name of 10,000 characters of %s is refused [SEC11] [S6.17]', async (_, kind, spec, message) => {
  const asked = await ask(stack.namespace, kind, unique('long'), spec, { dryRun: true });
  expect(asked.message).toMatch(message);
  expect(asked.status).toBe(422);
});

it('a body of a hundred thousand brackets, and one that is no JSON, bring nothing down [SEC11] [S6.17]', async () => {
  const deep: unknown = JSON.parse(`${'['.repeat(2000)}${']'.repeat(2000)}`);
  const asked = await ask(
    stack.namespace,
    'DRWorkflow',
    unique('deep'),
    { actions: [{ name: 'a', type: 'Job', job: { template: { spec: deep } } }] },
    { dryRun: true },
  );
  expect([400, 422]).toContain(asked.status);
  expect(asked.message).not.toMatch(/failed calling webhook/);
});

it('parameters of a megabyte are let in, and of what the API server does not take the reason is told [S6.17]', async () => {
  const stage = { name: 's', workflows: [{ workflowRef: { name: 'w' } }] };
  const plan = (bytes: number): object => ({
    stages: [stage],
    globalParams: Array.from({ length: 10 }, (_, n) => ({ name: `p${n}`, value: '漢'.repeat(bytes / 30) })),
  });
  const megabyte = await ask(stack.namespace, 'DRPlan', 'large', plan(1024 * 1024));
  expect(megabyte).toMatchObject({ message: '', status: 201 });
  const four = await ask(stack.namespace, 'DRPlan', 'larger', plan(4 * 1024 * 1024));
  expect(four.message).toMatch(/too large/i);
  expect([413, 500]).toContain(four.status);
});

it(
  'line ends of Windows, a byte order mark and emoji are let in, and arrive [S6.17]',
  { timeout: 60_000 },
  async () => {
    await stack.simplePlan(
      'strange',
      [
        {
          ...manifest(`\ufeff${head}metadata: {name: with-bom}\ndata: {"k🙂": "no"}\n`.replace('"k🙂"', 'k')),
          name: 'bom',
        },
        {
          ...manifest(`${head}metadata: {name: with-crlf}\ndata:\n  k: v\n`.replaceAll('\n', '\r\n')),
          name: 'crlf',
        },
        {
          ...manifest(`${head}metadata: {name: with-emoji}\ndata:\n  k: "🙂 é 漢字 {{ .params.v }}"\n`),
          name: 'emoji',
        },
      ],
      { workflow: { parameters: [{ name: 'v', default: '🚨‍👩🏽' }] } },
    );
    const ended = await stack.ended(await stack.execute('strange'), 45_000);
    expect(ended.status?.message).toBe('1 stage completed');
    const data = async (name: string) =>
      (
        await stack.kube.get<{ data?: object }>({
          apiVersion: 'v1',
          kind: 'ConfigMap',
          namespace: stack.namespace,
          name,
        })
      )?.data;
    expect(await data('with-bom')).toEqual({ k: 'no' });
    expect(await data('with-crlf')).toEqual({ k: 'v' });
    expect(await data('with-emoji')).toEqual({ k: '🙂 é 漢字 🚨‍👩🏽' });
  },
);

it('the bridge has lived through all of it [SEC11] [S6.17]', async () => {
  const page = await (await fetch(servers.endpoints.metrics.bridge ?? '')).text();
  const rss = Number(/^process_resident_memory_bytes (\S+)$/m.exec(page)?.[1]);
  expect(rss).toBeGreaterThan(0);
  expect(rss).toBeLessThan(1024 ** 3);
});
