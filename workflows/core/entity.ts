import {
  ActivityCancellationType,
  allHandlersFinished,
  ApplicationFailure,
  condition,
  continueAsNew,
  defineSignal,
  proxyLocalActivities,
  setHandler,
  workflowInfo,
} from '@temporalio/workflow';
import { bridgeActivities } from './bridge-activities.js';
import type { MirrorEnvelope, MirrorOptions } from './contract.js';
import { ENTITY_SIGNALS } from './contract-entity.js';
import type {
  Desired,
  EntityActivities,
  EntityBridgeActivities,
  EntityIdentity,
  EntityInput,
  EntitySaid,
  RecordUpdate,
  Retirement,
} from './contract-entity.js';
import { startMirror } from './mirror.js';

/** The workflow that looks after an object, as its own code sees it. */
export interface Entity<S, C, U> {
  readonly identity: EntityIdentity;
  /** The newest state that the bridge has asked for. */
  desired: () => Desired<S>;
  /** Why the object goes, once it is being deleted. */
  retiring: () => Retirement | undefined;
  /**
   * Waits until something is new: another desired state, a retirement, or something that is watched.
   *
   * @param ms waits no longer than this: a look may be lost
   */
  news: (ms: number) => Promise<void>;
  /** Says that there is something to mirror. */
  touch: () => void;
  /** Writes metadata and status, and resolves once they are written. */
  record: (update: RecordUpdate<U>) => Promise<void>;
  /** Takes the finalizer off: the last step of a retirement. */
  release: () => Promise<void>;
  /** Whether the history is long enough to continue as new. */
  isLong: () => boolean;
  /** Continues as new with what the next run needs. Never returns. */
  carryOn: (state: C) => Promise<never>;
}

/** What an entity is opened with. */
export interface EntitySetup<U> {
  /** How often progress is mirrored. */
  mirror: MirrorOptions;
  /** What changed since the last call; undefined when there is nothing to say. */
  collect: () => U | undefined;
  /** Events of history after which it continues as new (default: when Temporal suggests it). */
  maxEvents?: number;
}

const SPEAKER = 'entity';

/**
 * Opens the workflow of an entity: verifies what it was started with, listens, and mirrors. Call it once, first of all.
 *
 * @throws ApplicationFailure `NotSealed`, which ends the workflow, when the bridge has not asked for it
 */
export async function openEntity<S, C, U>(
  input: EntityInput<S, C>,
  setup: EntitySetup<U>,
): Promise<Entity<S, C, U>> {
  const { entity } = input;
  const base = input.carried?.sequence ?? 0;
  const bridge = bridgeActivities<EntityBridgeActivities>(entity, 'status');
  const inbox = listen(input);
  const vouched = await vouch(entity, input.desired);
  if (!vouched) throw ApplicationFailure.nonRetryable(`nobody vouches for ${entity.workflowId}`, 'NotSealed');
  const say = <T>(content: T, sequence: number): MirrorEnvelope<EntitySaid<T>> => {
    const { kind, namespace, name, uid, epoch } = entity;
    const object = { namespace, name, uid };
    return { kind, object, epoch, speaker: SPEAKER, sequence, update: { entity, content } };
  };
  const mirror = startMirror<U>({
    options: setup.mirror,
    collect: setup.collect,
    send: (content, sequence) => bridge.mirror(say(content, base + sequence)),
  });
  return {
    identity: entity,
    desired: inbox.desired,
    retiring: inbox.retiring,
    news: inbox.news,
    touch: mirror.touch,
    record: (update) => bridge.record(say(update, base + mirror.nextSequence())),
    release: () => bridge.release(say(null, base + mirror.nextSequence())),
    isLong() {
      const { historyLength, continueAsNewSuggested } = workflowInfo();
      return setup.maxEvents === undefined ? continueAsNewSuggested : historyLength > setup.maxEvents;
    },
    async carryOn(state) {
      // A signal that has come is either heeded before, or it is lost with this run.
      await condition(allHandlersFinished);
      mirror.close();
      const retire = inbox.retiring();
      return continueAsNew<(next: EntityInput<S, C>) => Promise<unknown>>({
        entity,
        desired: inbox.desired(),
        ...(retire !== undefined && { retire }),
        carried: { sequence: base + mirror.nextSequence(), state },
      });
    },
  };
}

/** What comes from outside. A desired state counts once the bridge vouches for it; a retirement only stops. */
function listen<S>(input: EntityInput<S>) {
  let desired = input.desired;
  let retire = input.retire;
  let arrived = 0;
  let seen = 0;
  setHandler(defineSignal<[Desired<S>]>(ENTITY_SIGNALS.desired), async (wanted) => {
    // Signals may come twice and out of order.
    if (!(wanted.generation > desired.generation) || !(await vouch(input.entity, wanted))) return;
    if (wanted.generation <= desired.generation) return;
    desired = wanted;
    arrived += 1;
  });
  setHandler(defineSignal<[Retirement]>(ENTITY_SIGNALS.retire), (wanted) => {
    retire ??= wanted;
    arrived += 1;
  });
  setHandler(defineSignal(ENTITY_SIGNALS.look), () => {
    arrived += 1;
  });
  return {
    desired: () => desired,
    retiring: () => retire,
    news: async (ms: number) => {
      await condition(() => arrived > seen, ms);
      seen = arrived;
    },
  };
}

async function vouch(entity: EntityIdentity, desired: Desired): Promise<boolean> {
  const { vouchDesired } = proxyLocalActivities<EntityActivities>({
    startToCloseTimeout: '10s',
    cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
    retry: { initialInterval: '200ms', backoffCoefficient: 2, maximumInterval: '10s' },
  });
  return (await vouchDesired({ entity, desired })).kind === 'vouched';
}
