/** An object that an epoch looks after: what its workflow is told, and what follows its end. */
import type { WorkflowDescription } from '../../client/runs/workflows.js';
import type { Cacheable } from '../../kube/informer.js';
import { ENTITY_SIGNALS } from '../../workflows/core/contract-entity.js';
import type { EntityEnd } from '../../workflows/core/contract-entity.js';
import { dropFinalizer, generationOf, POLL_WHILE_DELETING_MS } from './entity-context.js';
import { keyOf, refOf } from './object-ref.js';
import type { EntityContext } from './entity-context.js';
import type { Epochs } from './entity-epochs.js';
import type { EntityView, RecordedEpoch } from './entity.js';
import { isElsewhere } from './temporal-identity.js';

/** An epoch that lasts less than this has achieved nothing: the next one waits. */
const QUICK_MS = 60_000;
const PAUSE = { firstMs: 1_000, maxMs: 300_000 };

/** @returns after how many milliseconds to look again, if at all */
export async function followEntity<T extends Cacheable>(
  context: EntityContext<T>,
  epochs: Epochs<T>,
  object: T,
  view: EntityView & { recorded: RecordedEpoch },
): Promise<number | undefined> {
  const { memoryOf, now, silenceMs, temporal, where, workflows } = context;
  const { recorded } = view;
  const memory = memoryOf(object);
  if (isElsewhere(recorded, temporal)) return mismatch(context, object, recorded);
  await tell(context, epochs, object, view);
  const wait = memory.lookAt - now();
  if (wait > 0) return view.deleting ? Math.min(wait, POLL_WHILE_DELETING_MS) : wait;
  const found = await workflows.describe(recorded.workflowId);
  // Somebody else's workflow under the same id speaks for nobody.
  const isOwn = found?.firstRunId === recorded.firstRunId;
  if (isOwn && found.state === 'Running') {
    // What was not observed in all that time is said again.
    delete memory.signalled;
    delete memory.retireSent;
    memory.lookAt = now() + (view.deleting ? POLL_WHILE_DELETING_MS : silenceMs);
    return memory.lookAt - now();
  }
  if (isOwn && found.state === 'Completed') {
    const end = endOf(await workflows.result(recorded.workflowId));
    // Nobody has asked it to retire while its object is wanted.
    if (end !== undefined && (end.kind === 'ended' || view.deleting)) return conclude(context, object, end);
  }
  if (found === undefined && isElsewhere(recorded, await where())) return mismatch(context, object, recorded);
  return next(context, epochs, object, { recorded, found });
}

/** Says what is wanted, and that the object is being deleted, until the workflow has taken it up. */
async function tell<T extends Cacheable>(
  { log, memoryOf, now, workflows }: EntityContext<T>,
  epochs: Epochs<T>,
  object: T,
  view: EntityView & { recorded: RecordedEpoch },
): Promise<void> {
  const { epoch, workflowId } = view.recorded;
  const memory = memoryOf(object);
  const generation = generationOf(object);
  if (view.deleting) {
    if (memory.retireSent === true) return;
    const sent = await workflows.signal(workflowId, ENTITY_SIGNALS.retire, epochs.retirement(object));
    memory.retireSent = true;
    memory.lookAt = sent === 'accepted' ? now() + POLL_WHILE_DELETING_MS : 0;
    log.info({ object: keyOf(object), workflowId, sent }, 'retirement sent');
    return;
  }
  if ((view.observed ?? 0) >= generation || memory.signalled === generation) return;
  const sent = await workflows.signal(workflowId, ENTITY_SIGNALS.desired, epochs.desired(object, epoch));
  memory.signalled = generation;
  if (sent === 'notRunning') memory.lookAt = 0;
  log.info({ object: keyOf(object), workflowId, generation, sent }, 'new spec sent');
}

/** The epoch was ended from outside, or is lost: another one takes over, later each time that one ends at once. */
async function next<T extends Cacheable>(
  context: EntityContext<T>,
  epochs: Epochs<T>,
  object: T,
  { recorded, found }: { recorded: RecordedEpoch; found: WorkflowDescription | undefined },
): Promise<number | undefined> {
  const { cache, kind, kube, log } = context;
  const { epoch, workflowId } = recorded;
  const wait = await pauseAfter(context, object, { workflowId, found });
  if (wait !== undefined) return wait;
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
    { object: keyOf(object), workflowId, epoch: epoch + 1 },
    found === undefined
      ? 'Temporal no longer knows the workflow; the next epoch takes over'
      : 'the workflow was ended from outside; the next epoch takes over',
  );
  return epochs.begin(live, epoch + 1);
}

/** Epochs that end soon after their start follow each other later and later. */
async function pauseAfter<T extends Cacheable>(
  { kind, memoryOf, now }: EntityContext<T>,
  object: T,
  { workflowId, found }: { workflowId: string; found: WorkflowDescription | undefined },
): Promise<number | undefined> {
  const memory = memoryOf(object);
  const lasted = (found?.closeTime?.getTime() ?? now()) - (found?.startTime.getTime() ?? 0);
  memory.quickEnds = lasted < QUICK_MS ? memory.quickEnds + 1 : 0;
  if (memory.quickEnds <= 1 || found?.closeTime === undefined) return undefined;
  const pause = Math.min(PAUSE.maxMs, PAUSE.firstMs * 2 ** Math.min(memory.quickEnds, 10));
  const wait = found.closeTime.getTime() + pause - now();
  if (wait <= 0) return undefined;
  memory.quickEnds -= 1;
  await kind.held(
    object,
    'EpochsEnd',
    `workflow "${workflowId}" ended soon after its start; the next one begins after ${Math.round(pause / 1000)} s`,
  );
  return wait;
}

/** The entity has chosen its end itself. */
async function conclude<T extends Cacheable>(
  context: EntityContext<T>,
  object: T,
  end: EntityEnd,
): Promise<undefined> {
  const { cache, kind, log, writer } = context;
  if (end.kind === 'ended')
    await writer.status(cache, refOf(object), (current) => kind.withEnd(current, end));
  await dropFinalizer(context, object);
  log.info({ object: keyOf(object), end: end.kind }, 'entity ended');
  return undefined;
}

async function mismatch<T extends Cacheable>(
  { kind, silenceMs }: EntityContext<T>,
  object: T,
  { workflowId, namespaceId }: RecordedEpoch,
): Promise<number> {
  await kind.held(
    object,
    'TemporalMismatch',
    `the workflow "${workflowId}" is in another Temporal (namespace id ${namespaceId ?? 'unknown'}) than the bridge is connected to; connect it to the recorded one`,
  );
  return silenceMs;
}

/** @returns undefined for a result that says nothing that this release knows */
function endOf(result: unknown): EntityEnd | undefined {
  const end = result as Partial<EntityEnd> | null | undefined;
  return end?.kind === 'retired' || end?.kind === 'ended' ? (end as EntityEnd) : undefined;
}
