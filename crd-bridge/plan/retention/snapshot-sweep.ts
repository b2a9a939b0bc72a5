import { ANNOTATIONS, API_VERSION, LABELS } from '../../../api/core/group.js';
import { labelValue, snapshotLabel } from '../../../api/plan/naming.js';
import type { DRPlan, DRPlanExecution } from '../../../api/plan/types.js';
import type { KubeClient } from '../../../kube/client.js';
import type { KubeMeta, KubeObject } from '../../../kube/object.js';
import { listPages } from '../../../kube/pages.js';
import { pause, spread } from '../../core/pause.js';
import { REVISION_TYPE } from '../start/revisions.js';
import type { DrDeps } from '../types.js';
import { deleteJudged } from './delete-judged.js';

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

  async function sweep(signal: AbortSignal): Promise<void> {
    if (!options.mayAct()) return;
    const unused = await findUnused(kube, now() - options.unusedMs, signal);
    for (const [namespace, revisions] of unused) {
      const named = await namedIn(kube, namespace, signal);
      const busy = busyIn(caches.plans.list(), namespace);
      let removed = 0;
      for (const revision of revisions) {
        if (signal.aborted || !options.mayAct()) return;
        const { [LABELS.snapshot]: digest = '', [LABELS.plan]: plan = '' } = revision.labels ?? {};
        if (named.has(digest) || busy.has(plan)) continue;
        if (!(await deleteJudged(kube, REVISION_TYPE, revision))) continue;
        removed += 1;
        await pause(options.paceMs, signal);
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
        await pause(spread(options.intervalMs), signal);
        if (signal.aborted) return;
        await sweep(signal).catch((error: unknown) => {
          if (!signal.aborted) log.warn({ err: error }, 'could not remove unused snapshots; trying again');
        });
      }
    },
  };
}

/**
 * Snapshots that were last used before a moment, by namespace.
 *
 * @param before in milliseconds since the epoch
 */
async function findUnused(
  kube: KubeClient,
  before: number,
  signal: AbortSignal,
): Promise<Map<string, KubeMeta[]>> {
  const found = new Map<string, KubeMeta[]>();
  const selection = { labelSelector: LABELS.snapshot, metadataOnly: true, signal };
  for await (const { items } of listPages<KubeObject>(kube, REVISION_TYPE, selection)) {
    for (const { metadata } of items) {
      if (!isUnused(metadata, before)) continue;
      const kept = judgedPart(metadata);
      found.set(kept.namespace, [...(found.get(kept.namespace) ?? []), kept]);
    }
  }
  return found;
}

function isUnused(
  { annotations, creationTimestamp, ownerReferences = [] }: KubeMeta,
  before: number,
): boolean {
  const used = annotations?.[ANNOTATIONS.used];
  if (used === undefined && ownerReferences.length > 0) return false;
  return Date.parse(used ?? creationTimestamp ?? '') <= before;
}

/** The part of the metadata that a deletion needs: thousands may be kept until their turn. */
function judgedPart({
  name,
  namespace = '',
  uid,
  resourceVersion,
  labels,
}: KubeMeta): KubeMeta & { namespace: string } {
  return {
    name,
    namespace,
    ...(uid !== undefined && { uid }),
    ...(resourceVersion !== undefined && { resourceVersion }),
    ...(labels !== undefined && { labels }),
  };
}

/** Values of label `snapshot` that executions of a namespace name. */
async function namedIn(kube: KubeClient, namespace: string, signal: AbortSignal): Promise<Set<string>> {
  const named = new Set<string>();
  const type = { apiVersion: API_VERSION, kind: 'DRPlanExecution' };
  for await (const { items } of listPages<DRPlanExecution>(kube, type, { namespace, signal })) {
    for (const { status } of items) {
      if (status?.snapshotRef !== undefined) named.add(snapshotLabel(status.snapshotRef.digest));
    }
  }
  return named;
}

/**
 * Values of label `plan` of the plans that are locked: the execution that holds one may have been removed by force, while
 * its run goes on and still reads the snapshot.
 */
const busyIn = (plans: readonly DRPlan[], namespace: string): Set<string> =>
  new Set(
    plans
      .filter(
        ({ metadata, status }) => metadata.namespace === namespace && status?.currentExecution !== undefined,
      )
      .map(({ metadata }) => labelValue(metadata.name)),
  );
