/**
 * What the data model allows, written down from its tables and validation rules alone: nothing of the checks that are
 * under test is used here. Every story that this makes is to be let in, to run, and to be undone.
 */
import type { Act } from './acts.js';
import { legalActs } from './acts.js';
import type { Fields, Json } from './fields.js';
import type { Dice } from './dice.js';

/** Objects that are created one after the other, and what somebody does with them. */
export interface Story {
  workflows: { name: string; namespace: string; spec: unknown }[];
  /** Plans that the plan may run as a part of itself, and the plan, in this order. */
  plans: { name: string; spec: unknown }[];
  /** Executions of the plan, and reverts of them. */
  acts: Act[];
}

interface Parameter {
  name: string;
  type: 'string' | 'number' | 'boolean' | undefined;
  required: boolean;
  hasDefault: boolean;
}

const NAMES = ['drain', 'promote-db', 'switch_dns', 'step1', 'A', '9lives', 'verify', 'notify-users'];
const PARAMETERS = ['site', 'replicas', 'dry_run', 'db-host', 'x', 'Region2'];
const DURATIONS = ['5m', '30s', '1h30m', '500ms', '90s', '1h0m0s', '1.5h'];
const TEXTS = [
  'b',
  'shanghai-2',
  'db.example.com',
  '漢字',
  'a b',
  '🙂',
  "it's",
  'x: y',
  '#',
  '- a',
  'null',
  '0',
];

/** Undefined members are left out, as in JSON. */
const defined = (fields: Record<string, Json | undefined>): Fields =>
  Object.fromEntries(
    Object.entries(fields).filter((entry): entry is [string, Json] => entry[1] !== undefined),
  );

/** Draws from a list without putting back. */
function distinct(dice: Dice, from: readonly string[], min: number, max: number): string[] {
  const left = [...from];
  return dice.list(min, Math.min(max, left.length), () => {
    const [taken] = left.splice(dice.int(0, left.length - 1), 1);
    return taken ?? '';
  });
}

/** A value of a type, as it is written: text in the first generation, scalars later. */
function valueOf(dice: Dice, type: Parameter['type']): Json {
  switch (type) {
    case 'number': {
      const number = dice.one([0, 3, -1, 1.5, 8080]);
      return dice.chance(70) ? String(number) : number;
    }
    case 'boolean': {
      const boolean = dice.chance(50);
      return dice.chance(70) ? String(boolean) : boolean;
    }
    default:
      return dice.one(TEXTS);
  }
}

/** A workflow and what plans have to know of it. */
interface Made {
  name: string;
  namespace: string;
  parameters: Parameter[];
  spec: Fields;
}

/** Writes the texts of one action: placeholders of what is there at this point, and nothing else. */
class Writer {
  readonly dice: Dice;
  readonly parameters: readonly Parameter[];
  /** Actions that are known to come before. */
  readonly before: readonly string[];

  constructor(dice: Dice, parameters: readonly Parameter[], before: readonly string[]) {
    this.dice = dice;
    this.parameters = parameters;
    this.before = before;
  }

  placeholder(): string {
    const { dice } = this;
    const choices = [
      ...this.parameters.map(({ name }) => `params.${name}`),
      ...this.before.map((name) => `outputs.${name}.phase`),
      'planName',
      'executionName',
    ];
    const what = dice.one(choices);
    return dice.one([`{{ .${what} }}`, `{{.${what}}}`, `$(${what})`]);
  }

  text(): string {
    const { dice } = this;
    return dice
      .list(1, 3, () =>
        dice.chance(50) ? this.placeholder() : dice.one([...TEXTS, '{{ .Values.x }}', '$HOME', '$(date)']),
      )
      .join(dice.one(['', ' ', '-']));
  }

  /** Only parameters that are text make names; the actions of a story never run. */
  name(): string {
    const texts = this.parameters.filter(({ type }) => type === undefined || type === 'string');
    const { dice } = this;
    if (texts.length === 0 || dice.chance(50)) return dice.one(['web', 'web-config', 'a.b', 'x1']);
    return `${dice.one(['', 'web-'])}{{ .params.${dice.one(texts).name} }}`;
  }

  namespace(): string {
    return this.dice.one(['default', 'cluster-a', 'n1']);
  }
}

function http(writer: Writer): Fields {
  const { dice } = writer;
  const base = dice.one(['https://gslb.example.com', 'http://10.0.0.1:8080', 'HTTPS://x/']);
  return defined({
    url: `${base}/${dice.chance(50) ? writer.placeholder() : 'v1/switch'}${dice.chance(30) ? `?a=${writer.placeholder()}` : ''}`,
    ...dice.some<Record<string, Json>>(50, {
      method: () => dice.one(['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD']),
      headers: () =>
        Object.fromEntries(
          distinct(dice, ['Content-Type', 'X-Site', 'Authorization'], 0, 3).map((name) => [
            name,
            // What HTTP can carry.
            name === 'Content-Type' ? 'text/plain' : `v1 ${writer.placeholder()}`,
          ]),
        ),
      body: () =>
        dice.one([writer.text(), `{"site": "${writer.placeholder()}"}`, '', '{"a": [1, {"b": null}]}']),
      successCodes: () => dice.list(0, 3, () => dice.one([200, 201, 404, 302])),
      insecureSkipVerify: () => dice.chance(50),
    }),
  });
}

function job(writer: Writer): Fields {
  const { dice } = writer;
  const container = defined({
    name: 'main',
    image: dice.one(['busybox', 'registry.example/x:1', `img:${writer.placeholder()}`]),
    ...dice.some<Record<string, Json>>(50, {
      command: () => ['sh', '-c', `echo ${writer.text()} $(hostname)`],
      args: () => dice.list(0, 2, () => writer.text()),
      env: () => dice.list(0, 2, (n) => ({ name: `E${n}`, value: writer.text() })),
    }),
  });
  return defined({
    template: defined({
      ...dice.some<Record<string, Json>>(60, { metadata: () => ({ labels: { app: 'x' }, annotations: {} }) }),
      spec: defined({
        ...dice.some<Record<string, Json>>(50, {
          backoffLimit: () => dice.int(0, 6),
          activeDeadlineSeconds: () => 60,
        }),
        template: { spec: { restartPolicy: dice.one(['Never', 'OnFailure']), containers: [container] } },
      }),
    }),
    ...dice.some<Record<string, Json>>(50, {
      namespace: () => writer.namespace(),
      ttlSecondsAfterFinished: () => dice.one([0, 60, 86400]),
    }),
  });
}

const feed = (dice: Dice): Fields =>
  defined({
    apiVersion: dice.one(['apps/v1', 'v1']),
    kind: dice.one(['Deployment', 'ConfigMap']),
    name: 'web',
    ...dice.some<Record<string, Json>>(50, { namespace: () => 'default' }),
  });

function override(writer: Writer, index: number): Fields {
  const { dice } = writer;
  const type = dice.one(['JSONPatch', 'MergePatch', 'Helm']);
  const values: Record<string, string[]> = {
    JSONPatch: [
      '- op: replace\n  path: /spec/replicas\n  value: 3\n',
      '[{"op":"add","path":"/metadata/labels/a","value":"b"}]',
      `- {op: replace, path: /spec/x, value: "${writer.placeholder()}"}`,
    ],
    MergePatch: [
      'spec:\n  replicas: 2\n',
      '{"spec":{"replicas":0}}',
      `spec: {site: "${writer.placeholder()}"}`,
    ],
    Helm: ['replicaCount: 3\n', '{"image": {"tag": "1"}}'],
  };
  return defined({
    name: `o${index}`,
    type,
    value: dice.one(values[type] ?? []),
    ...(type === 'Helm' && dice.chance(30) && { overrideChart: dice.chance(50) }),
  });
}

function localization(writer: Writer, operation: string | undefined): Fields {
  const { dice } = writer;
  return defined({
    operation,
    name: writer.name(),
    namespace: writer.namespace(),
    ...dice.some<Record<string, Json>>(50, {
      priority: () => dice.one([0, 500, 1000]),
      overrides: () => dice.list(0, 3, (n) => override(writer, n)),
    }),
    ...((operation ?? 'Create') === 'Create' || dice.chance(30) ? { feed: feed(dice) } : {}),
  });
}

function subscription(writer: Writer, operation: string | undefined): Fields {
  const { dice } = writer;
  const affinity = (): Fields =>
    dice.one<() => Fields>([
      () => ({ matchLabels: { site: 'b' } }),
      () => ({ matchExpressions: [{ key: 'site', operator: 'In', values: ['a', 'b'] }] }),
      () => ({}),
    ])();
  const full = operation === undefined || operation === 'Create';
  return defined({
    operation,
    name: writer.name(),
    ...dice.some<Record<string, Json>>(50, {
      namespace: () => writer.namespace(),
      schedulingStrategy: () => dice.one(['Replication', 'Dividing']),
    }),
    ...(full || dice.chance(60) ? { feeds: dice.list(1, 2, () => feed(dice)) } : {}),
    ...(full || dice.chance(60)
      ? {
          subscribers: dice.list(1, 2, () =>
            defined({ clusterAffinity: affinity(), ...(dice.chance(30) && { weight: dice.int(1, 100) }) }),
          ),
        }
      : {}),
  });
}

function resource(writer: Writer, operation: string | undefined): Fields {
  const { dice } = writer;
  const document = (index: number): string =>
    dice.one([
      `apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: "${writer.name()}-${index}"\ndata:\n  key: "${writer.placeholder()}"\n`,
      `apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web${index}, namespace: ${writer.namespace()}}\nspec: {replicas: ${dice.int(0, 3)}}\n`,
      `{"apiVersion": "example.com/v1", "kind": "Site", "metadata": {"name": "s${index}"}, "spec": {"x": [1, null, true]}}\n`,
      `apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: anchored-${index}\n  labels: &l {a: b}\ndata:\n  <<: *l\n  text: |\n    ${writer.placeholder()}\n    {{ .Values.a }}\n`,
    ]);
  return defined({
    operation,
    manifest: dice
      .list(1, 3, document)
      .join('---\n')
      .replaceAll('\n', dice.chance(10) ? '\r\n' : '\n'),
  });
}

const TYPES = ['HTTP', 'Job', 'Localization', 'Subscription', 'KubernetesResource'] as const;

/** Type and body of an action or of a rollback. */
function block(writer: Writer, needsNoRollback: boolean): { fields: Fields; patches: boolean } {
  const { dice } = writer;
  const type = dice.one(TYPES);
  const operations = [undefined, 'Create', 'Delete', ...(needsNoRollback ? [] : ['Patch'])];
  const apply = type === 'KubernetesResource' ? ['Apply'] : [];
  const operation = dice.one<string | undefined>([...operations, ...apply]);
  const patches = operation === 'Patch';
  switch (type) {
    case 'HTTP':
      return { fields: { type, http: http(writer) }, patches: false };
    case 'Job':
      return { fields: { type, job: job(writer) }, patches: false };
    case 'Localization':
      return { fields: { type, localization: localization(writer, operation) }, patches };
    case 'Subscription':
      return { fields: { type, subscription: subscription(writer, operation) }, patches };
    case 'KubernetesResource':
      return { fields: { type, resource: resource(writer, operation) }, patches };
  }
}

function times(dice: Dice): Fields {
  return defined({
    ...dice.some<Record<string, Json>>(60, {
      timeout: () => dice.one(DURATIONS),
      retryPolicy: () =>
        defined({
          ...dice.some<Record<string, Json>>(40, {
            limit: () => dice.one([0, 1, 3, 10]),
            interval: () => dice.one(DURATIONS),
            backoffMultiplier: () => dice.one([2, 1, 1.5, '2.0']),
          }),
        }),
    }),
  });
}

function action(
  dice: Dice,
  name: string,
  parameters: readonly Parameter[],
  earlier: readonly string[],
): Fields {
  // With dependsOn anywhere the order of the list says nothing, so what is read is depended on.
  const dependsOn = dice.chance(20) ? distinct(dice, earlier, 0, 2) : [...earlier];
  const before = dependsOn.filter((other) => /^\w/.test(other));
  const writer = new Writer(dice, parameters, before);
  const { fields, patches } = block(writer, false);
  const hasRollback = patches || dice.chance(30);
  const rollback = (): Fields => {
    const undo = block(new Writer(dice, parameters, []), true).fields;
    return { name: `${name}-undo`, ...undo, ...times(dice) };
  };
  const read = before[0];
  return defined({
    name,
    ...fields,
    ...times(dice),
    ...(hasRollback ? { rollback: rollback() } : {}),
    dependsOn,
    ...(read !== undefined && dice.chance(15) ? { when: `{{ .outputs.${read}.phase == 'Succeeded' }}` } : {}),
  });
}

function workflow(dice: Dice, name: string, namespace: string): Made {
  const parameters = distinct(dice, PARAMETERS, 0, 4).map((parameter): Parameter & { fields: Fields } => {
    const type = dice.one([undefined, 'string', 'number', 'boolean'] as const);
    const required = dice.chance(40);
    // Without a default, whoever leaves it out cannot use it.
    const hasDefault = !required || dice.chance(50);
    return {
      name: parameter,
      type,
      required,
      hasDefault,
      fields: defined({
        name: parameter,
        type,
        ...(required || dice.chance(30) ? { required } : {}),
        ...(hasDefault ? { default: valueOf(dice, type) } : {}),
        ...(dice.chance(20) ? { description: dice.one(TEXTS) } : {}),
      }),
    };
  });
  const names: string[] = [];
  const actions = distinct(dice, NAMES, 1, 3).map((one) => {
    const made = action(dice, one, parameters, [...names]);
    names.push(one);
    return made;
  });
  const ordered = dice.chance(60) ? actions.map(({ dependsOn: _, ...rest }) => rest) : actions;
  const spec = defined({
    ...dice.some<Record<string, Json>>(70, {
      executor: () =>
        dice.one<Fields>([
          { type: 'Native' },
          {},
          {
            type: 'Argo',
            argoOptions: {
              namespace: 'argo',
              serviceAccountName: 'x',
              ttlStrategy: { secondsAfterCompletion: 60 },
            },
          },
        ]),
      failurePolicy: () => dice.one(['FailFast', 'Continue']),
    }),
    ...(parameters.length > 0 || dice.chance(30)
      ? { parameters: parameters.map(({ fields }) => fields) }
      : {}),
    actions: ordered,
  });
  return { name, namespace, parameters, spec };
}

/** Gives a value for a parameter, as a plan does: in the field of the first generation or that of the later ones. */
const given = (dice: Dice, { name, type }: Pick<Parameter, 'name' | 'type'>): Fields => ({
  name,
  [dice.one(['value', 'default'])]: valueOf(dice, type),
});

/** Parameters of these names that have one type wherever they are declared: a global value has to suit all of them. */
function sharedParameters(workflows: readonly Made[]): Parameter[] {
  const byName = new Map<string, Parameter[]>();
  for (const { parameters } of workflows) {
    for (const parameter of parameters) {
      byName.set(parameter.name, [...(byName.get(parameter.name) ?? []), parameter]);
    }
  }
  return [...byName.values()].flatMap((same) => {
    const [first] = same;
    const types = new Set(same.map(({ type }) => type ?? 'string'));
    return first === undefined || types.size > 1 ? [] : [first];
  });
}

/** One story that is to go well. */
export function legalStory(dice: Dice): Story {
  const workflows = dice.list(1, 2, (n) => workflow(dice, `w${n}`, dice.chance(85) ? 'ns' : 'other'));
  const shared = sharedParameters(workflows);
  const global = shared.filter(() => dice.chance(40));
  const globals = new Set(global.map(({ name }) => name));
  const use = (): Fields => {
    const made = dice.one(workflows);
    // Values of a required parameter may not be empty, and none of ours is.
    const own = made.parameters.filter(
      (parameter) => (parameter.required && !globals.has(parameter.name)) || dice.chance(25),
    );
    return defined({
      workflowRef: defined({
        name: made.name,
        ...(made.namespace !== 'ns' || dice.chance(30) ? { namespace: made.namespace } : {}),
      }),
      ...(own.length > 0 || dice.chance(20)
        ? { params: own.map((parameter) => given(dice, parameter)) }
        : {}),
    });
  };
  const names = distinct(dice, ['stop writes', 'db', 'switch', '切换', 'verify', 'a/b'], 1, 3);
  const stages = names.map((name, index) =>
    defined({
      name,
      ...dice.some<Record<string, Json>>(60, {
        description: () => dice.one(TEXTS),
        dependsOn: () => distinct(dice, names.slice(0, index), 0, 2),
        parallel: () => dice.chance(50),
        failurePolicy: () => dice.one(['Stop', 'Continue', 'FailFast']),
      }),
      workflows: dice.list(1, 2, use),
    }),
  );
  // A later stage may stand first.
  if (dice.chance(30)) stages.reverse();
  const overrides = shared.filter(() => dice.chance(20));
  const written = workflows.map(({ name, namespace, spec }) => ({ name, namespace, spec }));
  const inner = dice.chance(20) ? innerPlan(dice, workflows) : undefined;
  if (inner !== undefined) {
    const runs = { name: 'sub', type: 'Plan', plan: { name: 'q' } };
    written.push({ name: 'outer', namespace: 'ns', spec: { actions: [runs] } });
    stages.push({ name: 'inner', workflows: [{ workflowRef: { name: 'outer' } }] });
  }
  const plan = {
    name: 'p',
    spec: defined({
      ...dice.some<Record<string, Json>>(60, {
        description: () => dice.one(TEXTS),
        failurePolicy: () => dice.one(['Stop', 'Continue']),
      }),
      ...(global.length > 0 || dice.chance(20)
        ? { globalParams: global.map((one) => given(dice, one)) }
        : {}),
      stages,
    }),
  };
  return {
    workflows: written,
    plans: [...(inner === undefined ? [] : [inner]), plan],
    acts: legalActs(dice, overrides.length > 0 ? { params: overrides.map((one) => given(dice, one)) } : {}),
  };
}

/** A plan that the plan runs as a part of itself. */
function innerPlan(dice: Dice, workflows: readonly Made[]): { name: string; spec: Fields } {
  const made = dice.one(workflows);
  const needed = made.parameters.filter(({ required }) => required);
  const use = defined({
    workflowRef: { name: made.name, namespace: made.namespace },
    ...(needed.length > 0 && { params: needed.map((one) => given(dice, one)) }),
  });
  return { name: 'q', spec: { stages: [{ name: 's', workflows: [use] }] } };
}
