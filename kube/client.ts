import { callOf, collectionOf, deleteBody, selectionQuery, writeQuery } from './call-options.js';
import type { CallOptions, WriteOptions, DeleteOptions, ListOptions } from './call-options.js';
import { createDiscovery } from './discovery.js';
import type { Discovery, ResolveOptions, ResourceType } from './discovery.js';
import { isNotFound, KubeError } from './error.js';
import type { KubeMeta, KubeObject, ObjectKey } from './object.js';
import { createServerClock } from './server-clock.js';
import { createTransport } from './transport.js';
import type { Endpoint, RawRequest, Transport, TransportOptions } from './transport.js';
import { readWatch } from './watch.js';
import type { WatchEvent } from './watch.js';

export type {
  CallOptions,
  FieldValidation,
  WriteOptions,
  DeleteOptions,
  ListOptions,
} from './call-options.js';

/** How a patch is read by the server. */
export type PatchKind = 'merge' | 'json' | 'apply' | 'strategic';

const PATCH_TYPES: Record<PatchKind, string> = {
  merge: 'application/merge-patch+json',
  json: 'application/json-patch+json',
  apply: 'application/apply-patch+yaml',
  strategic: 'application/strategic-merge-patch+json',
};

const METADATA_LIST = 'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1';

/** A page of objects. */
export interface KubeList<T> {
  metadata: { resourceVersion: string; continue?: string };
  items: T[];
  /** Length of the answer. */
  bytes?: number;
}

/** Acts as somebody else (docs/authority.md#whom-actions-act-as). */
export interface Impersonation {
  user: string;
  groups?: string[];
  uid?: string;
  /** Extra fields of the user, in lower case: secrets for an API behind the server's aggregator travel in these. */
  extra?: Record<string, string>;
}

/** Objects of any kind, as plain JSON. Every method throws `KubeError` unless it says otherwise. */
export interface KubeClient {
  readonly server: string;
  /**
   * Milliseconds since the epoch by the clock of the API server, as its last answers say it; this machine's own before the
   * first. What the server has written is compared with this, never with `Date.now()`.
   */
  now(): number;
  resolve(apiVersion: string, kind: string, options?: ResolveOptions): Promise<ResourceType>;
  /** The object, or undefined when it is not there (a missing *kind* still throws). */
  get<T = KubeObject>(key: ObjectKey, options?: CallOptions): Promise<T | undefined>;
  list<T = KubeObject>(
    type: { apiVersion: string; kind: string },
    options?: ListOptions,
  ): Promise<KubeList<T>>;
  create<T = KubeObject>(object: KubeObject, options?: WriteOptions): Promise<T>;
  replace<T = KubeObject>(object: KubeObject, options?: WriteOptions): Promise<T>;
  patch<T = KubeObject>(
    key: ObjectKey,
    patch: unknown,
    options: WriteOptions & { kind: PatchKind; force?: boolean },
  ): Promise<T>;
  /** Deletes; false when it was not there. */
  delete(key: ObjectKey, options?: DeleteOptions): Promise<boolean>;
  /** Events from a resourceVersion on, until the server or the signal ends the watch. */
  watch<T = KubeObject>(
    type: { apiVersion: string; kind: string },
    options: ListOptions & { resourceVersion: string; timeoutSeconds?: number },
  ): AsyncGenerator<WatchEvent<T>>;
  /** Any request, for what has no verb of its own (reviews, logs). */
  raw<T>(request: RawRequest): Promise<T>;
  /** The text of an answer, cut at `limitBytes`. */
  text(request: RawRequest, limitBytes: number): Promise<string>;
  /** The same cluster as somebody else. */
  as(impersonation: Impersonation): KubeClient;
  /**
   * Another cluster, whose API this one serves below a path: requests go there under another identity than here.
   *
   * @param name what that cluster is called in messages
   */
  behind(path: string, options: { name: string; as: Impersonation }): KubeClient;
}

/** A client for an API server. */
export function createEndpointClient(endpoint: Endpoint, options?: TransportOptions): KubeClient {
  const transport = createTransport(endpoint, options);
  return build(transport, createDiscovery(transport), {});
}

/** A transport to what is served below a path of another one. */
function below(
  transport: Transport,
  path: string,
  options: { name: string; headers: Record<string, string | string[]> },
): Transport {
  const clock = createServerClock();
  const there = (raw: RawRequest): RawRequest => ({
    ...raw,
    clock,
    path: path + raw.path,
    headers: { ...options.headers, ...raw.headers },
  });
  const named = (error: unknown): unknown => {
    // Callers that look an object up rely on a plain NotFound.
    if (!(error instanceof KubeError) || error.code === 404) return error;
    const { code, reason, retryAfterMs, details } = error;
    return new KubeError(`${options.name}: ${error.message}`, {
      code,
      reason,
      ...(retryAfterMs !== undefined && { retryAfterMs }),
      ...(details !== undefined && { details }),
      cause: error,
    });
  };
  return {
    server: transport.server + path,
    now: () => clock.now(),
    json: <T>(raw: RawRequest) =>
      transport.json<T>(there(raw)).catch((error: unknown) => {
        throw named(error);
      }),
    sized: <T>(raw: RawRequest) =>
      transport.sized<T>(there(raw)).catch((error: unknown) => {
        throw named(error);
      }),
    stream: (raw) =>
      transport.stream(there(raw)).catch((error: unknown) => {
        throw named(error);
      }),
  };
}

function headersOf({ user, groups, uid, extra = {} }: Impersonation): Record<string, string | string[]> {
  if (user.trim() === '') throw new Error('impersonation needs a user name; got an empty one');
  return {
    'impersonate-user': user,
    ...(groups?.length && { 'impersonate-group': groups }),
    ...(uid !== undefined && { 'impersonate-uid': uid }),
    ...Object.fromEntries(Object.entries(extra).map(([key, value]) => [`impersonate-extra-${key}`, value])),
  };
}

function build(
  transport: Transport,
  discovery: Discovery,
  identity: Record<string, string | string[]>,
): KubeClient {
  const reach = createReach(transport, discovery, identity);
  return {
    server: transport.server,
    now: () => transport.now(),
    resolve: (apiVersion, kind, options) => discovery.resolve(apiVersion, kind, options),
    ...readsOf(reach),
    ...writesOf(reach),
    as: (impersonation) => build(transport, discovery, { ...identity, ...headersOf(impersonation) }),
    behind(path, { name, as }) {
      const there = below(transport, path, { name, headers: { ...identity, ...headersOf(as) } });
      return build(there, createDiscovery(there), {});
    },
  };
}

/** Where something is in the API. */
interface Place {
  apiVersion: string;
  kind: string;
  namespace?: string;
  name?: string;
}

/** Requests under one identity. */
interface Reach {
  identity: Record<string, string | string[]>;
  transport: Transport;
  pathOf: (place: Place, subresource?: string) => Promise<string>;
  json: <T>(raw: RawRequest) => Promise<T>;
  /** Sends a request to where a kind is served. */
  at: <T>(place: Place, request: Omit<RawRequest, 'path'>, subresource?: string) => Promise<T>;
}

function createReach(transport: Transport, discovery: Discovery, identity: Reach['identity']): Reach {
  const json: Reach['json'] = (raw) => transport.json({ ...raw, headers: { ...identity, ...raw.headers } });

  async function pathOf(place: Place, subresource?: string): Promise<string> {
    const type = await discovery.resolve(place.apiVersion, place.kind);
    const root = type.apiVersion.includes('/') ? `/apis/${type.apiVersion}` : `/api/${type.apiVersion}`;
    const scope =
      type.namespaced && place.namespace !== undefined
        ? `/namespaces/${encodeURIComponent(place.namespace)}`
        : '';
    const name = place.name === undefined ? '' : `/${encodeURIComponent(place.name)}`;
    return `${root}${scope}/${type.plural}${name}${subresource === undefined ? '' : `/${subresource}`}`;
  }

  return {
    identity,
    transport,
    pathOf,
    json,
    async at<T>(place: Place, request: Omit<RawRequest, 'path'>, subresource?: string): Promise<T> {
      const path = await pathOf(place, subresource);
      try {
        return await json<T>({ ...request, path });
      } catch (error) {
        // What is known of the kind may be out of date: if the kind is gone, this throws KindNotFound.
        if (error instanceof KubeError && error.reason === 'UnknownPath') {
          await discovery.resolve(place.apiVersion, place.kind, { anew: true });
        }
        throw error;
      }
    },
  };
}

function readsOf({
  identity,
  transport,
  pathOf,
  json,
  at,
}: Reach): Pick<KubeClient, 'get' | 'list' | 'watch' | 'raw' | 'text'> {
  return {
    async get(key, options) {
      try {
        return await at(key, { method: 'GET', ...callOf(options) });
      } catch (error) {
        if (isNotFound(error)) return undefined;
        throw error;
      }
    },
    async list<T>(type: { apiVersion: string; kind: string }, options?: ListOptions) {
      const { value: page, bytes } = await transport.sized<
        Omit<KubeList<T>, 'items'> & { items: T[] | null }
      >({
        method: 'GET',
        path: await pathOf(collectionOf(type, options)),
        query: selectionQuery(options),
        headers: { ...identity, ...(options?.metadataOnly === true && { accept: METADATA_LIST }) },
        ...(options?.maxBytes !== undefined && { maxBytes: options.maxBytes }),
        ...callOf(options),
      });
      // A metadata list without items has null here.
      return { ...page, items: page.items ?? [], bytes };
    },
    async *watch<T>(
      type: { apiVersion: string; kind: string },
      options: ListOptions & { resourceVersion: string; timeoutSeconds?: number },
    ): AsyncGenerator<WatchEvent<T>> {
      const body = await transport.stream({
        method: 'GET',
        path: await pathOf(collectionOf(type, options)),
        query: {
          ...selectionQuery(options),
          watch: true,
          allowWatchBookmarks: true,
          timeoutSeconds: options.timeoutSeconds ?? 290,
        },
        headers: identity,
        // The server sends a bookmark about once a minute, so silence for longer means a dead connection.
        timeoutMs: options.timeoutMs ?? 90_000,
        ...(options.signal !== undefined && { signal: options.signal }),
      });
      yield* readWatch<T>(body, options.signal);
    },
    raw: (raw) => json(raw),
    async text(raw, limitBytes) {
      const body = await transport.stream({ ...raw, headers: { ...identity, ...raw.headers } });
      const chunks: Buffer[] = [];
      let size = 0;
      for await (const chunk of body) {
        chunks.push(chunk as Buffer);
        size += (chunk as Buffer).length;
        if (size >= limitBytes) break;
      }
      return Buffer.concat(chunks).subarray(0, limitBytes).toString('utf8');
    },
  };
}

function writesOf({ at }: Reach): Pick<KubeClient, 'create' | 'replace' | 'patch' | 'delete'> {
  return {
    async create(object, options) {
      const { name: _, ...place } = keyOf(object);
      return at(place, { method: 'POST', query: writeQuery(options), body: object, ...callOf(options) });
    },
    async replace(object, options) {
      return at(
        keyOf(object),
        { method: 'PUT', query: writeQuery(options), body: object, ...callOf(options) },
        options?.subresource,
      );
    },
    async patch(key, patch, options) {
      return at(
        key,
        {
          method: 'PATCH',
          query: { ...writeQuery(options), ...(options.force === true && { force: true }) },
          body: patch,
          contentType: PATCH_TYPES[options.kind],
          ...callOf(options),
        },
        options.subresource,
      );
    },
    async delete(key, options) {
      try {
        await at(key, { method: 'DELETE', body: deleteBody(options), ...callOf(options) });
        return true;
      } catch (error) {
        if (isNotFound(error)) return false;
        throw error;
      }
    },
  };
}

/** The key of an object that carries its apiVersion and kind. */
export function keyOf(object: KubeObject): ObjectKey {
  const meta: KubeMeta = object.metadata;
  if (object.apiVersion === undefined || object.kind === undefined) {
    throw new Error(`object "${meta.name}" has no apiVersion or kind`);
  }
  return {
    apiVersion: object.apiVersion,
    kind: object.kind,
    name: meta.name,
    ...(meta.namespace !== undefined && { namespace: meta.namespace }),
  };
}
