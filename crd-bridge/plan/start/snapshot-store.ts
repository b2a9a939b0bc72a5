import { isDeepStrictEqual } from 'node:util';
import { ANNOTATIONS, LABELS } from '../../../api/core/group.js';
import { isObject } from '../../../api/core/json.js';
import { labelValue, snapshotLabel, snapshotName, snapshotPartName } from '../../../api/plan/naming.js';
import { decodeSnapshot, encodeSnapshot } from '../../../api/plan/snapshot/snapshot.js';
import type { Snapshot } from '../../../api/plan/snapshot/snapshot.js';
import { keyOf } from '../../../kube/client.js';
import type { KubeClient } from '../../../kube/client.js';
import { isAlreadyExists, isNotFound, KubeError } from '../../../kube/error.js';
import type { KubeObject } from '../../../kube/object.js';
import type { SnapshotRef } from '../../../workflows/plan/contract.js';
import type { OnWrite } from '../../core/status-writer.js';
import type { Refusal } from './gates.js';

const KEEP_ATTEMPTS = 3;
const TYPE = { apiVersion: 'apps/v1', kind: 'ControllerRevision' } as const;

/** Keeps what runs execute, as ControllerRevisions named after their content. */
export interface SnapshotStore {
  /**
   * Where a snapshot will be kept, or why it cannot be. `write` stores what is not there yet and marks all of it as used
   * now; it can be repeated.
   */
  locate(
    snapshot: Snapshot,
  ): { ok: true; ref: SnapshotRef; write: () => Promise<void> } | { ok: false; refusal: Refusal };
  /** @throws Error when it is not there or was changed */
  read(ref: Pick<SnapshotRef, 'name' | 'namespace' | 'digest'>): Promise<Snapshot>;
}

type Revision = KubeObject & { data?: unknown };

/**
 * A store over the API server. A revision belongs to no execution: one that runs the content again marks it as used, so
 * that nothing on it grows with the number of runs. The snapshot sweep removes what nobody names any more.
 */
export function createSnapshotStore(
  kube: KubeClient,
  onWrite: OnWrite,
  now: () => Date = () => new Date(),
): SnapshotStore {
  async function told<T>(verb: 'create' | 'patch' | 'delete', work: () => Promise<T>): Promise<T> {
    try {
      const done = await work();
      onWrite({ kind: TYPE.kind, verb, result: 'ok' });
      return done;
    } catch (error) {
      onWrite({ kind: TYPE.kind, verb, result: isAlreadyExists(error) ? 'conflict' : 'error' });
      throw error;
    }
  }

  /** @returns false when an object of that name exists */
  async function create(revision: Revision): Promise<boolean> {
    try {
      await told('create', () => kube.create(revision));
      return true;
    } catch (error) {
      if (!isAlreadyExists(error)) throw error;
      return false;
    }
  }

  /**
   * Marks what is stored as used now, and removes the owners that earlier releases have set: garbage collection must
   * not take it away from whoever names it now. A merge patch leaves the bytes of `data` as they are stored; a
   * strategic one writes them anew, in another order, which the API server refuses as a change.
   *
   * @returns whether it exists and holds the content; also `gone` when it had to be removed to be written anew
   */
  async function renew(revision: Revision): Promise<'kept' | 'gone'> {
    const { annotations } = revision.metadata;
    try {
      const kept = await told('patch', () =>
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
    await told('delete', () =>
      kube.delete(keyOf(revision), { uid, resourceVersion, propagationPolicy: 'Background' }),
    );
    return 'gone';
  }

  async function keep(revision: Revision): Promise<void> {
    // The name is the digest: what is stored is the same, written for another run. The sweep, or garbage collection of
    // what an earlier release has written, may come between the two steps.
    for (let attempt = 1; attempt <= KEEP_ATTEMPTS; attempt += 1) {
      if ((await create(revision)) || (await renew(revision)) === 'kept') return;
    }
    throw new Error(`ControllerRevision ${revision.metadata.name} is created and removed again and again`);
  }

  return {
    locate(snapshot) {
      const encoded = encodeSnapshot(snapshot);
      if (!encoded.ok) return { ok: false, refusal: encoded.problem };
      const { namespace, name: planName } = snapshot.plan;
      const name = snapshotName({ planName, digest: encoded.digest });
      return {
        ok: true,
        ref: { name, namespace, digest: encoded.digest, parts: encoded.parts.length },
        async write() {
          const used = now().toISOString();
          await Promise.all(
            encoded.parts.map((data, index) =>
              keep({
                ...TYPE,
                metadata: {
                  name: snapshotPartName(name, index),
                  namespace,
                  labels: {
                    [LABELS.plan]: labelValue(planName),
                    [LABELS.snapshot]: snapshotLabel(encoded.digest),
                  },
                  annotations: { [ANNOTATIONS.used]: used },
                },
                revision: 1,
                data,
              }),
            ),
          );
        },
      };
    },
    async read({ namespace, name, digest }) {
      const part = async (index: number): Promise<unknown> => {
        const key = { ...TYPE, namespace, name: snapshotPartName(name, index) };
        const revision = await kube.get<Revision>(key);
        if (revision !== undefined) return revision.data;
        throw new Error(
          `ControllerRevision ${namespace}/${key.name}, which keeps what was run, does not exist`,
        );
      };
      const first = await part(0);
      const total = isObject(first) && typeof first.total === 'number' ? first.total : 1;
      const rest = await Promise.all(Array.from({ length: total - 1 }, (_, index) => part(index + 1)));
      return decodeSnapshot([first, ...rest], digest);
    },
  };
}
