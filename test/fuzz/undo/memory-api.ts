/**
 * An API server in memory, for one kind of object: as much of it as decides what a write leaves behind. Maps merge, lists
 * are one value, fields have managers, and the server fills in, drops and hands out things of its own.
 */
import { randomUUID } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { applyJsonPatch, mergePatch } from '../../../api/core/json-patch.js';
import { isObject } from '../../../api/core/json.js';
import type { KubeClient, WriteOptions } from '../../../kube/client.js';
import { keyOf } from '../../../kube/client.js';
import { KubeError } from '../../../kube/error.js';
import type { KubeObject, ManagedFields, ObjectKey } from '../../../kube/object.js';

/** Kind of the objects that actions change. */
export const THING = { apiVersion: 'test.example/v1', kind: 'Thing' } as const;

type Json = Record<string, unknown>;
/** A field, as the JSON of its path. */
type Path = string;

interface Entry {
  manager: string;
  operation: 'Apply' | 'Update';
  owned: Set<Path>;
}

interface Stored {
  object: KubeObject;
  entries: Entry[];
}

/** A server with what can be asked of it besides. */
export interface MemoryApi {
  kube: KubeClient;
  /** Called with every write of a thing. */
  onWrite?: (write: { manager: string; fieldValidation: string | undefined }) => void;
}

const failure = (code: number, reason: string, message: string): KubeError =>
  new KubeError(message, { code, reason });

/** An empty server. */
export function createMemoryApi(): MemoryApi {
  const store = new Map<string, Stored>();
  let version = 0;
  let addresses = 0;
  const id = ({ kind, namespace = '', name }: ObjectKey): string => `${kind}/${namespace}/${name}`;
  const api: MemoryApi = { kube: undefined as unknown as KubeClient };

  /** What the server makes of an object by itself. */
  function completed(object: KubeObject, old: KubeObject | undefined): KubeObject {
    const next = structuredClone(object);
    const { metadata } = next;
    for (const field of ['labels', 'annotations'] as const) {
      if (Object.keys(metadata[field] ?? {}).length === 0) delete metadata[field];
    }
    if (isObject(next.data) && Object.keys(next.data).length === 0) delete next.data;
    if (!isObject(next.spec)) return next;
    const { spec } = next;
    spec.replicas ??= 1;
    spec.type ??= 'Local';
    const before = isObject(old?.spec) ? old.spec : {};
    // As with a Service: what it was given goes with the type that needs it, and comes anew with it.
    if (spec.type === 'External') {
      if (spec.address !== undefined && spec.address !== before.address) {
        throw failure(422, 'Invalid', `Thing "${metadata.name}" is invalid: spec.address: may not be set`);
      }
      delete spec.address;
    } else {
      spec.address ??= `10.0.0.${(addresses += 1)}`;
    }
    return next;
  }

  function save(key: ObjectKey, object: KubeObject, entries: Entry[], old: Stored | undefined): KubeObject {
    const next = completed(object, old?.object);
    const fields = leavesOf(next);
    next.metadata.uid = old?.object.metadata.uid ?? randomUUID();
    const kept = entries
      .map((entry) => ({ ...entry, owned: new Set([...entry.owned].filter((path) => fields.has(path))) }))
      .filter(({ owned }) => owned.size > 0);
    const isSame =
      old !== undefined &&
      isDeepStrictEqual(withoutServer(next), withoutServer(old.object)) &&
      isDeepStrictEqual(kept, old.entries);
    next.metadata.resourceVersion = isSame ? old.object.metadata.resourceVersion : String((version += 1));
    next.metadata.managedFields = kept.map(shown);
    store.set(id(key), { object: next, entries: kept });
    return structuredClone(next);
  }

  /** Any write but an apply. */
  function update(key: ObjectKey, next: KubeObject, old: Stored | undefined, manager: string): KubeObject {
    const whole = completed(next, old?.object);
    const [was, is] = [leavesOf(old?.object), leavesOf(whole)];
    const changed = [...is].filter(([path, value]) => !isDeepStrictEqual(value, was.get(path)));
    const entries = (old?.entries ?? []).map((entry) => ({ ...entry, owned: new Set(entry.owned) }));
    for (const [path] of changed) for (const { owned } of entries) owned.delete(path);
    const own = entries.find((one) => one.manager === manager && one.operation === 'Update');
    if (own !== undefined) for (const [path] of changed) own.owned.add(path);
    else if (changed.length > 0) {
      entries.push({ manager, operation: 'Update', owned: new Set(changed.map(([path]) => path)) });
    }
    return save(key, whole, entries, old);
  }

  function apply(
    key: ObjectKey,
    intent: KubeObject,
    old: Stored | undefined,
    { manager, force }: { manager: string; force: boolean },
  ): KubeObject {
    const fields = leavesOf(intent);
    const live = leavesOf(old?.object);
    const entries = (old?.entries ?? []).map((entry) => ({ ...entry, owned: new Set(entry.owned) }));
    const own = entries.find((one) => one.manager === manager && one.operation === 'Apply');
    const conflicts = entries
      .filter((one) => one !== own)
      .flatMap((entry) =>
        [...fields]
          .filter(([path, value]) => entry.owned.has(path) && !isDeepStrictEqual(value, live.get(path)))
          .map(([path]) => ({ entry, path })),
      );
    if (conflicts.length > 0 && !force) {
      throw new KubeError('Apply failed', {
        code: 409,
        reason: 'Conflict',
        details: {
          causes: conflicts.map(({ entry, path }) => ({
            reason: 'FieldManagerConflict',
            message: `conflict with "${entry.manager}"`,
            field: `.${(JSON.parse(path) as string[]).join('.')}`,
          })),
        },
      });
    }
    for (const { entry, path } of conflicts) entry.owned.delete(path);
    const next = structuredClone(old?.object ?? { ...intent, metadata: keyMeta(intent) });
    for (const [path, value] of fields) put(next, JSON.parse(path) as string[], value);
    for (const path of own?.owned ?? []) {
      const isNamed = fields.has(path);
      const isShared = entries.some((one) => one !== own && one.owned.has(path));
      if (!isNamed && !isShared) take(next, JSON.parse(path) as string[]);
    }
    const rest = entries.filter((one) => one !== own);
    rest.push({ manager, operation: 'Apply', owned: new Set(fields.keys()) });
    return save(key, next, rest, old);
  }

  function told(key: ObjectKey, options: WriteOptions | undefined): string {
    const manager = options?.fieldManager ?? 'drover';
    if (key.kind === THING.kind) {
      api.onWrite?.({ manager, fieldValidation: options?.fieldValidation });
    }
    return manager;
  }

  function checkPins({ metadata = {} }: { metadata?: unknown }, { object }: Stored): void {
    const { resourceVersion, uid } = isObject(metadata) ? metadata : {};
    const isOther =
      (resourceVersion !== undefined && resourceVersion !== object.metadata.resourceVersion) ||
      (uid !== undefined && uid !== object.metadata.uid);
    if (isOther) throw failure(409, 'Conflict', 'the object has been modified');
  }

  const found = (key: ObjectKey): Stored => {
    const old = store.get(id(key));
    if (old === undefined) throw failure(404, 'NotFound', `${key.kind} "${key.name}" not found`);
    return old;
  };

  const verbs: Pick<
    KubeClient,
    'server' | 'now' | 'resolve' | 'get' | 'list' | 'watch' | 'create' | 'replace' | 'patch' | 'delete'
  > = {
    server: 'memory',
    now: Date.now,
    resolve: (apiVersion, kind) =>
      Promise.resolve({ apiVersion, kind, plural: `${kind.toLowerCase()}s`, namespaced: true, verbs: [] }),
    get: (key) => Promise.resolve(structuredClone(store.get(id(key))?.object) as never),
    list: ({ kind }) => {
      const items = [...store.values()].map(({ object }) => object).filter((one) => one.kind === kind);
      const page = {
        metadata: { resourceVersion: String(version) },
        items: structuredClone(items),
        bytes: 0,
      };
      return Promise.resolve(page as never);
    },
    // Nothing changes by itself.
    async *watch(_type, { signal }) {
      yield* [];
      if (signal?.aborted === true) return;
      await new Promise<void>((resolve) =>
        signal?.addEventListener('abort', () => resolve(), { once: true }),
      );
    },
    // oxlint-disable-next-line typescript/require-await -- what is thrown must be a rejection
    async create(object, options) {
      const key = keyOf(object);
      const manager = told(key, options);
      if (store.has(id(key))) throw failure(409, 'AlreadyExists', `${key.kind} "${key.name}" already exists`);
      return update(key, { ...object, metadata: { ...object.metadata } }, undefined, manager) as never;
    },
    // oxlint-disable-next-line typescript/require-await -- likewise
    async replace(object, options) {
      const key = keyOf(object);
      const manager = told(key, options);
      const old = found(key);
      checkPins(object, old);
      return update(key, object, old, manager) as never;
    },
    // oxlint-disable-next-line typescript/require-await -- likewise
    async patch(key, patch, options) {
      const manager = told(key, options);
      if (options.kind === 'apply') {
        const old = store.get(id(key));
        if (old !== undefined) checkPins(patch as Json, old);
        const force = options.force === true;
        return apply(key, patch as KubeObject, old, { manager, force }) as never;
      }
      const old = found(key);
      if (options.kind === 'json') {
        const patched = applyJsonPatch(old.object, patch as unknown[]);
        if (!patched.ok) throw failure(422, 'Invalid', `the patch does not apply: ${patched.why}`);
        checkPins(patched.document as Json, old);
        return update(key, patched.document as KubeObject, old, manager) as never;
      }
      checkPins(patch as Json, old);
      return update(key, mergePatch(old.object, patch) as KubeObject, old, manager) as never;
    },
    // oxlint-disable-next-line typescript/require-await -- likewise
    async delete(key, options) {
      const old = store.get(id(key));
      if (old === undefined) return false;
      checkPins({ metadata: { uid: options?.uid } }, old);
      return store.delete(id(key));
    },
  };
  api.kube = new Proxy(verbs as KubeClient, {
    get(target, verb): unknown {
      if (verb in target) return Reflect.get(target, verb);
      throw new Error(`the server in memory has no ${String(verb)}`);
    },
  });
  return api;
}

const SERVER = new Set(['name', 'namespace', 'uid', 'resourceVersion', 'managedFields']);
/** One value to the server, whatever is in it. */
const ATOMIC: ReadonlySet<Path> = new Set([JSON.stringify(['spec', 'open'])]);

/** The fields of an object that have managers, with their values. */
function leavesOf(object: KubeObject | undefined): Map<Path, unknown> {
  const leaves = new Map<Path, unknown>();
  const walk = (value: unknown, path: string[]): void => {
    const at = JSON.stringify(path);
    if (isObject(value) && Object.keys(value).length > 0 && !ATOMIC.has(at)) {
      for (const [key, inner] of Object.entries(value)) walk(inner, [...path, key]);
    } else leaves.set(at, value);
  };
  for (const [field, value] of Object.entries(object ?? {})) {
    if (field === 'apiVersion' || field === 'kind') continue;
    if (field !== 'metadata') walk(value, [field]);
    else {
      for (const [key, inner] of Object.entries(value as Json)) {
        if (!SERVER.has(key)) walk(inner, ['metadata', key]);
      }
    }
  }
  return leaves;
}

const keyMeta = ({ metadata: { name, namespace } }: KubeObject): KubeObject['metadata'] => ({
  name,
  ...(namespace !== undefined && { namespace }),
});

function withoutServer({ metadata, ...rest }: KubeObject): unknown {
  const own = Object.entries(metadata).filter(([field]) => !SERVER.has(field));
  return { ...rest, metadata: Object.fromEntries(own) };
}

function put(object: KubeObject, path: string[], value: unknown): void {
  let at: Json = object;
  for (const key of path.slice(0, -1)) {
    if (!isObject(at[key])) at[key] = {};
    at = at[key] as Json;
  }
  const last = path.at(-1) ?? '';
  // An empty map that is applied takes nothing out of one that is there.
  if (isObject(value) && Object.keys(value).length === 0 && isObject(at[last])) return;
  at[last] = structuredClone(value);
}

/** Removes a field, and the maps that become empty by it. */
function take(object: Json, path: string[]): void {
  const [key = '', ...rest] = path;
  if (!Object.hasOwn(object, key)) return;
  if (rest.length === 0) {
    delete object[key];
    return;
  }
  const inner = object[key];
  if (!isObject(inner)) return;
  take(inner, rest);
  if (Object.keys(inner).length === 0 && key !== 'metadata') delete object[key];
}

function shown({ manager, operation, owned }: Entry): ManagedFields {
  const fieldsV1: Json = {};
  for (const path of owned) {
    let at = fieldsV1;
    for (const key of JSON.parse(path) as string[]) at = (at[`f:${key}`] ??= {}) as Json;
  }
  return { manager, operation, apiVersion: THING.apiVersion, fieldsV1 };
}
