import type { Cacheable } from '../../kube/informer.js';
import type { Desired, EntityIdentity, EntityInput } from '../../workflows/core/contract-entity.js';
import { sealedDesired, sealedEntity } from '../../workflows/core/sealed-entity.js';
import { generationOf } from './entity-context.js';
import { keyOf, refOf } from './object-ref.js';
import type { EntityContext } from './entity-context.js';
import type { RecordedEpoch } from './entity.js';

/** The beginning of an epoch. */
export interface Epochs<T extends Cacheable> {
  workflowId(object: T, epoch: number): string;
  /** What the workflow of an epoch is told now. */
  desired(object: T, epoch: number): Desired;
  /** Shows which epoch looks after the object; an older one never replaces a newer one. */
  record(object: T, epoch: number, firstRunId: string): Promise<void>;
  /**
   * Starts an epoch and records it. May be repeated: the same epoch is the same workflow.
   *
   * @returns after how many milliseconds to look again, if at all
   */
  begin(object: T, epoch: number): Promise<number | undefined>;
}

/** Makes them. */
export function createEpochs<T extends Cacheable>(context: EntityContext<T>): Epochs<T> {
  const { kind, cache, cluster, kube, log, seal, temporal, workflows, writer } = context;
  const workflowId = ({ metadata }: T, epoch: number): string =>
    `${kind.idPrefix}${metadata.namespace ?? ''}/${metadata.name}/${(metadata.uid ?? '').slice(0, 8)}/${epoch}`;

  function identity(object: T, epoch: number): EntityIdentity {
    const { namespace = '', name, uid = '' } = object.metadata;
    const own = {
      cluster,
      kind: cache.kind,
      namespace,
      name,
      uid,
      epoch,
      workflowId: workflowId(object, epoch),
    };
    return { ...own, seal: seal('entity', sealedEntity({ ...own, seal: '' })) };
  }

  function desiredBy(object: T, of: EntityIdentity): Desired {
    const said = { generation: generationOf(object), ...kind.desired(object) };
    return { ...said, seal: seal('desired', sealedDesired(of, said)) };
  }

  async function record(object: T, epoch: number, firstRunId: string): Promise<void> {
    const recorded: RecordedEpoch = {
      epoch,
      workflowId: workflowId(object, epoch),
      firstRunId,
      namespaceId: temporal.namespaceId,
      ...(temporal.clusterId !== undefined && { clusterId: temporal.clusterId }),
    };
    await writer.status(cache, refOf(object), (current) =>
      (kind.view(current).recorded?.epoch ?? 0) >= epoch ? undefined : kind.withEpoch(current, recorded),
    );
  }

  async function begin(object: T, epoch: number): Promise<number | undefined> {
    const admission = await kind.admit(object);
    if (admission.kind === 'wait') return admission.ms;
    if (admission.kind === 'refused') return undefined;
    const { deleting } = kind.view(object);
    if (!deleting) {
      const held = await writer.metadata(cache, refOf(object), ({ metadata }) =>
        (metadata.finalizers ?? []).includes(kind.finalizer)
          ? undefined
          : { finalizers: [...(metadata.finalizers ?? []), kind.finalizer] },
      );
      if (held.kind === 'gone') return undefined;
    }
    const entity = identity(object, epoch);
    const input: EntityInput = {
      entity,
      desired: desiredBy(object, entity),
      ...(deleting && { retire: { reason: `the ${kind.words.one} was deleted` } }),
    };
    const { namespace, name, uid } = entity;
    const started = await workflows.start({
      type: kind.workflowType,
      workflowId: entity.workflowId,
      taskQueue: kind.taskQueue,
      input,
      memo: { namespace, name, uid },
      summary: `${kind.words.one} ${namespace}/${name}`.slice(0, 200),
    });
    context.onStart();
    const firstRunId =
      started.kind === 'running' ? started.runId : (await workflows.describe(entity.workflowId))?.firstRunId;
    if (firstRunId === undefined) throw new Error(`workflow ${entity.workflowId} was there and is gone`);
    await record(object, epoch, firstRunId);
    log.info({ object: keyOf(object), workflowId: entity.workflowId, at: kube.now() }, 'epoch begun');
    return 0;
  }

  return {
    workflowId,
    desired: (object, epoch) => desiredBy(object, identity(object, epoch)),
    record,
    async begin(object, epoch) {
      const again = await begin(object, epoch);
      const memory = context.memoryOf(object);
      // It was started with this one.
      memory.signalled = generationOf(object);
      memory.lookAt = context.now() + context.silenceMs;
      return again;
    },
  };
}
