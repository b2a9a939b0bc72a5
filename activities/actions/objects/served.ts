import { setTimeout as sleep } from 'node:timers/promises';
import { formatDuration } from '../../../api/core/duration.js';
import { isObject } from '../../../api/core/json.js';
import { keyOf } from '../../../kube/client.js';
import { describeKey } from '../../../kube/object.js';
import type { KubeObject } from '../../../kube/object.js';
import { isDefinition, isKindNotFound } from './documents.js';
import type { Attempt } from '../../core/handler.js';
import type { ObjectEffect } from './object-effect.js';
import type { ObjectTask } from '../../core/object-task.js';
import { lookUp } from '../../core/objects.js';

/** Longest wait; it takes the API server less than a second, or several with more than one of them. */
const SERVED_MS = 30_000;
/** An attempt ends this long before its deadline, so that it can still say what it waited for. */
const MARGIN_MS = 1500;
const POLL_MS = 100;

/**
 * Waits, after a definition was written, until the API server serves what it defines: the next object, or the next action,
 * may be of that kind.
 *
 * @returns how the task ends when that takes too long or cannot be; undefined when there is nothing (more) to wait for
 */
export async function awaitServed(
  task: ObjectTask,
  effect: ObjectEffect,
  attempt: Attempt,
): Promise<ObjectEffect | undefined> {
  if (effect.kind !== 'done' || effect.stored === null || !isDefinition(task.object)) return undefined;
  const key = keyOf(task.object);
  const started = Date.now();
  const until = Math.min(started + SERVED_MS, attempt.deadline - MARGIN_MS);
  for (let left = servedKinds(effect.stored); ;) {
    left = await notServed(left, attempt);
    if (left.length === 0) return undefined;
    const refusal = refusalIn(await lookUp(attempt.kube, key, attempt.signal));
    if (refusal !== undefined) {
      return {
        kind: 'failed',
        reason: 'NotServed',
        message: `${describeKey(key)} is written, but its kind cannot be served: ${refusal}; delete what has the name, or choose another one`,
        effect: 'Done',
      };
    }
    if (Date.now() >= until) {
      return {
        kind: 'retry',
        reason: 'NotServed',
        message: `${describeKey(key)} is written, but after ${formatDuration(Date.now() - started)} the API server does not serve ${left.map(({ apiVersion, kind }) => `${kind} of ${apiVersion}`).join(', ')}`,
        effect: 'Done',
      };
    }
    await sleep(POLL_MS, undefined, { signal: attempt.signal });
  }
}

interface Kind {
  apiVersion: string;
  kind: string;
  plural: string;
}

function servedKinds({ spec }: KubeObject): Kind[] {
  if (!isObject(spec) || !isObject(spec.names) || !Array.isArray(spec.versions)) return [];
  const { kind, plural } = spec.names;
  return (spec.versions as unknown[]).flatMap((version) =>
    isObject(version) && version.served === true
      ? [
          {
            apiVersion: `${String(spec.group)}/${String(version.name)}`,
            kind: String(kind),
            plural: String(plural),
          },
        ]
      : [],
  );
}

async function notServed(kinds: Kind[], { kube }: Attempt): Promise<Kind[]> {
  const left: Kind[] = [];
  for (const one of kinds) {
    try {
      const served = await kube.resolve(one.apiVersion, one.kind, { anew: true });
      // Another definition may serve a kind of the same name.
      if (served.plural !== one.plural) left.push(one);
    } catch (error) {
      if (!isKindNotFound(error)) throw error;
      left.push(one);
    }
  }
  return left;
}

/** Why the API server will not serve a definition as it is. */
function refusalIn(definition: KubeObject | undefined): string | undefined {
  const status = isObject(definition?.status) ? definition.status : {};
  const conditions = Array.isArray(status.conditions) ? (status.conditions as unknown[]) : [];
  const refused = conditions
    .filter(isObject)
    .find(({ type, status: is }) => type === 'NamesAccepted' && is === 'False');
  return refused === undefined ? undefined : String(refused.message);
}
