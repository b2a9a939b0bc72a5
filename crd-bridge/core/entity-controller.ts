import type { Cacheable } from '../../kube/informer.js';
import { ENTITY_SIGNALS } from '../../workflows/core/contract-entity.js';
import { dropFinalizer } from './entity-context.js';
import type { EntityContext, EntityControllerOptions, EntityMemory } from './entity-context.js';
import { createEpochs } from './entity-epochs.js';
import type { Epochs } from './entity-epochs.js';
import { followEntity } from './entity-follow.js';
import { troubleOf } from './trouble.js';

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
 * | passing over an epoch whose workflow id was taken | nothing | the next reconcile finds the stranger again |
 * | release by the workflow, before its end | a workflow that ends by itself; the object is gone | – |
 *
 * Two replicas may start the same epoch: its id is the same, so there is one workflow. A replica whose cache is behind
 * asks the API server before it begins a further epoch.
 */
export function createEntityController<T extends Cacheable>(
  options: EntityControllerOptions<T>,
): EntityController<T> {
  const { kind, workflows } = options;
  const now = options.now ?? Date.now;
  const memories = new Map<string, EntityMemory>();
  const context: EntityContext<T> = {
    ...options,
    now,
    memoryOf(object) {
      const uid = object.metadata.uid ?? '';
      const known = memories.get(uid) ?? { lookAt: 0, quickEnds: 0 };
      memories.set(uid, known);
      return known;
    },
    forget: (uid) => {
      memories.delete(uid);
    },
  };
  const epochs = createEpochs(context);
  return {
    async reconcile(object) {
      const memory = context.memoryOf(object);
      try {
        const again = await advance(context, epochs, object);
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
      if (memory !== undefined) memory.lookAt = Math.max(memory.lookAt, now() + context.silenceMs);
    },
    forget: context.forget,
  };
}

async function advance<T extends Cacheable>(
  context: EntityContext<T>,
  epochs: Epochs<T>,
  object: T,
): Promise<number | undefined> {
  const { forget, gate, kind } = context;
  const view = kind.view(object);
  if (view.deleting && !view.held) return undefined;
  if (view.over || (view.deleting && view.forceRelease)) {
    if (view.held) await dropFinalizer(context, object);
    forget(object.metadata.uid ?? '');
    return undefined;
  }
  const { recorded } = view;
  if (recorded === undefined) {
    if (view.deleting) return removeUnstarted(context, epochs, object);
    return gate.closed() === undefined ? epochs.begin(object, 1) : undefined;
  }
  return followEntity(context, epochs, object, { ...view, recorded });
}

/** Nothing shows that anything was begun; only Temporal knows. */
async function removeUnstarted<T extends Cacheable>(
  context: EntityContext<T>,
  epochs: Epochs<T>,
  object: T,
): Promise<number | undefined> {
  const found = await epochs.find(object, 1);
  if (found?.isOpen === true) {
    await epochs.record(object, 1, found.firstRunId);
    return 0;
  }
  await dropFinalizer(context, object);
  return undefined;
}
