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
import { isObject } from '../../api/core/json.js';
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
  const { entity, carried } = input;
  const bridge = bridgeActivities<EntityBridgeActivities>(entity, 'status');
  const inbox = listen(input);
  const isVouched =
    // Only a run of the entity itself hands on what the next one is to know.
    (carried === undefined) === (workflowInfo().continuedFromExecutionRunId === undefined) &&
    (await vouch(entity, { desired: input.desired })) &&
    (input.retire === undefined || (await vouch(entity, { retire: input.retire })));
  if (!isVouched)
    throw ApplicationFailure.nonRetryable(`nobody vouches for ${entity.workflowId}`, 'NotSealed');
  let last = carried?.sequence ?? 0;
  const say = <T>(content: T): MirrorEnvelope<EntitySaid<T>> => {
    const { kind, namespace, name, uid, epoch } = entity;
    // By the clock, so that a run which was reset speaks with numbers that its status has not seen.
    last = Math.max(last + 1, Date.now());
    const object = { namespace, name, uid };
    return { kind, object, epoch, speaker: SPEAKER, sequence: last, update: { entity, content } };
  };
  // Nothing is done before the bridge has recorded the epoch. A stranger's copy ends here, also one that a workflow of his own
  // has handed something on to.
  await bridge.record(say({}));
  const mirror = startMirror<U>({
    options: setup.mirror,
    collect: setup.collect,
    send: (content) => bridge.mirror(say(content)),
  });
  return {
    identity: entity,
    desired: inbox.desired,
    retiring: inbox.retiring,
    news: inbox.news,
    touch: mirror.touch,
    // A step of the mirror that overtook it would make it an older one, which is dropped.
    record: (update) => mirror.alone(() => bridge.record(say(update))),
    release: () => mirror.alone(() => bridge.release(say(null))),
    isLong() {
      const { historyLength, continueAsNewSuggested } = workflowInfo();
      return setup.maxEvents === undefined ? continueAsNewSuggested : historyLength > setup.maxEvents;
    },
    async carryOn(state) {
      // What was not sent yet, and a signal that has come, would be lost with this run.
      await mirror.finish();
      await condition(allHandlersFinished);
      const retire = inbox.retiring();
      return continueAsNew<(next: EntityInput<S, C>) => Promise<unknown>>({
        entity,
        desired: inbox.desired(),
        ...(retire !== undefined && { retire }),
        carried: { sequence: last, state, ...(inbox.hasNews() && { news: true as const }) },
      });
    },
  };
}

/** What comes from outside. It counts once the bridge vouches for it: anybody may send a signal, with anything in it. */
function listen<S>(input: EntityInput<S>) {
  const { entity } = input;
  let desired = input.desired;
  let retire = input.retire;
  let arrived = input.carried?.news === true ? 1 : 0;
  let seen = 0;
  setHandler(defineSignal<[unknown]>(ENTITY_SIGNALS.desired), async (said) => {
    if (!isObject(said) || typeof said.generation !== 'number') return;
    const wanted = said as unknown as Desired<S>;
    // Signals may come twice and out of order.
    if (wanted.generation <= desired.generation || !(await vouch(entity, { desired: wanted }))) return;
    if (wanted.generation <= desired.generation) return;
    desired = wanted;
    arrived += 1;
  });
  setHandler(defineSignal<[unknown]>(ENTITY_SIGNALS.retire), async (said) => {
    if (!isObject(said) || retire !== undefined) return;
    const wanted = said as unknown as Retirement;
    if (!(await vouch(entity, { retire: wanted }))) return;
    retire ??= wanted;
    arrived += 1;
  });
  setHandler(defineSignal(ENTITY_SIGNALS.look), () => {
    arrived += 1;
  });
  return {
    desired: () => desired,
    retiring: () => retire,
    hasNews: () => arrived > seen,
    news: async (ms: number) => {
      await condition(() => arrived > seen, ms);
      seen = arrived;
    },
  };
}

async function vouch(
  entity: EntityIdentity,
  said: { desired: Desired } | { retire: Retirement },
): Promise<boolean> {
  const { vouchDesired, vouchRetirement } = proxyLocalActivities<EntityActivities>({
    startToCloseTimeout: '10s',
    cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
    retry: { initialInterval: '200ms', backoffCoefficient: 2, maximumInterval: '10s' },
  });
  const found = await ('desired' in said
    ? vouchDesired({ entity, ...said })
    : vouchRetirement({ entity, ...said }));
  return found.kind === 'vouched';
}
