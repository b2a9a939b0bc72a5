import { API_VERSION, LABELS } from '../../api/group.js';
import { isObject } from '../../api/json.js';
import { labelValue, snapshotName, snapshotPartName } from '../../api/naming.js';
import { decodeSnapshot, encodeSnapshot } from '../../api/snapshot.js';
import type { Snapshot } from '../../api/snapshot.js';
import { isAlreadyExists, isNotFound } from '../../kube/error.js';
import type { KubeClient } from '../../kube/client.js';
import type { KubeObject } from '../../kube/object.js';
import type { SnapshotRef } from '../../workflows/contract.js';
import type { OnWrite } from '../core/status-writer.js';
import type { Refusal } from './gates.js';

const KEEP_ATTEMPTS = 3;
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

/** The execution for which a snapshot is written. */
export interface SnapshotOwner {
  name: string;
  uid: string;
}

/** A store over the API server. */
export function createSnapshotStore(kube: KubeClient, onWrite: OnWrite): SnapshotStore {
  /** @returns false when an object of the name is there */
  async function create(revision: KubeObject): Promise<boolean> {
    try {
      await kube.create(revision);
      onWrite({ kind: TYPE.kind, verb: 'create', result: 'ok' });
      return true;
    } catch (error) {
      onWrite({ kind: TYPE.kind, verb: 'create', result: isAlreadyExists(error) ? 'conflict' : 'error' });
      if (!isAlreadyExists(error)) throw error;
      return false;
    }
  }

  /**
   * Makes the execution an owner too, beside those there are: the list is merged by uid.
   *
   * @returns false when the object is not there any more
   */
  async function own({ metadata }: KubeObject): Promise<boolean> {
    const { name, namespace, ownerReferences } = metadata;
    const key = { ...TYPE, name, ...(namespace !== undefined && { namespace }) };
    try {
      await kube.patch(key, { metadata: { ownerReferences } }, { kind: 'strategic' });
      onWrite({ kind: TYPE.kind, verb: 'patch', result: 'ok' });
      return true;
    } catch (error) {
      onWrite({ kind: TYPE.kind, verb: 'patch', result: 'error' });
      if (!isNotFound(error)) throw error;
      return false;
    }
  }

  async function keep(revision: KubeObject): Promise<void> {
    // Its name is its digest: what is there is the same, written for another run. When that is deleted in this very
    // moment, garbage collection may come between the two steps.
    for (let attempt = 1; attempt <= KEEP_ATTEMPTS; attempt += 1) {
      if ((await create(revision)) || (await own(revision))) return;
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
        async write(execution) {
          await Promise.all(
            encoded.parts.map((data, index) =>
              keep({
                ...TYPE,
                metadata: {
                  name: snapshotPartName(name, index),
                  namespace,
                  labels: {
                    [LABELS.plan]: labelValue(planName),
                    [LABELS.snapshot]: encoded.digest.slice(0, 63),
                  },
                  // Executions alone: a snapshot is of use as long as one that ran it can be reverted, and goes with the
                  // last of them; a plan that is deleted in the middle of a run takes nothing away.
                  ownerReferences: [{ apiVersion: API_VERSION, kind: 'DRPlanExecution', ...execution }],
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
