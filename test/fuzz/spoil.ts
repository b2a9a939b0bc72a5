/** Makes good stories bad, or odd: here and there a value, a member or an entry becomes another. */
import type { Dice } from './dice.js';
import type { Story } from './model.js';

const head = 'apiVersion: v1\nkind: ConfigMap\nmetadata: ';
/** Values that someone, or some program, may write anywhere. */
const ODD: readonly unknown[] = [
  null,
  '',
  ' ',
  0,
  -1,
  1.5,
  1e300,
  true,
  [],
  {},
  [[]],
  { a: 1 },
  '__proto__',
  'constructor',
  'n'.repeat(10_000),
  '🙂',
  '\ufeffx\r\n',
  'a\u0000b',
  '\ud800',
  '{{ .params.nobody }}',
  '{{ .params.site }}',
  '$(params.x)',
  '{{ .outputs.step1.phase }}',
  '{{ .outputs.nobody.phase }}',
  '{{ .params. }}',
  '{{ .params.x | default "3" }}',
  '{{ .mode }}',
  'Execute',
  'Revert',
  'Patch',
  'Approval',
  'Wait',
  'Plan',
  'Notify',
  'HTTP',
  'Magic',
  '0s',
  '-5m',
  '9999999h',
  'soon',
  'p',
  'e',
  'w0',
  'w9',
  'ns',
  'params.x == "b"',
  'outputs.step1.phase == "Succeeded"',
  '('.repeat(3000),
  '1 + "a"',
  'http://[::1/',
  'http://{{ .params.site }}',
  'a: &a [*a]',
  `${head}&m {name: a, again: *m}`,
  `${head}{name: a}\ndata: ${'['.repeat(300)}${']'.repeat(300)}`,
  `${head}{name: "{{ .params.site }}"}`,
  `${head}{name: a}\n---\n${head}{name: a}\n`,
  `${head}{name: ${'n'.repeat(300)}}`,
  'a: 1\na: 2',
  '[{"op": "eat"}]',
];
/** Members that stand in some object of the kinds. */
const MEMBERS = [
  'name',
  'type',
  'when',
  'dependsOn',
  'rollback',
  'operation',
  'params',
  'spec',
  'value',
  'default',
  'required',
  'target',
  'hookType',
  'hookCleanup',
  'clusterExecutionMode',
  'waitReady',
  'mode',
  'force',
  'rerun',
  'revertExecutionRef',
  'failurePolicy',
  'onFailure',
  'maxConcurrentStages',
  'serviceAccountName',
  'startDeadlineSeconds',
  'totalTimeout',
  'unknown',
] as const;
/** Whole actions of types that the data model does not have. */
const ADDED: readonly unknown[] = [
  { name: 'ask', type: 'Approval', approval: { message: 'go on?' } },
  { name: 'pause', type: 'Wait', wait: { duration: '5s' } },
  {
    name: 'look',
    type: 'Wait',
    wait: {
      for: { apiVersion: 'v1', kind: 'Pod', name: 'x' },
      condition: 'object.status.phase == "Running"',
    },
  },
  { name: 'sub', type: 'Plan', plan: { name: 'p' } },
  { name: 'say', type: 'Notify', notify: { type: 'Webhook', url: 'https://x.example/' } },
  {
    name: 'all',
    type: 'Globalization',
    globalization: { name: 'g', spec: { feed: { apiVersion: 'v1', kind: 'X', name: 'x' } } },
  },
  {
    name: 'chart',
    type: 'HelmChart',
    helmChart: { name: 'c', namespace: 'ns', spec: { repo: 'https://x/', chart: 'c', targetNamespace: 'x' } },
  },
];

interface Place {
  parent: Record<string, unknown> | unknown[];
  key: string | number;
}

/** All places of a value, from the outside in. */
function placesOf(value: unknown): Place[] {
  const places: Place[] = [];
  const open: unknown[] = [value];
  for (let next = open.shift(); next !== undefined; next = open.shift()) {
    if (typeof next !== 'object' || next === null) continue;
    const parent = next as Place['parent'];
    for (const key of Array.isArray(parent) ? parent.keys() : Object.keys(parent)) {
      places.push({ parent, key });
      open.push((parent as Record<string | number, unknown>)[key]);
    }
  }
  return places;
}

/** A copy of the story with a few things changed. */
export function spoil(dice: Dice, story: Story): Story {
  const copy = JSON.parse(JSON.stringify(story)) as Story;
  const objects = [...copy.workflows, ...copy.plans, ...copy.acts];
  for (let left = dice.int(1, 3); left > 0; left -= 1) change(dice, dice.one(objects));
  return copy;
}

function change(dice: Dice, object: { spec: unknown }): void {
  const places = placesOf({ spec: object.spec });
  const { parent, key } = dice.one(places);
  const at = parent as Record<string | number, unknown>;
  const here = places.length === 1 ? object : at;
  const name = places.length === 1 ? 'spec' : key;
  const target = here as Record<string | number, unknown>;
  switch (dice.int(0, 6)) {
    case 0:
      if (Array.isArray(parent)) parent.splice(Number(key), 1);
      else Reflect.deleteProperty(target, name);
      return;
    case 1:
    case 2:
      target[name] = dice.one(ODD);
      return;
    case 3:
      if (Array.isArray(parent)) parent.push(structuredClone(parent[Number(key)]));
      else target[dice.one(MEMBERS)] = dice.one(ODD);
      return;
    case 4: {
      // Something that stands elsewhere.
      const other = dice.one(places);
      target[name] = structuredClone((other.parent as Record<string | number, unknown>)[other.key]);
      return;
    }
    case 5:
      if (Array.isArray(parent)) parent.splice(Number(key), 0, structuredClone(dice.one([...ADDED, ...ODD])));
      else target[name] = dice.one(ODD);
      return;
    default: {
      const text = target[name];
      target[name] =
        typeof text === 'string'
          ? `${text}${String(dice.one(['\n', ' ', '{{', '🙂', '-', 'x'.repeat(300)]))}`
          : dice.one(ODD);
    }
  }
}
