/** The writes of one action, tried by server-side dry run, with what earlier actions of the run would have done by then. */
import { isDeepStrictEqual } from 'node:util';
import { isObject } from '../../api/core/json.js';
import { findDescriptor } from '../../api/plan/actions/table.js';
import { hasNames } from '../../api/core/named-lists.js';
import { keyOf } from '../../kube/client.js';
import type { KubeClient } from '../../kube/client.js';
import { KubeError } from '../../kube/error.js';
import { describeKey } from '../../kube/object.js';
import type { KubeObject, ObjectKey } from '../../kube/object.js';
import { definitionOf, isDefinition } from '../actions/objects/documents.js';
import { dryRun } from '../actions/objects/dry-run.js';
import { untried } from '../core/finding.js';
import type { Finding } from '../core/finding.js';
import type { Attempt } from '../core/handler.js';
import { withMarks } from '../core/marks.js';
import { readPrior } from '../actions/objects/object-capture.js';
import { patchBody } from '../actions/objects/object-body.js';
import type { ObjectTask } from '../core/object-task.js';
import { isSameKey } from '../core/objects.js';
import { listed } from '../actions/objects/ownership.js';
import { refuseSize } from '../core/prior-store.js';

/** What earlier actions of the same run would have done: later ones may count on it. */
export interface Foresight {
  made: { key: ObjectKey; by: string }[];
  gone: { key: ObjectKey; by: string }[];
  defined: { object: KubeObject; by: string }[];
  applied: { key: ObjectKey; by: string; body: unknown }[];
  /** API servers that were asked whether they check fields. */
  servers: Set<string>;
}

/** Nothing yet. */
export const createForesight = (): Foresight => ({
  made: [],
  gone: [],
  defined: [],
  applied: [],
  servers: new Set(),
});

/** Tries the writes of an action, and adds them to what is foreseen. */
export async function tryWrites(
  tasks: readonly ObjectTask[],
  attempt: Attempt,
  findings: Finding[],
  foresight: Foresight,
): Promise<void> {
  const by = `action "${attempt.action.name}"`;
  const objects = tasks.map(({ object }) => object);
  for (const task of tasks) {
    findings.push(...(await tryWrite(task, objects, attempt, foresight)));
    findings.push(...contests(task, foresight));
    const key = keyOf(task.object);
    if (task.operation === 'Delete') foresight.gone.push({ key, by });
    else foresight.made.push({ key, by });
    if (task.operation === 'Apply') foresight.applied.push({ key, by, body: patchBody(task.object) });
    if (task.operation !== 'Delete' && isDefinition(task.object)) {
      foresight.defined.push({ object: task.object, by });
    }
  }
  const tooLarge = await findTooLarge(tasks, attempt);
  if (tooLarge !== undefined) findings.push(tooLarge);
}

async function tryWrite(
  task: ObjectTask,
  objects: KubeObject[],
  attempt: Attempt,
  foresight: Foresight,
): Promise<Finding[]> {
  const key = keyOf(task.object);
  const marked: ObjectTask = { ...task, object: withMarks(task.object, attempt) };
  const found = await dryRun(task.operation === 'Delete' ? task : marked, {
    kube: attempt.kube,
    identity: attempt.identity,
    manager: attempt.manager,
    signal: attempt.signal,
    replaceDeletes: findDescriptor(attempt.task.type)?.recreates === true,
  });
  const [{ level, reason }] = found;
  if (level !== 'problem') return found;
  if (reason === 'KindNotFound') {
    if (definitionOf(task.object, objects) !== undefined) {
      return [untried(`${describeKey(key)}: its kind is defined by the same manifest`)];
    }
    const definer = foresight.defined.find(({ object }) => definitionOf(task.object, [object]) !== undefined);
    if (definer !== undefined) {
      return [untried(`${describeKey(key)} is of a kind that ${definer.by} defines before it`)];
    }
  }
  if (reason === 'NotFound') {
    const maker = foresight.made.find(
      (one) => isSameKey(one.key, key) || (one.key.kind === 'Namespace' && one.key.name === key.namespace),
    );
    if (maker !== undefined) return [untried(`${describeKey(key)} needs what ${maker.by} makes before it`)];
  }
  if (reason === 'AlreadyExists') {
    const remover = foresight.gone.find((one) => isSameKey(one.key, key));
    if (remover !== undefined) {
      return [untried(`${describeKey(key)} is there until ${remover.by} deletes it`)];
    }
  }
  return found;
}

/** Fields that an earlier action of the plan applies with another value: the cluster does not know of it yet. */
function contests({ operation, object, force }: ObjectTask, { applied }: Foresight): Finding[] {
  if (operation !== 'Apply') return [];
  const key = keyOf(object);
  const latest = new Map<string, string>();
  for (const { key: other, by, body } of applied) {
    if (!isSameKey(other, key)) continue;
    for (const field of contested(body, patchBody(object), '')) latest.set(field, by);
  }
  return [...new Set(latest.values())].map((by): Finding => {
    const fields = listed(
      [...latest].flatMap(([field, owner]) => (owner === by ? [field] : [])),
      MAX_FIELDS,
    );
    return force === false
      ? {
          level: 'problem',
          reason: 'Conflict',
          message: `${describeKey(key)} would not be applied: ${by} before it sets ${fields}, and force is false`,
        }
      : {
          level: 'warning',
          reason: 'TakesOver',
          message: `${describeKey(key)}: what ${by} before it sets is taken over: ${fields}`,
        };
  });
}

const MAX_FIELDS = 8;

/** Fields that two bodies give different values; lists without names may be merged or not, and are left out. */
function contested(one: unknown, other: unknown, path: string): string[] {
  if (hasNames(one) && hasNames(other)) {
    return one.flatMap((item) => {
      const same = other.find(({ name }) => name === item.name);
      return same === undefined ? [] : contested(item, same, `${path}[name=${JSON.stringify(item.name)}]`);
    });
  }
  if (Array.isArray(one) || Array.isArray(other)) return [];
  if (!isObject(one) || !isObject(other)) return isDeepStrictEqual(one, other) ? [] : [path];
  return Object.entries(one).flatMap(([key, value]) =>
    Object.hasOwn(other, key) ? contested(value, other[key], path === '' ? key : `${path}.${key}`) : [],
  );
}

/** Whether the action would fail because the state before it could not be kept. */
async function findTooLarge(tasks: readonly ObjectTask[], attempt: Attempt): Promise<Finding | undefined> {
  if (tasks.every(({ operation }) => operation === 'Create')) return undefined;
  try {
    const { reason, message } = refuseSize(await readPrior(tasks, attempt)) ?? {};
    return reason === undefined || message === undefined ? undefined : { level: 'problem', reason, message };
  } catch (error) {
    // What cannot be read has been reported already.
    if (attempt.signal.aborted || !(error instanceof KubeError)) throw error;
    return undefined;
  }
}

/** The first that knows of strict field validation. */
const CHECKS_FIELDS = { major: 1, minor: 25 };

/** Whether an API server of this version refuses unknown fields when it is asked to. */
export function checksFields({ major = '', minor = '' }: { major?: string; minor?: string }): boolean {
  const [one, two] = [Number.parseInt(major, 10), Number.parseInt(minor, 10)];
  if (Number.isNaN(one) || Number.isNaN(two)) return true;
  return one > CHECKS_FIELDS.major || (one === CHECKS_FIELDS.major && two >= CHECKS_FIELDS.minor);
}

/** Warns that an API server ignores strict field validation, once for each server. */
export async function warnUnchecked(
  tasks: readonly ObjectTask[],
  { kube, signal }: { kube: KubeClient; signal: AbortSignal },
  asked: Set<string>,
): Promise<Finding | undefined> {
  const isStrict = tasks.some(
    ({ operation, fieldValidation }) => operation !== 'Delete' && fieldValidation !== 'Warn',
  );
  if (!isStrict || asked.has(kube.server)) return undefined;
  asked.add(kube.server);
  try {
    const version = await kube.raw<{ major?: string; minor?: string; gitVersion?: string }>({
      method: 'GET',
      path: '/version',
      signal,
    });
    if (checksFields(version)) return undefined;
    const message = `the API server ${kube.server} is ${version.gitVersion ?? 'older than v1.25'}, which does not check fields: one that is misspelt in a Create, Patch or Replace is dropped without a word; v1.25 and later refuse it`;
    return { level: 'warning', reason: 'NotChecked', message };
  } catch (error) {
    // Some API servers do not let accounts read this; it is only a hint.
    if (signal.aborted || !(error instanceof KubeError)) throw error;
    return undefined;
  }
}
