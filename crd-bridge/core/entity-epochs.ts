import type { Cacheable } from '../../kube/informer.js';
import type {
  Desired,
  EntityIdentity,
  EntityInput,
  Retirement,
} from '../../workflows/core/contract-entity.js';
import { sealedDesired, sealedEntity, sealedRetirement } from '../../workflows/core/sealed-entity.js';
import { canonicalJson, isObject } from '../../api/core/json.js';
import { addFinalizer, generationOf } from './entity-context.js';
import { keyOf, refOf } from './object-ref.js';
import type { EntityContext } from './entity-context.js';
import type { RecordedEpoch } from './entity.js';

/** Starts epochs, and shows in status which one looks after an object. */
export interface Epochs<T extends Cacheable> {
  workflowId(object: T, epoch: number): string;
  /** The desired state of the object as the workflow of an epoch has to know it. */
  desired(object: T, epoch: number): Desired;
  /** That the object is being deleted, as its workflow has to know it. */
  retirement(object: T): Retirement;
  /**
   * The first run of an epoch, if what is under its workflow id is what the bridge starts there: it may be a stranger's.
   * Undefined where there is nothing, or a stranger.
   */
  find(object: T, epoch: number): Promise<{ firstRunId: string; isOpen: boolean } | undefined>;
  /** Writes to status which epoch looks after the object; an older one never replaces a newer one. */
  record(object: T, epoch: number, firstRunId: string): Promise<void>;
  /**
   * Starts an epoch and records it. May be repeated: the same epoch is the same workflow. Where a stranger has its workflow id,
   * it is the one after it the next time.
   *
   * @returns after how many milliseconds to look again, if at all
   */
  begin(object: T, epoch: number): Promise<number | undefined>;
}

/** Between two workflow ids of which the first was taken, in milliseconds. */
const PASS_OVER_MS = 1_000;

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
      ...(deleting && { retire: retirementOf(context, object) }),
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
      started.kind === 'started' ? started.runId : (await find(context, object, epoch))?.firstRunId;
    if (firstRunId === undefined) return passOver(context, object, workflowId);
    await record(context, object, epoch, firstRunId);
    const memory = context.memoryOf(object);
    delete memory.passedOver;
    // One that was there may have been started with an earlier generation.
    if (started.kind === 'started') memory.signalled = generationOf(object);
    memory.lookAt = context.now() + context.silenceMs;
    log.info({ object: keyOf(object), workflowId, at: kube.now() }, 'epoch begun');
    return 0;
  }

  return {
    workflowId: (object, epoch) => workflowIdOf(kind, object, epoch),
    desired: (object, epoch) => desiredOf(context, object, identityOf(context, object, epoch)),
    retirement: (object) => retirementOf(context, object),
    find: (object, epoch) => find(context, object, epoch),
    record: (object, epoch, firstRunId) => record(context, object, epoch, firstRunId),
    begin: (object, after) => begin(object, after + (context.memoryOf(object).passedOver ?? 0)),
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

function retirementOf<T extends Cacheable>(
  { kind, cache, cluster, seal }: EntityContext<T>,
  { metadata: { namespace = '', name, uid = '' } }: T,
): Retirement {
  const said = { reason: `the ${kind.words.one} was deleted` };
  const entity = { cluster, kind: cache.kind, namespace, name, uid };
  return { ...said, seal: seal('retire', sealedRetirement(entity, said)) };
}

async function find<T extends Cacheable>(
  context: EntityContext<T>,
  object: T,
  epoch: number,
): Promise<{ firstRunId: string; isOpen: boolean } | undefined> {
  const { kind, workflows, verify } = context;
  const workflowId = workflowIdOf(kind, object, epoch);
  const found = await workflows.describe(workflowId);
  if (found === undefined) return undefined;
  const { firstRunId, state, taskQueue, type } = found;
  if (type !== kind.workflowType || taskQueue !== kind.taskQueue) return undefined;
  const input = await workflows.input(workflowId, firstRunId);
  // Whoever has started it: with this input it does what the bridge wants.
  if (!isEntityInput(input) || input.carried !== undefined) return undefined;
  const { seal: _, ...own } = identityOf(context, object, epoch);
  const { seal, ...said } = input.entity;
  if (canonicalJson(said) !== canonicalJson(own)) return undefined;
  const checked = await verify('entity', own, seal);
  return checked.kind === 'sealed' ? { firstRunId, isOpen: state === 'Running' } : undefined;
}

const isEntityInput = (input: unknown): input is EntityInput =>
  isObject(input) && isObject(input.entity) && isObject(input.desired);

/** Whoever reaches Temporal can take the workflow id of an epoch that has not begun: the one after it takes over. */
async function passOver<T extends Cacheable>(
  { kind, log, memoryOf }: EntityContext<T>,
  object: T,
  workflowId: string,
): Promise<number> {
  const memory = memoryOf(object);
  memory.passedOver = (memory.passedOver ?? 0) + 1;
  // The same end is seen again the next time.
  memory.quickEnds = Math.max(0, memory.quickEnds - 1);
  log.warn({ object: keyOf(object), workflowId }, 'a workflow that the bridge has not started has the id');
  await kind.held(
    object,
    'WorkflowIdTaken',
    `workflow "${workflowId}" is there already, and no bridge has started it; look who may start workflows in this namespace of Temporal`,
  );
  return PASS_OVER_MS;
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
