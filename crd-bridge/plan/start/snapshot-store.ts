import { ANNOTATIONS, LABELS } from '../../../api/core/group.js';
import { isObject } from '../../../api/core/json.js';
import type { Refusal } from '../../../api/core/refusal.js';
import { labelValue, snapshotLabel, snapshotName, snapshotPartName } from '../../../api/plan/naming.js';
import { decodeSnapshot, encodeSnapshot } from '../../../api/plan/snapshot/snapshot.js';
import type { Snapshot } from '../../../api/plan/snapshot/snapshot.js';
import type { KubeClient } from '../../../kube/client.js';
import type { SnapshotRef } from '../../../workflows/plan/contract.js';
import type { OnWrite } from '../../core/status-writer.js';
import { keepRevision, REVISION_TYPE } from './revisions.js';
import type { Revision } from './revisions.js';

/** Keeps what runs execute, as ControllerRevisions named after their content. */
export interface SnapshotStore {
  /**
   * Where a snapshot will be kept, or why it cannot be. `write` stores the parts that are missing and marks all of them as
   * used now; it may be repeated.
   */
  locate(
    snapshot: Snapshot,
  ): { ok: true; ref: SnapshotRef; write: () => Promise<void> } | { ok: false; refusal: Refusal };
  /** @throws Error when it is not there or was changed */
  read(ref: Pick<SnapshotRef, 'name' | 'namespace' | 'digest'>): Promise<Snapshot>;
}

/**
 * A store over the API server. A revision belongs to no execution: one that runs the content again marks it as used, so
 * that nothing on it grows with the number of runs. The snapshot sweep removes what nobody names any more.
 */
export function createSnapshotStore(
  kube: KubeClient,
  onWrite: OnWrite,
  now: () => Date = () => new Date(),
): SnapshotStore {
  return {
    locate(snapshot) {
      const encoded = encodeSnapshot(snapshot);
      if (!encoded.ok) return { ok: false, refusal: encoded.problem };
      const { digest, parts } = encoded;
      const { namespace, name: planName } = snapshot.plan;
      const name = snapshotName({ planName, digest });
      const labels = { [LABELS.plan]: labelValue(planName), [LABELS.snapshot]: snapshotLabel(digest) };
      return {
        ok: true,
        ref: { name, namespace, digest, parts: parts.length },
        async write() {
          const annotations = { [ANNOTATIONS.used]: now().toISOString() };
          await Promise.all(
            parts.map((data, index) =>
              keepRevision(
                { kube, onWrite },
                {
                  ...REVISION_TYPE,
                  metadata: { name: snapshotPartName(name, index), namespace, labels, annotations },
                  revision: 1,
                  data,
                },
              ),
            ),
          );
        },
      };
    },
    async read(ref) {
      const first = await readPart(kube, ref, 0);
      const total = isObject(first) && typeof first.total === 'number' ? first.total : 1;
      const rest = await Promise.all(
        Array.from({ length: total - 1 }, (_, index) => readPart(kube, ref, index + 1)),
      );
      return decodeSnapshot([first, ...rest], ref.digest);
    },
  };
}

async function readPart(
  kube: KubeClient,
  { namespace, name }: Pick<SnapshotRef, 'name' | 'namespace'>,
  index: number,
): Promise<unknown> {
  const key = { ...REVISION_TYPE, namespace, name: snapshotPartName(name, index) };
  const revision = await kube.get<Revision>(key);
  if (revision !== undefined) return revision.data;
  throw new Error(`ControllerRevision ${namespace}/${key.name}, which keeps what was run, does not exist`);
}
