/** Several actions on one object, and their undo in the opposite order. */
import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { createKubernetesResourceHandler } from '../../../activities/actions/objects/kubernetes-resource.js';
import type { AttemptResult } from '../../../activities/core/handler.js';
import { mergePatch } from '../../../api/core/json-patch.js';
import type { KubeObject } from '../../../kube/object.js';
import { startLife } from '../../support/life.js';
import type { Bench, Life } from '../../support/life.js';
import type { Dice } from '../dice.js';
import { diceOf } from '../dice.js';
import { createMemoryApi, THING } from './memory-api.js';

/** What one action does. */
export interface Act {
  /** Those of one name write under one field manager. */
  name: string;
  operation: 'Create' | 'Apply' | 'Patch' | 'Replace' | 'Delete';
  /** Without identity. */
  body: Body;
  patchType?: 'strategic';
  /** Its answer is lost, and it is settled by what is there. */
  lost: boolean;
}

/** What is written of an object. */
export interface Body {
  metadata?: Record<string, unknown>;
  [field: string]: unknown;
}

/** What there is at first, and what is done with it. */
export interface Story {
  /** Undefined: nothing is there. */
  initial: Body | undefined;
  /** How it came to be: by a person, or by an apply of a release without managers of actions' own. */
  by: 'kubectl' | 'drover';
  acts: Act[];
}

/** How bodies are made. */
export interface Kind {
  identity: { apiVersion: string; kind: string };
  /** Fields besides labels and annotations; with `clear`, some are taken away by null. */
  fields: (dice: Dice, clear: boolean) => Record<string, unknown>;
  /** Whether it knows strategic merge patches. */
  isBuiltIn?: true;
}

const KEYS = ['a', 'b', 'c'] as const;
const VALUES = ['0', '1', '2'] as const;

const textMap = (dice: Dice, clear: boolean): Record<string, string | null> =>
  dice.some<Record<string, string | null>>(
    55,
    Object.fromEntries(KEYS.map((key) => [key, () => (clear && dice.chance(30) ? null : dice.one(VALUES))])),
  ) as Record<string, string | null>;

function bodyOf(dice: Dice, kind: Kind, clear = false): Body {
  const metadata = dice.some<Record<string, unknown>>(50, {
    labels: () => (clear && dice.chance(10) ? null : textMap(dice, clear)),
    annotations: () => (clear && dice.chance(10) ? null : textMap(dice, clear)),
  });
  return {
    ...(Object.keys(metadata).length > 0 && { metadata }),
    ...kind.fields(dice, clear),
  };
}

/** Data as in a ConfigMap. */
export const dataOf = (dice: Dice, clear: boolean): Record<string, unknown> =>
  dice.some<Record<string, unknown>>(40, {
    data: () => (clear && dice.chance(10) ? null : textMap(dice, clear)),
  });

const SCALARS = [0, 1, 'x', true, null] as const;
/** Whatever a kind may hold that lets its authors write what they want, nulls and empty maps among it. */
const open = (dice: Dice, depth = 2): unknown => {
  if (depth === 0 || dice.chance(40)) return dice.one(SCALARS);
  return dice.chance(30)
    ? dice.list(0, 2, () => open(dice, depth - 1))
    : dice.some<Record<string, unknown>>(50, {
        x: () => open(dice, depth - 1),
        y: () => open(dice, depth - 1),
      });
};

/** The kind of the server in memory: things that the server fills in, and things that it drops. */
export const THINGS: Kind = {
  identity: THING,
  fields: (dice, clear) => ({
    ...dataOf(dice, clear),
    ...dice.some<Record<string, unknown>>(40, {
      spec: () =>
        dice.some<Record<string, unknown>>(60, {
          replicas: () => (clear && dice.chance(20) ? null : dice.int(0, 3)),
          type: () => dice.one(['Local', 'External']),
          list: () => dice.list(0, 2, () => dice.one(VALUES)),
          map: () => textMap(dice, clear),
          open: () => open(dice),
        }),
    }),
  }),
};

/** A story. */
export function storyOf(dice: Dice, kind: Kind, longest: number): Story {
  return {
    initial: dice.chance(15) ? undefined : bodyOf(dice, kind),
    by: dice.one(['kubectl', 'kubectl', 'drover']),
    acts: dice.list(1, longest, () => {
      const operation = dice.one([
        'Create',
        'Apply',
        'Apply',
        'Patch',
        'Patch',
        'Replace',
        'Delete',
      ] as const);
      return {
        name: dice.one(['one', 'two', 'three']),
        operation,
        body: bodyOf(dice, kind, operation === 'Patch'),
        lost: dice.chance(20),
        ...(operation === 'Patch' &&
          kind.isBuiltIn === true &&
          dice.chance(40) && { patchType: 'strategic' as const }),
      };
    }),
  };
}

/** An object as people have written it, with what the server has made of that. */
export const essence = (object: KubeObject | undefined): unknown => {
  if (object === undefined) return undefined;
  const { status: _, metadata, ...rest } = object;
  const { name: _n, namespace: _s, uid: _u, ...more } = metadata;
  for (const field of ['resourceVersion', 'managedFields', 'creationTimestamp', 'generation'] as const) {
    delete more[field];
  }
  return { ...rest, metadata: more };
};

/** Tells a story, and undoes it. */
export async function tell(
  { initial, by, acts }: Story,
  {
    bench,
    kind,
    name,
    after,
    look,
  }: {
    bench: Bench;
    kind: Kind;
    name: string;
    /** Called after each step, forward or back. */
    after?: () => Promise<void>;
    /** Called with what an action has found and left. */
    look?: (act: Act, found: KubeObject | undefined, left: KubeObject | undefined) => void;
  },
): Promise<{ before: unknown; left: unknown; results: AttemptResult[] }> {
  const { kube, namespace } = bench;
  const key = { ...kind.identity, name, namespace };
  const whole = (body: Body): KubeObject => ({
    ...kind.identity,
    ...body,
    metadata: { ...body.metadata, name, namespace },
  });
  if (initial !== undefined) {
    if (by === 'drover') {
      await kube.patch(key, whole(initial), { kind: 'apply', force: true, fieldManager: by });
    } else await kube.create(whole(initial), { fieldManager: by });
  }
  const before = essence(await kube.get(key));
  const handler = createKubernetesResourceHandler({ finalizerWaitMs: 2000 });
  const done: Life[] = [];
  const results: AttemptResult[] = [];
  for (const act of acts) {
    const manifest = JSON.stringify(whole(act.body));
    const life = startLife(
      bench,
      handler,
      {
        type: 'KubernetesResource',
        resource: { operation: act.operation, manifest, patchType: act.patchType },
      },
      { name: act.name },
    );
    const found = look === undefined ? undefined : await kube.get(key);
    await life.capture();
    let result = await life.run();
    if (act.lost && result.kind === 'succeeded') result = await life.settle();
    results.push(result);
    if (result.kind === 'succeeded') done.push(life);
    look?.(act, found, await kube.get(key));
    await after?.();
  }
  for (const life of done.reverse()) {
    const result = await life.undo();
    results.push(result);
    if (result.kind !== 'succeeded' && result.kind !== 'skipped') break;
    await after?.();
  }
  return { before, left: essence(await kube.get(key)), results };
}

/** What went wrong with a story, as text; undefined when all is as it was. */
export function faultOf({ before, left, results }: Awaited<ReturnType<typeof tell>>): string | undefined {
  const stopped = results.find(({ kind }) => kind === 'retry' || kind === 'interrupted');
  if (stopped !== undefined) return `ended without an end: ${JSON.stringify(stopped)}`;
  const refused = results.filter(({ kind }) => kind === 'failed').filter((one) => !isExpected(one));
  if (refused.length > 0) return `failed: ${JSON.stringify(refused)}`;
  return isDeepStrictEqual(before, left)
    ? undefined
    : `was ${JSON.stringify(before)}\nis ${JSON.stringify(left)}`;
}

/** Creates of what is there, patches of what is not, and what the kind does not allow. */
const isExpected = (result: AttemptResult): boolean =>
  result.kind === 'failed' &&
  ['AlreadyExists', 'NotFound', 'Invalid'].includes(result.reason) &&
  result.effect === 'None';

/** A server in memory, and the execution that all is done by. */
export function memoryBench(): { bench: Bench; api: ReturnType<typeof createMemoryApi> } {
  const api = createMemoryApi();
  const uid = '0dd0c0de-0000-4000-8000-000000000000';
  const namespace = 'memory';
  const bench: Bench = {
    kube: api.kube,
    namespace,
    run: {
      cluster: 'test',
      namespace,
      name: 'run',
      uid,
      plan: { name: 'plan', namespace, uid },
      operation: 'Execute',
      runMode: 'Planned',
      snapshot: { name: 'none', namespace, digest: '', parts: 0 },
    },
    close: () => Promise.resolve(),
  };
  return { bench, api };
}

/** Fields that somebody other than the action owned, and that are not there any more. */
function takenFromOthers(
  name: string,
  found: KubeObject | undefined,
  left: KubeObject | undefined,
): string[] {
  const isOwn = (manager = ''): boolean => manager.startsWith(`drover/plan/${name}/`);
  return (found?.metadata.managedFields ?? [])
    .filter(({ manager }) => !isOwn(manager))
    .flatMap(({ fieldsV1 = {} }) => pathsOf(fieldsV1))
    .filter((path) => !isThere(left, path))
    .map((path) => path.join('.'));
}

function pathsOf(fields: Record<string, unknown>): string[][] {
  const entries = Object.entries(fields);
  if (entries.length === 0) return [[]];
  return entries.flatMap(([key, inner]) =>
    pathsOf(inner as Record<string, unknown>).map((path) => [key.slice(2), ...path]),
  );
}

const isThere = (object: unknown, path: readonly string[]): boolean =>
  path.reduce<unknown>(
    (value, key) => (typeof value === 'object' && value !== null ? (value as Body)[key] : undefined),
    object,
  ) !== undefined;

/** That a story in memory ends where it began, and that its writes are as they have to be. */
export const undoProperty = (counts: { stories: number; steps: number }) =>
  fc.asyncProperty(fc.gen(), async (g) => {
    const story = storyOf(diceOf(g), THINGS, 5);
    const { bench, api } = memoryBench();
    const wrong: string[] = [];
    api.onWrite = ({ manager, fieldValidation }) => {
      const isOwn = manager.startsWith('drover/') && fieldValidation === 'Strict';
      const isOther = (manager === 'drover' || manager === 'kubectl') && fieldValidation === undefined;
      if (!isOwn && !isOther) wrong.push(`${manager} wrote with fieldValidation ${fieldValidation}`);
    };
    const told = await tell(story, {
      bench,
      kind: THINGS,
      name: 'thing',
      look({ name, operation, body }, found, left) {
        if (operation !== 'Apply') return;
        const taken = takenFromOthers(name, found, left)
          // What the server drops with a type is taken by nobody.
          .filter((path) => path !== 'spec.address')
          // A map may be applied where another kind of value was.
          .filter((path) => !path.startsWith('spec.open') || !JSON.stringify(body).includes('open'));
        if (taken.length > 0) wrong.push(`${name} has taken away ${taken.join(', ')}`);
      },
    });
    counts.stories += 1;
    counts.steps += told.results.length;
    const fault = faultOf(told) ?? wrong[0];
    if (fault !== undefined) throw new Error(`${fault}\n${JSON.stringify(story)}`);
  });

/** That what others write in the meantime is kept, and all else is as it was: fields that no action names. */
export const companyProperty = fc.asyncProperty(fc.gen(), async (g) => {
  const dice = diceOf(g);
  const kind: Kind = { ...THINGS, fields: dataOf };
  const drawn = storyOf(dice, kind, 5);
  const acts = drawn.acts.filter(({ operation }) => operation === 'Apply' || operation === 'Patch');
  // A map that is taken away as a whole is taken away with what others have put into it.
  const story = { ...drawn, initial: drawn.initial ?? {}, acts: acts.map(withoutNullMaps) };
  const { bench } = memoryBench();
  const { kube, namespace } = bench;
  const key = { ...kind.identity, name: 'thing', namespace };
  const theirs = { metadata: { labels: {} as Body }, data: {} as Body };
  const told = await tell(story, {
    bench,
    kind,
    name: 'thing',
    async after() {
      if (!dice.chance(50)) return;
      const value = dice.one(VALUES);
      const patch = dice.chance(50)
        ? { metadata: { labels: { theirs: value } } }
        : { data: { theirs: value } };
      if ('data' in patch) theirs.data.theirs = value;
      else theirs.metadata.labels.theirs = value;
      await kube.patch(key, patch, { kind: 'merge', fieldManager: 'others' });
    },
  });
  // An empty map is none to the server.
  const expected = pruned(mergePatch(told.before, theirs));
  const fault = faultOf({ ...told, before: expected, left: pruned(told.left) });
  if (fault !== undefined) throw new Error(`${fault}\n${JSON.stringify(story)}`);
});

const withoutNullMaps = (act: Act): Act => {
  const { metadata = {}, ...rest } = act.body;
  const kept = (map: object): object =>
    Object.fromEntries(Object.entries(map).filter(([, value]) => value !== null));
  return { ...act, body: { ...kept(rest), metadata: kept(metadata) as Record<string, unknown> } };
};

function pruned(object: unknown): unknown {
  const { metadata, data, ...rest } = object as Body;
  const kept = (map: object = {}): object =>
    Object.fromEntries(Object.entries(map).filter(([, value]) => Object.keys(value as object).length > 0));
  return { ...rest, ...kept({ data: data ?? {} }), metadata: kept(metadata) };
}
