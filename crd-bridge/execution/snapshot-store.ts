import { API_VERSION, LABELS } from '../../api/group.js';
import { isObject } from '../../api/json.js';
import { labelValue, snapshotName, snapshotPartName } from '../../api/naming.js';
import { decodeSnapshot, encodeSnapshot } from '../../api/snapshot.js';
import type { Snapshot } from '../../api/snapshot.js';
import { isAlreadyExists } from '../../kube/error.js';
import type { KubeClient } from '../../kube/client.js';
import type { KubeObject } from '../../kube/object.js';
import type { SnapshotRef } from '../../workflows/contract.js';
import type { OnWrite } from '../core/status-writer.js';
import type { Refusal } from './gates.js';

const TYPE = { apiVersion: 'apps/v1', kind: 'ControllerRevision' } as const;

/** Keeps what runs execute, as ControllerRevisions named after their content. */
export interface SnapshotStore {
  /** Where a snapshot will be kept, or why it cannot be. */
  locate(
    snapshot: Snapshot,
  ):
    | { ok: true; ref: SnapshotRef; write: (owner: SnapshotOwner) => Promise<void> }
    | { ok: false; refusal: Refusal };
  /** @throws Error when it is not there or was changed */
  read(ref: Pick<SnapshotRef, 'name' | 'namespace' | 'digest'>): Promise<Snapshot>;
}

/** For whom a snapshot is written. */
export interface SnapshotOwner {
  plan: { name: string; uid: string };
  execution: { name: string; uid: string };
}

/** A store over the API server. */
export function createSnapshotStore(kube: KubeClient, onWrite: OnWrite): SnapshotStore {
  async function create(revision: KubeObject): Promise<void> {
    try {
      await kube.create(revision);
      onWrite({ kind: TYPE.kind, verb: 'create', result: 'ok' });
    } catch (error) {
      onWrite({ kind: TYPE.kind, verb: 'create', result: isAlreadyExists(error) ? 'conflict' : 'error' });
      // Its name is its digest: what is there is the same, written by an earlier run or another replica.
      if (!isAlreadyExists(error)) throw error;
    }
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
        async write({ plan, execution }) {
          await Promise.all(
            encoded.parts.map((data, index) =>
              create({
                ...TYPE,
                metadata: {
                  name: snapshotPartName(name, index),
                  namespace,
                  labels: {
                    [LABELS.plan]: labelValue(planName),
                    [LABELS.snapshot]: encoded.digest.slice(0, 63),
                  },
                  // The execution too: a plan that is deleted in the middle of a run must not take away what it runs.
                  ownerReferences: [
                    { apiVersion: API_VERSION, kind: 'DRPlan', name: plan.name, uid: plan.uid },
                    {
                      apiVersion: API_VERSION,
                      kind: 'DRPlanExecution',
                      name: execution.name,
                      uid: execution.uid,
                    },
                  ],
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
        const revision = await kube.get<KubeObject & { data?: unknown }>(key);
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
