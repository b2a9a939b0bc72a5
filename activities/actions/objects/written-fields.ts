/** What an action was to write, as far as its undo has to know it. Pure. */
import { isObject } from '../../../api/core/json.js';
import type { KubeObject } from '../../../kube/object.js';
import { recordedFields } from './managed-fields.js';
import { patchBody } from './object-body.js';
import type { PriorDocument } from '../../core/prior.js';
import { applyMergePatch, joinMasks, maskOf } from './restore.js';
import type { Mask } from './restore.js';

/** What was recorded of an object that was there. */
export type Recorded = PriorDocument & { object: KubeObject };

/** Which fields an operation names or may have removed; undefined = all. */
export function writtenFields(prior: Recorded): Mask | undefined {
  switch (prior.operation) {
    case 'Patch':
      return maskOfPatch(bodyOf(prior));
    case 'Apply': {
      const written = maskOf(bodyOf(prior));
      const before = recordedFields(prior.object);
      return before === undefined ? written : joinMasks(written, before);
    }
    default:
      return undefined;
  }
}

/**
 * What the action was to leave behind, for when nobody saw the result. Where that depends on more than what is written,
 * the present state is taken for it: the object carries the action's mark.
 */
export function intended(prior: Recorded, current: KubeObject): KubeObject {
  switch (prior.operation) {
    case 'Replace':
      return asStored(prior.intent);
    case 'Patch':
      return (
        prior.patchType === 'strategic'
          ? written(prior.object, bodyOf(prior), current)
          : applyMergePatch(prior.object, bodyOf(prior))
      ) as KubeObject;
    default: {
      const applied = written(prior.object, bodyOf(prior), current);
      const removed = recordedFields(prior.object);
      return (
        removed === undefined ? applied : taken(applied, removed, bodyOf(prior), current)
      ) as KubeObject;
    }
  }
}

const bodyOf = (prior: Recorded): Record<string, unknown> => patchBody(asStored(prior.intent));

/** The server keeps the `stringData` of a Secret in `data`. */
function asStored(object: KubeObject): KubeObject {
  const { stringData, ...rest } = object;
  if (object.apiVersion !== 'v1' || object.kind !== 'Secret' || !isObject(stringData)) return object;
  const encoded = Object.entries(stringData).map(([key, value]) => [
    key,
    typeof value === 'string' ? Buffer.from(value).toString('base64') : value,
  ]);
  return {
    ...rest,
    data: { ...(isObject(rest.data) ? rest.data : {}), ...(Object.fromEntries(encoded) as object) },
  };
}

/** Directives of a strategic merge patch that speak of a list beside them: `$setElementOrder/containers`. */
const OF_A_LIST = /^\$(?:setElementOrder|deleteFromPrimitiveList)\/(.*)$/s;

/** As {@link maskOf}, with the directives of a strategic merge patch, which no other patch has. */
function maskOfPatch(body: unknown): Mask {
  if (!isObject(body) || Object.keys(body).length === 0) return true;
  const mask: { [key: string]: Mask } = {};
  for (const [key, value] of Object.entries(body)) {
    const list = OF_A_LIST.exec(key)?.[1];
    if (list !== undefined) mask[list] = true;
    // Any other directive is about the whole map.
    else if (key.startsWith('$')) return true;
    else mask[key] = maskOfPatch(value);
  }
  return mask;
}

/** A map with what a body writes into it. */
function written(target: unknown, body: unknown, current: unknown): unknown {
  if (Array.isArray(body)) return current;
  if (!isObject(body)) return body;
  if (Object.keys(body).some((key) => key.startsWith('$') && !OF_A_LIST.test(key))) return current;
  const result: Record<string, unknown> = isObject(target) ? { ...target } : {};
  const now = isObject(current) ? current : {};
  for (const [key, value] of Object.entries(body)) {
    const list = OF_A_LIST.exec(key)?.[1];
    const name = list ?? key;
    const next = list === undefined ? written(result[name], value, now[name]) : now[name];
    if (next === undefined || next === null) delete result[name];
    else result[name] = next;
  }
  return result;
}

/** A map in which fields that were owned and are no longer named have their present values. */
function taken(target: unknown, owned: Mask, body: unknown, current: unknown): unknown {
  if (owned === true) return body === undefined ? current : target;
  const result: Record<string, unknown> = isObject(target) ? { ...target } : {};
  const [named, now] = [isObject(body) ? body : {}, isObject(current) ? current : {}];
  for (const [key, inner] of Object.entries(owned)) {
    const value = taken(result[key], inner, named[key], now[key]);
    if (value === undefined) delete result[key];
    else result[key] = value;
  }
  return Object.keys(result).length === 0 && target === undefined ? undefined : result;
}
