import { setTimeout as sleep } from 'node:timers/promises';
import { ANNOTATIONS, API_VERSION, LABELS } from '../../../api/core/group.js';
import { labelValue, snapshotLabel } from '../../../api/plan/naming.js';
import type { DRPlanExecution } from '../../../api/plan/types.js';
import { isConflict } from '../../../kube/error.js';
import type { KubeMeta, KubeObject } from '../../../kube/object.js';
import { listPages } from '../../../kube/pages.js';
import type { DrDeps } from '../types.js';

const TYPE = { apiVersion: 'apps/v1', kind: 'ControllerRevision' } as const;

/** What the sweep is made of. */
export interface SnapshotSweepOptions {
  /** How long a snapshot that no execution names is kept after it was last used, in milliseconds. */
  unusedMs: number;
  /** Time between two passes, in milliseconds. */
  intervalMs: number;
  /** Least time between two deletions, in milliseconds. */
  paceMs: number;
  /** Whether anything may be done; while not, passes do nothing. */
  mayAct: () => boolean;
  now?: () => number;
}

/** Removes snapshots that nobody can use any more. */
export interface SnapshotSweep {
  /** One pass. */
  sweep(signal: AbortSignal): Promise<void>;
  /** Passes until the signal aborts. Never rejects. */
  run(signal: AbortSignal): Promise<void>;
}

/**
 * Removes snapshots that were last used long ago and that no execution names. Executions are listed after the snapshots,
 * from the API server, and each deletion is of the very version that was judged: a start marks its snapshot as used before
 * its execution names it, so that one of the two is seen. Replicas that do the same meet Conflict or NotFound.
 *
 * A snapshot that an earlier release has stored and nobody has used since belongs to its owners: garbage collection
 * removes it with the last of them.
 */
export function createSnapshotSweep(
  deps: Pick<DrDeps, 'kube' | 'caches' | 'log'>,
  options: SnapshotSweepOptions,
): SnapshotSweep {
  const { kube, caches, log } = deps;
  const now = options.now ?? Date.now;

  const isUnused = ({ annotations, creationTimestamp, ownerReferences = [] }: KubeMeta): boolean => {
    const used = annotations?.[ANNOTATIONS.used];
    if (used === undefined && ownerReferences.length > 0) return false;
    const last = Date.parse(used ?? creationTimestamp ?? '');
    return last + options.unusedMs <= now();
  };

  /** Snapshots that were last used long ago, by namespace. */
  async function findUnused(signal: AbortSignal): Promise<Map<string, KubeMeta[]>> {
    const found = new Map<string, KubeMeta[]>();
    const selection = { labelSelector: LABELS.snapshot, metadataOnly: true, signal };
    for await (const { items } of listPages<KubeObject>(kube, TYPE, selection)) {
      for (const { metadata } of items) {
        if (!isUnused(metadata)) continue;
        const { name, namespace = '', uid, resourceVersion, labels } = metadata;
        const kept = {
          name,
          namespace,
          ...(uid !== undefined && { uid }),
          ...(resourceVersion !== undefined && { resourceVersion }),
          ...(labels !== undefined && { labels }),
        };
        found.set(namespace, [...(found.get(namespace) ?? []), kept]);
      }
    }
    return found;
  }

  /** Values of label `snapshot` that executions of a namespace name. */
  async function namedIn(namespace: string, signal: AbortSignal): Promise<Set<string>> {
    const named = new Set<string>();
    const type = { apiVersion: API_VERSION, kind: 'DRPlanExecution' };
    for await (const { items } of listPages<DRPlanExecution>(kube, type, { namespace, signal })) {
      for (const { status } of items) {
        if (status?.snapshotRef !== undefined) named.add(snapshotLabel(status.snapshotRef.digest));
      }
    }
    return named;
  }

  /** Plans on which a run may go on whose execution was removed by force: that run still reads the snapshot. */
  const busyIn = (namespace: string): Set<string> =>
    new Set(
      caches.plans
        .list()
        .filter(
          ({ metadata, status }) =>
            metadata.namespace === namespace && status?.currentExecution !== undefined,
        )
        .map(({ metadata }) => labelValue(metadata.name)),
    );

  async function remove({ name, namespace, uid, resourceVersion }: KubeMeta): Promise<boolean> {
    if (uid === undefined || resourceVersion === undefined) return false;
    try {
      return await kube.delete(
        { ...TYPE, name, ...(namespace !== undefined && { namespace }) },
        { uid, resourceVersion, propagationPolicy: 'Background' },
      );
    } catch (error) {
      if (isConflict(error)) return false;
      throw error;
    }
  }

  async function sweep(signal: AbortSignal): Promise<void> {
    if (!options.mayAct()) return;
    for (const [namespace, revisions] of await findUnused(signal)) {
      const named = await namedIn(namespace, signal);
      const busy = busyIn(namespace);
      let removed = 0;
      for (const revision of revisions) {
        if (signal.aborted || !options.mayAct()) return;
        const { [LABELS.snapshot]: digest = '', [LABELS.plan]: plan = '' } = revision.labels ?? {};
        if (named.has(digest) || busy.has(plan) || !(await remove(revision))) continue;
        removed += 1;
        await sleep(options.paceMs, undefined, { signal }).catch(() => undefined);
      }
      if (removed > 0) {
        log.info({ namespace, revisions: removed }, 'removed snapshots that no execution names any more');
      }
    }
  }

  return {
    sweep,
    async run(signal) {
      while (!signal.aborted) {
        await sleep(options.intervalMs * (0.9 + Math.random() / 5), undefined, { signal }).catch(
          () => undefined,
        );
        if (signal.aborted) return;
        await sweep(signal).catch((error: unknown) => {
          if (!signal.aborted) log.warn({ err: error }, 'could not remove unused snapshots; trying again');
        });
      }
    },
  };
}
