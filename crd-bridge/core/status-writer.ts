import { KubeError, isConflict, isNotFound } from '../../kube/error.js';
import type { KubeClient } from '../../kube/client.js';
import type { Cacheable, Informer } from '../../kube/informer.js';
import { diffFields } from './json-diff.js';
import type { PatchOperation } from './json-diff.js';
import type { ObjectRef } from './object-ref.js';

/** How a projection makes a status out of an object. Pure: it is called again after a conflict. */
export type Projection<T> = (object: T) => object | undefined;

/** How a write ended. */
export type WriteResult<T> =
  | { kind: 'written' | 'unchanged'; object: T }
  /** The object no longer exists, or another one has its name. */
  | { kind: 'gone' };

/** Writes of an object, each under its resourceVersion. */
export interface StatusWriter {
  /**
   * Brings the status to what the projection says. Reads from the cache, writes only what differs, and reads again
   * when the cache was late; a newer status is never overwritten unseen.
   *
   * @param options.smaller makes a status that is sure to be accepted, for when one is refused for its size or content
   * @param options.live reads from the API server at once
   * @param options.confirm reads from the API server before it believes the cache that there is nothing to write: for a
   * write that others build on
   */
  status<T extends Cacheable>(
    informer: Informer<T>,
    ref: ObjectRef,
    project: Projection<T>,
    options?: { smaller?: (status: object) => object; live?: boolean; confirm?: boolean },
  ): Promise<WriteResult<T>>;
  /** Writes metadata in the same way: labels, annotations, finalizers. */
  metadata<T extends Cacheable>(
    informer: Informer<T>,
    ref: ObjectRef,
    project: (object: T) => MetadataFields | undefined,
    options?: {
      /** The whole object as the caller has just read or written it; used instead of the cache at first. */
      known?: T;
    },
  ): Promise<WriteResult<T>>;
}

/** Fields of metadata that a bridge writes. */
export interface MetadataFields {
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
  finalizers?: string[];
}

/** Called with the result of every write request, for the metrics. */
export type OnWrite = (write: {
  kind: string;
  verb: 'create' | 'patch' | 'delete';
  result: 'ok' | 'conflict' | 'error';
}) => void;

const ATTEMPTS = 8;

/** A writer over a raw client. */
export function createStatusWriter(kube: KubeClient, onWrite: OnWrite): StatusWriter {
  return {
    status: (informer, ref, project, options = {}) =>
      write(
        { kube, onWrite, informer, ref },
        (object, isReduced) => statusChanges(object, project, isReduced ? options.smaller : undefined),
        {
          subresource: 'status',
          live: options.live === true,
          confirm: options.confirm === true,
          canReduce: options.smaller !== undefined,
        },
      ),
    metadata: (informer, ref, project, options) =>
      write(
        { kube, onWrite, informer, ref },
        (object) => {
          const fields = project(object);
          return fields && diffFields('/metadata', pick(object, fields), fields);
        },
        { ...(options?.known !== undefined && { known: options.known }) },
      ),
  };
}

/** The object that a write is for, and what it goes through. */
interface Target<T extends Cacheable> {
  kube: KubeClient;
  onWrite: OnWrite;
  informer: Informer<T>;
  ref: ObjectRef;
}

/** @param build makes the changes to an object; `isReduced` once they were refused for their size or content */
async function write<T extends Cacheable>(
  target: Target<T>,
  build: (object: T, isReduced: boolean) => PatchOperation[] | undefined,
  options: { subresource?: 'status'; live?: boolean; confirm?: boolean; canReduce?: boolean; known?: T },
): Promise<WriteResult<T>> {
  const {
    onWrite,
    informer: { kind },
  } = target;
  let isLive = options.live === true;
  let isReduced = false;
  for (let attempt = 1; ; attempt += 1) {
    const current = await read(target, { isLive, known: options.known });
    if (current === undefined) return { kind: 'gone' };
    const { object, isCached } = current;
    const changes = build(object, isReduced);
    if (changes === undefined || changes.length === 0) {
      if (!isCached || options.confirm !== true) return { kind: 'unchanged', object };
      isLive = true;
      continue;
    }
    try {
      const written = await patch(target, object, changes, options.subresource);
      onWrite({ kind, verb: 'patch', result: 'ok' });
      target.informer.learn(written);
      return { kind: 'written', object: written };
    } catch (error) {
      onWrite({ kind, verb: 'patch', result: isConflict(error) ? 'conflict' : 'error' });
      if (isNotFound(error)) return { kind: 'gone' };
      if (isConflict(error) && attempt < ATTEMPTS) {
        isLive = true;
      } else if (isRefused(error) && options.canReduce === true && !isReduced) {
        isReduced = true;
      } else {
        throw error;
      }
    }
  }
}

/** The object as it is known, read from the API server where it is not; undefined when it is gone. */
async function read<T extends Cacheable>(
  { kube, informer, ref }: Target<T>,
  { isLive, known }: { isLive: boolean; known: T | undefined },
): Promise<{ object: T; isCached: boolean } | undefined> {
  const cached = isLive ? undefined : (known ?? informer.get(ref.namespace, ref.name));
  // A stub lacks parts of what is stored; a write computed from it would remove them.
  if (cached !== undefined && cached.stub === undefined && cached.metadata.uid === ref.uid) {
    return { object: cached, isCached: true };
  }
  const object = await kube.get<T>(objectKey(informer, ref));
  if (object === undefined || object.metadata.uid !== ref.uid) return undefined;
  informer.learn(object);
  return { object, isCached: false };
}

/** Setting the version makes the server compare it; it answers a mismatch with Conflict, not with a failed test. */
function patch<T extends Cacheable>(
  { kube, informer, ref }: Target<T>,
  { metadata: { resourceVersion } }: T,
  changes: readonly PatchOperation[],
  subresource: 'status' | undefined,
): Promise<T> {
  const precondition = { op: 'replace', path: '/metadata/resourceVersion', value: resourceVersion } as const;
  return kube.patch<T>(objectKey(informer, ref), [precondition, ...changes], {
    kind: 'json',
    ...(subresource !== undefined && { subresource }),
  });
}

const objectKey = (
  { apiVersion, kind }: Pick<Informer, 'apiVersion' | 'kind'>,
  { namespace, name }: ObjectRef,
): Parameters<KubeClient['get']>[0] => ({
  apiVersion,
  kind,
  ...(namespace !== undefined && { namespace }),
  name,
});

function statusChanges<T extends Cacheable>(
  object: T,
  project: Projection<T>,
  smaller: ((status: object) => object) | undefined,
): PatchOperation[] | undefined {
  const projected = project(object);
  if (projected === undefined) return undefined;
  const next = smaller === undefined ? projected : smaller(projected);
  const status = object.status;
  return status === undefined
    ? [{ op: 'add', path: '/status', value: next }]
    : diffFields('/status', status, next);
}

function pick({ metadata }: Cacheable, fields: MetadataFields): MetadataFields {
  const { labels, annotations, finalizers } = metadata;
  return {
    ...(fields.labels !== undefined && { labels }),
    ...(fields.annotations !== undefined && { annotations }),
    ...(fields.finalizers !== undefined && { finalizers }),
  };
}

/** Whether a write was refused as too large or as not matching the schema. */
const isRefused = (error: unknown): boolean =>
  error instanceof KubeError &&
  (error.code === 413 ||
    error.code === 422 ||
    // etcd's own limit comes back as an internal error.
    /request is too large|too large/i.test(error.message));
