/** ControllerRevisions that are named after their content: written once, then only marked as used. */
import { isDeepStrictEqual } from 'node:util';
import { keyOf } from '../../../kube/client.js';
import type { KubeClient } from '../../../kube/client.js';
import { isAlreadyExists, isNotFound, KubeError } from '../../../kube/error.js';
import type { KubeObject } from '../../../kube/object.js';
import type { OnWrite } from '../../core/status-writer.js';

/** The type of the objects that hold snapshots. */
export const REVISION_TYPE = { apiVersion: 'apps/v1', kind: 'ControllerRevision' } as const;

/** A ControllerRevision. The API server never lets its `data` change. */
export type Revision = KubeObject & { data?: unknown };

/** What revisions are written through. */
export interface RevisionWrites {
  kube: KubeClient;
  onWrite: OnWrite;
}

const KEEP_ATTEMPTS = 3;

/**
 * Stores a revision, or marks the stored one as used by giving it the new one's annotations. May be repeated.
 *
 * @throws Error when it is removed again after every attempt
 */
export async function keepRevision(writes: RevisionWrites, revision: Revision): Promise<void> {
  // The name is the digest: a revision of that name has the same content, written for another run. The sweep, or garbage
  // collection of what an earlier release has written, may come between the two steps.
  for (let attempt = 1; attempt <= KEEP_ATTEMPTS; attempt += 1) {
    if ((await create(writes, revision)) || (await renew(writes, revision)) === 'kept') return;
  }
  throw new Error(`ControllerRevision ${revision.metadata.name} is created and removed again and again`);
}

/** @returns false when a revision of that name exists */
async function create(writes: RevisionWrites, revision: Revision): Promise<boolean> {
  try {
    await counted(writes, 'create', () => writes.kube.create(revision));
    return true;
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
    return false;
  }
}

/**
 * Marks a stored revision as used now, and removes the owners that earlier releases have set: garbage collection must not
 * take it away from whoever names it now. A merge patch leaves the bytes of `data` as they are stored; a strategic one
 * writes them anew, in another order, which the API server refuses as a change.
 *
 * @returns `kept` when it exists and holds the content; `gone` also when it was removed so that it can be written anew
 */
async function renew(writes: RevisionWrites, revision: Revision): Promise<'kept' | 'gone'> {
  const { kube } = writes;
  const { annotations } = revision.metadata;
  try {
    const kept = await counted(writes, 'patch', () =>
      kube.patch<Revision>(
        keyOf(revision),
        { metadata: { annotations, ownerReferences: null } },
        { kind: 'merge' },
      ),
    );
    if (isDeepStrictEqual(kept.data, revision.data)) return 'kept';
  } catch (error) {
    if (isNotFound(error)) return 'gone';
    // Somebody else stored it in a form that every patch changes.
    if (!(error instanceof KubeError) || error.reason !== 'Invalid') throw error;
  }
  const found = await kube.get(keyOf(revision));
  const { uid, resourceVersion } = found?.metadata ?? {};
  if (uid === undefined || resourceVersion === undefined) return 'gone';
  await counted(writes, 'delete', () =>
    kube.delete(keyOf(revision), { uid, resourceVersion, propagationPolicy: 'Background' }),
  );
  return 'gone';
}

/** Reports the result of a request for the metrics. */
async function counted<T>(
  { onWrite }: RevisionWrites,
  verb: 'create' | 'patch' | 'delete',
  request: () => Promise<T>,
): Promise<T> {
  try {
    const done = await request();
    onWrite({ kind: REVISION_TYPE.kind, verb, result: 'ok' });
    return done;
  } catch (error) {
    onWrite({ kind: REVISION_TYPE.kind, verb, result: isAlreadyExists(error) ? 'conflict' : 'error' });
    throw error;
  }
}
