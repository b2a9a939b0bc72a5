import type { Sealer } from '../../api/core/seal.js';
import type { WorkflowDescription, Workflows } from '../../client/runs/workflows.js';
import type { Cacheable, Informer } from '../../kube/informer.js';
import { ENTITY_SIGNALS } from '../../workflows/core/contract-entity.js';
import type {
  Desired,
  EntityEnd,
  EntityIdentity,
  EntityInput,
} from '../../workflows/core/contract-entity.js';
import { sealedDesired, sealedEntity } from '../../workflows/core/sealed-entity.js';
import type { EntityKind, EntityView, RecordedEpoch } from './entity.js';
import type { Services } from './services.js';
import { isElsewhere } from './temporal-identity.js';
import { troubleOf } from './trouble.js';

/** What an entity controller is made of. */
export interface EntityControllerOptions<T extends Cacheable> extends Pick<
  Services,
  'cluster' | 'gate' | 'kube' | 'log' | 'temporal' | 'writer'
> {
  kind: EntityKind<T>;
  cache: Informer<T>;
  workflows: Workflows;
  /** Which Temporal answers now. */
  where: Services['runs']['where'];
  seal: Sealer['seal'];
  /** A workflow that has sent nothing for this long is described, in milliseconds. */
  silenceMs: number;
  onStart: () => void;
  now?: () => number;
}

/** Brings objects of one kind and the workflows that look after them together. */
export interface EntityController<T extends Cacheable> {
  /**
   * Looks at an object and does the next thing. Level-triggered.
   *
   * @returns after how many milliseconds to look again, if at all
   */
  reconcile(object: T): Promise<number | undefined>;
  /** The workflow is to look at what it watches. */
  look(object: T): Promise<void>;
  /** A workflow has sent an update about itself. */
  heard(uid: string): void;
  forget(uid: string): void;
}

/** What is remembered of an object between reconciles. Losing it costs a call, never a wrong step. */
interface Memory {
  /** When to describe the workflow next. */
  lookAt: number;
  /** Generation that was signalled and not yet observed. */
  signalled?: number;
  /** Whether the retirement was signalled. */
  retireSent?: true;
  /** Epochs in a row that ended soon after their start. */
  quickEnds: number;
  failingSince?: number;
}

const POLL_WHILE_DELETING_MS = 2_000;
/** An epoch that lasts less than this has achieved nothing: the next one waits. */
const QUICK_MS = 60_000;
const PAUSE = { firstMs: 1_000, mostMs: 300_000 };
/** A failure that passes within this time is not shown in the status. */
const TELL_FAILURE_MS = 1_000;

/**
 * The order of steps, and what a crash between two of them leaves:
 *
 * | crash after | leaves | mended by |
 * |---|---|---|
 * | finalizer | an object that nobody looks after | the next reconcile starts its first epoch; a deletion finds no workflow and takes the finalizer off |
 * | start of an epoch | a workflow that the status does not know; its updates are retried until it does | the next reconcile starts the same id, finds it, and records it |
 * | record | nothing | – |
 * | spec signal | nothing | the workflow says which generation it has observed; until then the signal is repeated, and heeded once |
 * | retire signal | an object that waits for its release | the next reconcile signals again |
 * | release by the workflow, before its end | a workflow that ends by itself; the object is gone | – |
 *
 * Two replicas may start the same epoch: its id is the same, so there is one workflow. A replica whose cache is behind
 * asks the API server before it begins a further epoch.
 */
export function createEntityController<T extends Cacheable>(
  options: EntityControllerOptions<T>,
): EntityController<T> {
  const { kind, cache, kube, workflows, writer, log } = options;
  const now = options.now ?? Date.now;
  const memories = new Map<string, Memory>();
  const steps = createEpochs(options);

  function memoryOf(object: T): Memory {
    const uid = object.metadata.uid ?? '';
    const known = memories.get(uid) ?? { lookAt: 0, quickEnds: 0 };
    memories.set(uid, known);
    return known;
  }

  async function advance(object: T): Promise<number | undefined> {
    const view = kind.view(object);
    if (view.deleting && !view.held) return undefined;
    if (view.over || (view.deleting && view.forceRelease)) {
      if (view.held) await dropFinalizer(object);
      memories.delete(object.metadata.uid ?? '');
      return undefined;
    }
    const { recorded } = view;
    if (recorded === undefined) {
      if (view.deleting) return removeUnstarted(object);
      return options.gate.closed() === undefined ? begin(object, 1) : undefined;
    }
    return follow(object, view, recorded);
  }

  async function begin(object: T, epoch: number): Promise<number | undefined> {
    const again = await steps.begin(object, epoch);
    const memory = memoryOf(object);
    // It was started with this one.
    memory.signalled = generationOf(object);
    memory.lookAt = now() + options.silenceMs;
    return again;
  }

  /** Nothing shows that anything was begun; only Temporal knows. */
  async function removeUnstarted(object: T): Promise<number | undefined> {
    const found = await workflows.describe(steps.workflowId(object, 1));
    if (found?.state === 'Running') {
      await steps.record(object, 1, found.firstRunId);
      return 0;
    }
    await dropFinalizer(object);
    return undefined;
  }

  async function follow(object: T, view: EntityView, recorded: RecordedEpoch): Promise<number | undefined> {
    const memory = memoryOf(object);
    if (isElsewhere(recorded, options.temporal)) return mismatch(object, recorded);
    await tell(object, view, recorded, memory);
    const wait = memory.lookAt - now();
    if (wait > 0) return view.deleting ? Math.min(wait, POLL_WHILE_DELETING_MS) : wait;
    const found = await workflows.describe(recorded.workflowId);
    // Somebody else's workflow under the same id speaks for nobody.
    const isOwn = found?.firstRunId === recorded.firstRunId;
    if (isOwn && found.state === 'Running') {
      // What was not observed in all that time is said again.
      delete memory.signalled;
      delete memory.retireSent;
      memory.lookAt = now() + (view.deleting ? POLL_WHILE_DELETING_MS : options.silenceMs);
      return memory.lookAt - now();
    }
    if (isOwn && found.state === 'Completed') {
      const end = endOf(await workflows.result(recorded.workflowId));
      if (end !== undefined) return conclude(object, end);
    }
    if (found === undefined && isElsewhere(recorded, await options.where()))
      return mismatch(object, recorded);
    return next(object, recorded, found, memory);
  }

  /** Says what is wanted, and that the object is being deleted, until the workflow has taken it up. */
  async function tell(
    object: T,
    view: EntityView,
    { epoch, workflowId }: RecordedEpoch,
    memory: Memory,
  ): Promise<void> {
    const generation = generationOf(object);
    if (view.deleting) {
      if (memory.retireSent === true) return;
      const sent = await workflows.signal(workflowId, ENTITY_SIGNALS.retire, {
        reason: `the ${kind.words.one} was deleted`,
      });
      memory.retireSent = true;
      memory.lookAt = sent === 'accepted' ? now() + POLL_WHILE_DELETING_MS : 0;
      log.info({ object: nameOf(object), workflowId, sent }, 'retirement sent');
      return;
    }
    if ((view.observed ?? 0) >= generation || memory.signalled === generation) return;
    const identity = steps.identity(object, epoch);
    const sent = await workflows.signal(workflowId, ENTITY_SIGNALS.desired, steps.desired(object, identity));
    memory.signalled = generation;
    if (sent === 'notRunning') memory.lookAt = 0;
    log.info({ object: nameOf(object), workflowId, generation, sent }, 'new spec sent');
  }

  /** The epoch was ended from outside, or is lost: another one takes over, later each time that one ends at once. */
  async function next(
    object: T,
    { epoch, workflowId }: RecordedEpoch,
    found: WorkflowDescription | undefined,
    memory: Memory,
  ): Promise<number | undefined> {
    const lasted = (found?.closeTime?.getTime() ?? now()) - (found?.startTime.getTime() ?? 0);
    memory.quickEnds = lasted < QUICK_MS ? memory.quickEnds + 1 : 0;
    if (memory.quickEnds > 1 && found?.closeTime !== undefined) {
      const pause = Math.min(PAUSE.mostMs, PAUSE.firstMs * 2 ** Math.min(memory.quickEnds, 10));
      const wait = found.closeTime.getTime() + pause - now();
      if (wait > 0) {
        memory.quickEnds -= 1;
        await kind.held(
          object,
          'EpochsEnd',
          `workflow "${workflowId}" ended soon after its start; the next one begins after ${Math.round(pause / 1000)} s`,
        );
        return wait;
      }
    }
    const live = await kube.get<T>({
      apiVersion: cache.apiVersion,
      kind: cache.kind,
      namespace: object.metadata.namespace ?? '',
      name: object.metadata.name,
    });
    if (live === undefined || live.metadata.uid !== object.metadata.uid) return undefined;
    cache.learn(live);
    const newest = kind.view(live).recorded?.epoch ?? 0;
    if (newest > epoch) return 0;
    log.warn(
      { object: nameOf(object), workflowId, epoch: epoch + 1 },
      found === undefined
        ? 'Temporal no longer knows the workflow; the next epoch takes over'
        : 'the workflow was ended from outside; the next epoch takes over',
    );
    return begin(live, epoch + 1);
  }

  async function conclude(object: T, end: EntityEnd): Promise<undefined> {
    if (end.kind === 'ended')
      await writer.status(cache, refOf(object), (current) => kind.withEnd(current, end));
    await dropFinalizer(object);
    log.info({ object: nameOf(object), end: end.kind }, 'entity ended');
    return undefined;
  }

  async function mismatch(object: T, { workflowId, namespaceId }: RecordedEpoch): Promise<number> {
    await kind.held(
      object,
      'TemporalMismatch',
      `the workflow "${workflowId}" is in another Temporal (namespace id ${namespaceId ?? 'unknown'}) than the bridge is connected to; connect it to the recorded one`,
    );
    return options.silenceMs;
  }

  async function dropFinalizer(object: T): Promise<void> {
    await writer.metadata(cache, refOf(object), ({ metadata }) => {
      const finalizers = metadata.finalizers ?? [];
      const kept = finalizers.filter((name) => name !== kind.finalizer);
      return kept.length === finalizers.length ? undefined : { finalizers: kept };
    });
  }

  return {
    async reconcile(object) {
      const memory = memoryOf(object);
      try {
        const again = await advance(object);
        delete memory.failingSince;
        return again;
      } catch (error) {
        memory.failingSince ??= now();
        if (now() - memory.failingSince >= TELL_FAILURE_MS) {
          const { reason, message } = troubleOf(error);
          // If this write fails too, the original error is the one that counts.
          await kind.held(object, reason, message).catch(() => undefined);
        }
        throw error;
      }
    },
    async look(object) {
      const { recorded, over } = kind.view(object);
      if (recorded !== undefined && !over) await workflows.signal(recorded.workflowId, ENTITY_SIGNALS.look);
    },
    heard(uid) {
      const memory = memories.get(uid);
      if (memory !== undefined) memory.lookAt = Math.max(memory.lookAt, now() + options.silenceMs);
    },
    forget: (uid) => {
      memories.delete(uid);
    },
  };
}

/** The steps of an epoch's beginning. */
function createEpochs<T extends Cacheable>(options: EntityControllerOptions<T>) {
  const { kind, cache, cluster, kube, log, seal, temporal, workflows, writer } = options;
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

  function desired(object: T, of: EntityIdentity): Desired {
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

  /** Starts an epoch and records it. May be repeated: the same epoch is the same workflow. */
  async function begin(object: T, epoch: number): Promise<number | undefined> {
    const admission = await kind.admit(object);
    if (admission.kind === 'wait') return admission.ms;
    if (admission.kind === 'refused') return undefined;
    const { deletionTimestamp } = object.metadata as { deletionTimestamp?: string };
    const isDeleting = deletionTimestamp !== undefined;
    if (!isDeleting) {
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
      desired: desired(object, entity),
      ...(isDeleting && { retire: { reason: `the ${kind.words.one} was deleted` } }),
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
    options.onStart();
    const firstRunId =
      started.kind === 'running' ? started.runId : (await workflows.describe(entity.workflowId))?.firstRunId;
    if (firstRunId === undefined) throw new Error(`workflow ${entity.workflowId} was there and is gone`);
    await record(object, epoch, firstRunId);
    log.info({ object: nameOf(object), workflowId: entity.workflowId, at: kube.now() }, 'epoch begun');
    return 0;
  }

  return { workflowId, identity, desired, record, begin };
}

/** @returns undefined for a result that says nothing that this release knows */
function endOf(result: unknown): EntityEnd | undefined {
  const end = result as Partial<EntityEnd> | null | undefined;
  return end?.kind === 'retired' || end?.kind === 'ended' ? (end as EntityEnd) : undefined;
}

const generationOf = (object: Cacheable): number =>
  (object.metadata as { generation?: number }).generation ?? 1;
const refOf = ({ metadata: { namespace, name, uid } }: Cacheable) => ({ namespace, name, uid });
const nameOf = (object: Cacheable): string => `${object.metadata.namespace ?? ''}/${object.metadata.name}`;
