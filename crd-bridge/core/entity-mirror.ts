import { ApplicationFailure } from '@temporalio/common';
import { LRUCache } from 'lru-cache';
import { isObject } from '../../api/core/json.js';
import type { Sealer } from '../../api/core/seal.js';
import type { Workflows } from '../../client/runs/workflows.js';
import type { Cacheable, Informer } from '../../kube/informer.js';
import type { MirrorEnvelope } from '../../workflows/core/contract.js';
import type { EntitySaid, RecordUpdate } from '../../workflows/core/contract-entity.js';
import { sealedEntity } from '../../workflows/core/sealed-entity.js';
import { createBatches } from './batches.js';
import type { EntityKind } from './entity.js';
import type { MirrorRow } from './mirror-endpoint.js';
import type { Services } from './services.js';

/** What a kind says about laying updates into its status. */
export interface EntityProjection<T extends Cacheable> {
  /** The status with an update laid into it. Pure; undefined where nothing changes. */
  merge(object: T, update: unknown): object | undefined;
  /** Newest update that the status shows of a speaker. */
  mark(object: T, speaker: string): Mark | undefined;
  /** The status with that mark. Pure. */
  withMark(status: object, speaker: string, mark: Mark): object;
  /** Labels and annotations that its workflow may write. */
  recordable(key: string): boolean;
}

/** Place of an update in the order of those of one speaker. */
export interface Mark {
  epoch: number;
  sequence: number;
}

/** What it is built from. */
export interface EntityMirrorOptions<T extends Cacheable> extends Pick<
  Services,
  'kube' | 'mutex' | 'writer'
> {
  kind: EntityKind<T>;
  projection: EntityProjection<T>;
  cache: Informer<T>;
  workflows: Workflows;
  verify: Sealer['verify'];
  /** The workflow that asks, as Temporal states it; undefined where none does. */
  caller: () => { workflowId: string; runId: string } | undefined;
}

/** A workflow speaks before its epoch is in status; Temporal tries again in a moment. */
class NotRecordedError extends Error {
  override readonly name = 'NotRecordedError';
}

/** First runs of so many callers are kept: one never changes. */
const KEPT_CALLERS = 10_000;

/**
 * How the workflows of a kind of entities get into status. The one who speaks must carry the bridge's seal, be the
 * workflow that the seal names, and belong to the chain of runs that the bridge itself has recorded: an input that was
 * copied out of a history and started again speaks for nobody.
 */
export function createEntityMirror<T extends Cacheable>(
  options: EntityMirrorOptions<T>,
): Omit<MirrorRow, 'heard'> {
  const { cache, kind, projection, mutex, writer } = options;
  const vouch = createEntityVouching(options);
  const keyOf = ({ object }: MirrorEnvelope): string => `${cache.kind} ${object.namespace}/${object.name}`;

  /** A lower epoch and a sequence that status has seen are dropped; an end is final. */
  function isOutdated(object: T, { epoch, speaker, sequence }: MirrorEnvelope): boolean {
    const { recorded, over } = kind.view(object);
    if (over || (recorded?.epoch ?? 0) > epoch) return true;
    const mark = projection.mark(object, speaker);
    return mark !== undefined && (mark.epoch > epoch || (mark.epoch === epoch && mark.sequence >= sequence));
  }

  /** Lays updates that are in order into status. */
  function project(object: T, updates: readonly MirrorEnvelope[]): object | undefined {
    let current = object;
    for (const said of updates) {
      if (isOutdated(current, said)) continue;
      const { epoch, speaker, sequence, update } = said;
      const status = projection.merge(current, update) ?? current.status ?? {};
      current = { ...current, status: projection.withMark(status, speaker, { epoch, sequence }) };
    }
    return current === object ? undefined : current.status;
  }

  const contentOf = (said: MirrorEnvelope): MirrorEnvelope => ({
    ...said,
    update: (said.update as EntitySaid).content,
  });
  const batch = createBatches<MirrorEnvelope>({
    mutex,
    write: async (updates) => {
      const [first] = updates;
      if (first === undefined) return;
      await writer.status(cache, first.object, (object) => project(object, updates.map(contentOf)));
    },
  });

  return {
    kind: cache.kind,
    vouch,
    mirror: (said) => batch(keyOf(said), said),
    async record(said) {
      const { labels, annotations, status } = contentOf(said).update as RecordUpdate;
      await mutex.run(keyOf(said), async () => {
        if (labels !== undefined || annotations !== undefined) {
          await writer.metadata(cache, said.object, (object) => {
            if (isOutdated(object, said)) return undefined;
            const { metadata } = object;
            return {
              ...(labels !== undefined && { labels: laid(metadata.labels, labels, projection) }),
              ...(annotations !== undefined && {
                annotations: laid(metadata.annotations, annotations, projection),
              }),
            };
          });
        }
        if (status === undefined) return;
        await writer.status(cache, said.object, (object) => project(object, [{ ...said, update: status }]), {
          confirm: true,
        });
      });
    },
    release: (said) =>
      mutex.run(keyOf(said), async () => {
        await writer.metadata(cache, said.object, (object) => {
          const finalizers = object.metadata.finalizers ?? [];
          const { deleting, recorded } = kind.view(object);
          // The object may have been given to a later epoch, which has not retired it.
          if (!deleting || (recorded?.epoch ?? 0) !== said.epoch) return undefined;
          return { finalizers: finalizers.filter((name) => name !== kind.finalizer) };
        });
      }),
  };
}

/** Keys that the kind does not let its workflow write are left as they are. */
function laid(
  present: Record<string, string> | undefined,
  changes: Record<string, string | null>,
  { recordable }: Pick<EntityProjection<never>, 'recordable'>,
): Record<string, string> {
  const own = Object.entries(changes).filter(([key]) => recordable(key));
  const gone = new Set(own.flatMap(([key, value]) => (value === null ? [key] : [])));
  const kept = Object.entries(present ?? {}).filter(([key]) => !gone.has(key));
  const set = own.flatMap(([key, value]): [string, string][] => (value === null ? [] : [[key, value]]));
  return Object.fromEntries([...kept, ...set]);
}

function createEntityVouching<T extends Cacheable>(
  options: Pick<EntityMirrorOptions<T>, 'cache' | 'caller' | 'kind' | 'kube' | 'verify' | 'workflows'>,
): (said: MirrorEnvelope) => Promise<void> {
  const { cache, kind, workflows } = options;
  const firstRuns = new LRUCache<string, string>({ max: KEPT_CALLERS });

  async function firstRunOf(asking: { workflowId: string; runId: string }): Promise<string | undefined> {
    const known = firstRuns.get(asking.runId);
    if (known !== undefined) return known;
    const found = (await workflows.describe(asking.workflowId, asking.runId))?.firstRunId;
    if (found !== undefined) firstRuns.set(asking.runId, found);
    return found;
  }

  async function objectOf({ namespace, name, uid }: MirrorEnvelope['object']): Promise<T | undefined> {
    const cached = cache.get(namespace, name);
    if (cached?.metadata.uid === uid) return cached;
    const { apiVersion } = cache;
    const live = await options.kube.get<T>({ apiVersion, kind: cache.kind, namespace, name });
    return live?.metadata.uid === uid ? live : undefined;
  }

  return async (said) => {
    const entity = isObject(said.update) ? (said.update as Partial<EntitySaid>).entity : undefined;
    const refuse = (why: string): never => {
      throw ApplicationFailure.nonRetryable(`${said.kind} ${said.object.name}: ${why}`, 'NotSealed');
    };
    if (!isObject(entity)) return refuse('an update without the identity of its workflow');
    const checked = await options.verify('entity', sealedEntity(entity), entity.seal);
    if (checked.kind === 'unknownKey')
      throw ApplicationFailure.retryable(`no key "${checked.keyId}" here yet`, 'SealKeyUnknown');
    const { object, epoch } = said;
    const isOwn =
      entity.kind === said.kind &&
      entity.uid === object.uid &&
      entity.name === object.name &&
      entity.namespace === object.namespace &&
      entity.epoch === epoch;
    if (checked.kind !== 'sealed' || !isOwn) return refuse('the seal is wrong');
    const asking = options.caller();
    if (asking?.workflowId !== entity.workflowId)
      return refuse(`"${asking?.workflowId ?? ''}" is another workflow`);
    const found = await objectOf(object);
    // What is gone is written nowhere, whoever speaks.
    if (found === undefined) return;
    const { recorded } = kind.view(found);
    if (recorded === undefined || recorded.epoch < epoch)
      throw new NotRecordedError(`epoch ${epoch} of ${object.namespace}/${object.name} is not recorded yet`);
    // What it says would be dropped, and what it does is no longer wanted.
    if (recorded.epoch > epoch) return refuse(`epoch ${epoch} is over; ${recorded.epoch} looks after it`);
    if ((await firstRunOf(asking)) !== recorded.firstRunId)
      refuse(`run ${asking.runId} does not descend from the one that the bridge has started`);
  };
}
