import type { Cacheable } from '../../kube/informer.js';
import type { Desired, EntityIdentity, EntityInput } from '../../workflows/core/contract-entity.js';
import { sealedDesired, sealedEntity } from '../../workflows/core/sealed-entity.js';
import { addFinalizer, generationOf } from './entity-context.js';
import { keyOf, refOf } from './object-ref.js';
import type { EntityContext } from './entity-context.js';
import type { RecordedEpoch } from './entity.js';

/** Starts epochs, and shows in status which one looks after an object. */
export interface Epochs<T extends Cacheable> {
  workflowId(object: T, epoch: number): string;
  /** The desired state of the object as the workflow of an epoch has to know it. */
  desired(object: T, epoch: number): Desired;
  /** Writes to status which epoch looks after the object; an older one never replaces a newer one. */
  record(object: T, epoch: number, firstRunId: string): Promise<void>;
  /**
   * Starts an epoch and records it. May be repeated: the same epoch is the same workflow.
   *
   * @returns after how many milliseconds to look again, if at all
   */
  begin(object: T, epoch: number): Promise<number | undefined>;
}

/** The epochs of the objects of one kind. */
export function createEpochs<T extends Cacheable>(context: EntityContext<T>): Epochs<T> {
  const { kind, kube, log, workflows } = context;

  async function begin(object: T, epoch: number): Promise<number | undefined> {
    const decision = await kind.prepareStart(object);
    if (decision.kind === 'wait') return decision.ms;
    if (decision.kind === 'refused') return undefined;
    const { deleting } = kind.view(object);
    if (!deleting && !(await addFinalizer(context, object))) return undefined;
    const entity = identityOf(context, object, epoch);
    const { namespace, name, uid, workflowId } = entity;
    const input: EntityInput = {
      entity,
      desired: desiredOf(context, object, entity),
      ...(deleting && { retire: { reason: `the ${kind.words.one} was deleted` } }),
    };
    const started = await workflows.start({
      type: kind.workflowType,
      workflowId,
      taskQueue: kind.taskQueue,
      input,
      memo: { namespace, name, uid },
      summary: `${kind.words.one} ${namespace}/${name}`.slice(0, 200),
    });
    context.onStart();
    const firstRunId =
      started.kind === 'started' ? started.runId : (await workflows.describe(workflowId))?.firstRunId;
    if (firstRunId === undefined) throw new Error(`workflow ${workflowId} was there and is gone`);
    await record(context, object, epoch, firstRunId);
    log.info({ object: keyOf(object), workflowId, at: kube.now() }, 'epoch begun');
    return 0;
  }

  return {
    workflowId: (object, epoch) => workflowIdOf(kind, object, epoch),
    desired: (object, epoch) => desiredOf(context, object, identityOf(context, object, epoch)),
    record: (object, epoch, firstRunId) => record(context, object, epoch, firstRunId),
    async begin(object, epoch) {
      const again = await begin(object, epoch);
      const memory = context.memoryOf(object);
      // The epoch was started with this generation.
      memory.signalled = generationOf(object);
      memory.lookAt = context.now() + context.silenceMs;
      return again;
    },
  };
}

function workflowIdOf(
  { idPrefix }: { idPrefix: string },
  { metadata: { namespace = '', name, uid = '' } }: Cacheable,
  epoch: number,
): string {
  return `${idPrefix}${namespace}/${name}/${uid.slice(0, 8)}/${epoch}`;
}

function identityOf<T extends Cacheable>(
  { kind, cache, cluster, seal }: EntityContext<T>,
  object: T,
  epoch: number,
): EntityIdentity {
  const { namespace = '', name, uid = '' } = object.metadata;
  const workflowId = workflowIdOf(kind, object, epoch);
  const own = { cluster, kind: cache.kind, namespace, name, uid, epoch, workflowId };
  return { ...own, seal: seal('entity', sealedEntity({ ...own, seal: '' })) };
}

function desiredOf<T extends Cacheable>(
  { kind, seal }: EntityContext<T>,
  object: T,
  entity: EntityIdentity,
): Desired {
  const said = { generation: generationOf(object), ...kind.desired(object) };
  return { ...said, seal: seal('desired', sealedDesired(entity, said)) };
}

async function record<T extends Cacheable>(
  { kind, cache, temporal, writer }: EntityContext<T>,
  object: T,
  epoch: number,
  firstRunId: string,
): Promise<void> {
  const recorded: RecordedEpoch = {
    epoch,
    workflowId: workflowIdOf(kind, object, epoch),
    firstRunId,
    namespaceId: temporal.namespaceId,
    ...(temporal.clusterId !== undefined && { clusterId: temporal.clusterId }),
  };
  await writer.status(cache, refOf(object), (current) =>
    (kind.view(current).recorded?.epoch ?? 0) >= epoch ? undefined : kind.withEpoch(current, recorded),
  );
}
