import { LRUCache } from 'lru-cache';
import { snapshotPartName } from '../../api/plan/naming.js';
import { decodeSnapshot } from '../../api/plan/snapshot/snapshot.js';
import type { Snapshot } from '../../api/plan/snapshot/snapshot.js';
import type { KubeClient } from '../../kube/client.js';
import { KubeError } from '../../kube/error.js';
import type { KubeObject } from '../../kube/object.js';
import type { SnapshotRef } from '../../workflows/plan/contract.js';

/** What runs execute, read from the cluster and kept while it is used. */
export interface SnapshotStore {
  /**
   * The snapshot of a run.
   *
   * @throws {@link SnapshotError} when a part is missing, may not be read or does not match the digest; KubeError when the
   * API gives no answer
   */
  read(ref: SnapshotRef): Promise<Snapshot>;
}

/** A snapshot that is gone, tampered with or out of reach: trying again does not help. */
export class SnapshotError extends Error {
  override readonly name = 'SnapshotError';
}

/** A snapshot may take several megabytes, and few runs are that large at once. */
const KEPT = 16;

/** Reads snapshots with the controller's own identity: they belong to the run, not to the action. */
export function createSnapshotStore(home: KubeClient): SnapshotStore {
  const cache = new LRUCache<string, Promise<Snapshot>>({ max: KEPT });

  async function load(ref: SnapshotRef): Promise<Snapshot> {
    const parts = await Promise.all(
      Array.from({ length: ref.parts }, async (_, index) => {
        const name = snapshotPartName(ref.name, index);
        const part = await home
          .get<KubeObject & { data?: unknown }>({
            apiVersion: 'apps/v1',
            kind: 'ControllerRevision',
            namespace: ref.namespace,
            name,
          })
          .catch((error: unknown) => {
            if (!(error instanceof KubeError) || error.code !== 403) throw error;
            throw new SnapshotError(
              `what this run executes cannot be read: ${error.message}; grant the worker "get" on controllerrevisions.apps in namespace ${ref.namespace}`,
            );
          });
        if (part === undefined) {
          throw new SnapshotError(
            `ControllerRevision ${ref.namespace}/${name}, which keeps what this run executes, is gone; start a new execution`,
          );
        }
        return part.data;
      }),
    );
    try {
      return decodeSnapshot(parts, ref.digest);
    } catch (error) {
      throw new SnapshotError(
        `ControllerRevision ${ref.namespace}/${ref.name}: ${error instanceof Error ? error.message : String(error)}; start a new execution`,
      );
    }
  }

  return {
    read(ref) {
      const known = cache.get(ref.digest);
      if (known !== undefined) return known;
      const loading = load(ref);
      cache.set(ref.digest, loading);
      loading.catch(() => {
        if (cache.peek(ref.digest) === loading) cache.delete(ref.digest);
      });
      return loading;
    },
  };
}
