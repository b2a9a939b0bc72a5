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
  async function write<T extends Cacheable>(
    informer: Informer<T>,
    ref: ObjectRef,
    build: (object: T, attempt: { reduced: boolean }) => PatchOperation[] | undefined,
    options: { subresource?: 'status'; live?: boolean; confirm?: boolean; canReduce?: boolean; known?: T },
  ): Promise<WriteResult<T>> {
    const { apiVersion, kind } = informer;
    const key = {
      apiVersion,
      kind,
      ...(ref.namespace !== undefined && { namespace: ref.namespace }),
      name: ref.name,
    };
    let live = options.live === true;
    let reduced = false;
    for (let attempt = 1; ; attempt += 1) {
      const known = live ? undefined : (options.known ?? informer.get(ref.namespace, ref.name));
      // A stub lacks parts of what is stored; a write computed from it would remove them.
      let current = known?.stub === undefined ? known : undefined;
      const isCached = current !== undefined && current.metadata.uid === ref.uid;
      if (current === undefined || current.metadata.uid !== ref.uid) {
        current = await kube.get<T>(key);
        if (current === undefined || current.metadata.uid !== ref.uid) return { kind: 'gone' };
        informer.learn(current);
      }
      const operations = build(current, { reduced });
      if (operations === undefined || operations.length === 0) {
        if (!isCached || options.confirm !== true) return { kind: 'unchanged', object: current };
        live = true;
        continue;
      }
      // Setting the version makes the server compare it; it answers a mismatch with Conflict, not with a failed test.
      const patch: PatchOperation[] = [
        { op: 'replace', path: '/metadata/resourceVersion', value: current.metadata.resourceVersion },
        ...operations,
      ];
      try {
        const written = await kube.patch<T>(key, patch, {
          kind: 'json',
          ...(options.subresource !== undefined && { subresource: options.subresource }),
        });
        onWrite({ kind, verb: 'patch', result: 'ok' });
        informer.learn(written);
        return { kind: 'written', object: written };
      } catch (error) {
        onWrite({ kind, verb: 'patch', result: isConflict(error) ? 'conflict' : 'error' });
        if (isNotFound(error)) return { kind: 'gone' };
        if (isConflict(error) && attempt < ATTEMPTS) {
          live = true;
        } else if (isRefused(error) && options.canReduce === true && !reduced) {
          reduced = true;
        } else {
          throw error;
        }
      }
    }
  }

  return {
    status: (informer, ref, project, options) =>
      write(
        informer,
        ref,
        (object, { reduced }) => {
          const projected = project(object);
          if (projected === undefined) return undefined;
          const next = reduced && options?.smaller !== undefined ? options.smaller(projected) : projected;
          const status = object.status;
          return status === undefined
            ? [{ op: 'add', path: '/status', value: next }]
            : diffFields('/status', status, next);
        },
        {
          subresource: 'status',
          ...(options?.live !== undefined && { live: options.live }),
          ...(options?.confirm !== undefined && { confirm: options.confirm }),
          canReduce: options?.smaller !== undefined,
        },
      ),
    metadata: (informer, ref, project, options) =>
      write(
        informer,
        ref,
        (object) => {
          const fields = project(object);
          return fields && diffFields('/metadata', pick(object, fields), fields);
        },
        { ...(options?.known !== undefined && { known: options.known }) },
      ),
  };
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
