import { isObject } from '../../../api/core/json.js';
import { renderString } from '../../../api/plan/template/render.js';
import type { ActionOutputs } from '../../../api/plan/types.js';
import { keyOf } from '../../../kube/client.js';
import { isRetryable, KubeError } from '../../../kube/error.js';
import { describeKey } from '../../../kube/object.js';
import type { KubeObject } from '../../../kube/object.js';
import { DRIFT_AFTER_MS } from './child-check.js';
import { subscriptionSpec } from '../../../api/plan/actions/clusternet-body.js';
import { APPS, bindingOf, listClusters, missingKind } from './clusternet.js';
import type { ManagedCluster } from './clusternet.js';
import type { Attempt, AttemptResult } from '../../core/handler.js';
import { isMarkedBy } from '../../core/marks.js';
import { FINALIZER_WAIT_MS } from '../objects/object-action.js';
import type { ObjectHandlerOptions } from '../objects/object-action.js';
import type { Performed } from '../objects/object-perform.js';
import { undoAll } from '../objects/object-undo-all.js';
import { deleteObject } from '../../core/object-delete.js';
import { carryOut, validationOf } from '../objects/object-effect.js';
import type { EffectBounds, ObjectEffect } from '../objects/object-effect.js';
import type { ObjectTask } from '../../core/object-task.js';
import { createObjectHandler, invalid, joined, oneReference } from '../objects/object-handler.js';
import type { ObjectHandler, ObjectPlan, Rendered } from '../objects/object-handler.js';
import type { UndoEffect } from '../objects/object-undo.js';
import { lookUp } from '../../core/objects.js';
import { operationOf } from '../objects/operations.js';
import type { Before } from './subscription-ready.js';
import { bindingsOf, findUnconfirmedStops } from './subscription-stops.js';
import type { Removal, UnconfirmedStops } from './subscription-stops.js';
import { chooseTargets, chosenBy, strandedBy } from './subscription-targets.js';
import { awaitSubscription, subscriptionKey } from './subscription-wait.js';
import type { Ending } from './subscription-wait.js';

/** Longest look at readiness when an attempt that waited for it was lost. */
const SETTLE_LOOK_MS = 5000;

/** What the handler is made with. */
export interface SubscriptionHandlerOptions extends ObjectHandlerOptions {
  /** See `CheckBounds`; default 15 s. */
  driftAfterMs: number;
}

/**
 * Subscription actions: which clusters run what (in the original: SubscriptionAction; S3.30, S3.37). Replace deletes,
 * waits until the old one is gone, and creates: Clusternet removes asynchronously, and until then a new Subscription of
 * the same name is refused. Replace also restarts a deployment that Clusternet has given up.
 */
export function createSubscriptionHandler(options: Partial<SubscriptionHandlerOptions> = {}): ObjectHandler {
  const bounds = { finalizerWaitMs: options.finalizerWaitMs ?? FINALIZER_WAIT_MS };
  const driftAfterMs = options.driftAfterMs ?? DRIFT_AFTER_MS;
  const handler = createObjectHandler<Plan>(
    {
      render: (attempt, purpose) => render(attempt, { checkTargets: purpose === 'act' }),
      outputsOf: () => oneReference('subscriptionRef'),
      obstacle: ({ stranded }) => Promise.resolve(stranded === undefined ? undefined : notReady(stranded)),
      perform: (task, tracked) =>
        task.operation === 'Replace' ? replace(task, tracked, bounds) : carryOut(task, tracked, bounds),
      conclude: (plan, performed, attempt) => conclude(plan, performed, attempt, driftAfterMs),
    },
    bounds,
  );
  return {
    ...handler,
    async undo(attempt) {
      const reference = attempt.task.forward?.outputs?.subscriptionRef;
      const plan = await render(attempt, { checkTargets: false });
      const key =
        reference !== undefined
          ? subscriptionKey(reference.name, reference.namespace ?? '')
          : plan.ok
            ? keyOf(plan.task.object)
            : undefined;
      const look = () => (key === undefined ? undefined : lookUp(attempt.kube, key, attempt.signal));
      const before = await look();
      const result = await undoAll(attempt, {
        bounds,
        forwardTasks: () => Promise.resolve(plan.ok ? plan.tasks : []),
        beforeRestore: (object) => refuseStranding(object, before, attempt),
      });
      if (result.kind !== 'succeeded') return result;
      return concludeUndo(attempt, { before, now: await look(), message: result.message }, driftAfterMs);
    },
    async settle(attempt) {
      const settled = await handler.settle(attempt);
      const reference = settled.kind === 'succeeded' ? settled.outputs?.subscriptionRef : undefined;
      const { waitReady } = attempt.action;
      if (settled.kind !== 'succeeded' || reference?.uid === undefined || waitReady !== true) return settled;
      const { name, namespace = '', uid } = reference;
      const ending = await awaitSubscription(
        attempt,
        { name, namespace, uid },
        settled.outputs?.created === undefined ? { generation: undefined, specHash: undefined } : undefined,
        { timeoutMs: SETTLE_LOOK_MS, driftAfterMs },
      );
      if (ending.kind === 'ready') return settled;
      return {
        kind: 'failed',
        reason: 'NotReady',
        message: `the Subscription is written, but not ready: ${ending.message}`,
        effect: 'Done',
        ...(settled.outputs !== undefined && { outputs: settled.outputs }),
      };
    },
  };
}

async function conclude(
  plan: Plan,
  performed: Performed,
  attempt: Attempt,
  driftAfterMs: number,
): Promise<AttemptResult> {
  const { task } = plan;
  // An apply or patch that drops a cluster is known by what was bound before it.
  const former = performed.state?.documents[0]?.object ?? plan.former;
  const isDelete = task.operation === 'Delete';
  const { name, namespace = '' } = task.object.metadata;
  const uid = performed.effects[0]?.reference.uid ?? '';
  const ending =
    attempt.action.waitReady === true && !isDelete
      ? await awaitSubscription(attempt, { name, namespace, uid }, stateOf(former, uid), { driftAfterMs })
      : undefined;
  const removal = removedBy(task, plan.matched, former);
  const stops =
    removal === undefined
      ? undefined
      : await unconfirmedStops(attempt, removal, isDelete || ending?.kind === 'ready');
  const outputs = { ...performed.outputs, ...(stops !== undefined && { stopUnconfirmed: stops.clusters }) };
  return endingAs(ending, outputs, [stops?.message, plan.warning, performed.notes, ending?.message]);
}

/** Waits for what an undo has brought back as long as the action would, and checks whether the rest has stopped. */
async function concludeUndo(
  attempt: Attempt,
  undone: { before: KubeObject | undefined; now: KubeObject | undefined; message: string | undefined },
  driftAfterMs: number,
): Promise<AttemptResult> {
  const { before, now } = undone;
  const isBack = now !== undefined && now.metadata.deletionTimestamp === undefined;
  const { name = '', namespace = '', uid = '' } = now?.metadata ?? {};
  const ending =
    isBack && attempt.action.waitReady === true
      ? await awaitSubscription(attempt, { name, namespace, uid }, stateOf(before, uid), { driftAfterMs })
      : undefined;
  const clusters = isBack ? await listClusters(attempt.kube, attempt.signal) : [];
  const kept = isBack ? chosenBy(now, clusters).map(bindingOf) : [];
  const bindings = bindingsOf(before).filter((binding) => !kept.includes(binding));
  const stops = await unconfirmedStops(
    attempt,
    { bindings, kept, former: before },
    !isBack || ending?.kind === 'ready',
  );
  const outputs = stops === undefined ? undefined : { stopUnconfirmed: stops.clusters };
  return endingAs(ending, outputs, [stops?.message, undone.message, ending?.message]);
}

/** Restoring subscribers, too, must not take down what runs without bringing it up elsewhere. */
async function refuseStranding(
  object: KubeObject,
  before: KubeObject | undefined,
  { kube, signal }: Attempt,
): Promise<UndoEffect | undefined> {
  const clusters = await listClusters(kube, signal);
  const chosen = chosenBy(object, clusters);
  if (chosen.length === 0) return undefined;
  const stranded = strandedBy(chosen, bindingsOf(before), clusters);
  return stranded === undefined ? undefined : { kind: 'retry', reason: 'NoReadyCluster', message: stranded };
}

/** What could not be confirmed; a cut attempt looks no more. */
async function unconfirmedStops(
  attempt: Attempt,
  removal: Removal,
  look: boolean,
): Promise<UnconfirmedStops | undefined> {
  if (removal.former === undefined || attempt.signal.aborted) return undefined;
  return findUnconfirmedStops(attempt, removal, look);
}

/** The result of what was carried out, given how the wait for it ended, if it was waited for. */
function endingAs(
  ending: Ending | undefined,
  outputs: ActionOutputs | undefined,
  notes: readonly (string | undefined)[],
): AttemptResult {
  const message = joined(notes);
  const common = { ...(outputs !== undefined && { outputs }), message: message ?? '' };
  switch (ending?.kind) {
    case undefined:
    case 'ready':
      return {
        kind: 'succeeded',
        ...(outputs !== undefined && { outputs }),
        ...(message !== undefined && { message }),
      };
    case 'failed':
      return { ...common, kind: 'failed', reason: ending.reason, effect: 'Done' };
    case 'retry':
      return { ...common, kind: 'retry', reason: ending.reason, round: 'Unclear', effect: 'Done' };
    case 'interrupted':
      return { ...common, kind: 'interrupted', effect: 'Done' };
  }
}

/** What an action takes away; undefined when it leaves the clusters as they are. */
function removedBy(
  task: ObjectTask,
  matched: ManagedCluster[] | undefined,
  former: KubeObject | undefined,
): Removal | undefined {
  if (task.operation !== 'Delete' && matched === undefined) return undefined;
  const kept = task.operation === 'Delete' ? [] : (matched ?? []).map(bindingOf);
  return { bindings: bindingsOf(former).filter((binding) => !kept.includes(binding)), kept, former };
}

/** The answer while only clusters out of reach are chosen: they may come back. */
const notReady = (message: string): AttemptResult => ({
  kind: 'retry',
  reason: 'NoReadyCluster',
  message,
  round: 'Refused',
  effect: 'None',
});

/** What there was before a write; undefined when the Subscription has been replaced since. */
function stateOf(former: KubeObject | undefined, uid: string): Before | undefined {
  if (former === undefined || former.metadata.uid !== uid) return undefined;
  const { metadata, status } = former;
  return { generation: metadata.generation, specHash: isObject(status) ? status.specHash : undefined };
}

interface Plan extends ObjectPlan {
  task: ObjectTask;
  /** What was there before the effect, unless it is created. */
  former?: KubeObject;
  /** Clusters that the written subscribers choose; undefined when none are written. */
  matched?: ManagedCluster[];
  /** Why it would take everything down without bringing it up elsewhere. */
  stranded?: string;
  warning?: string;
}

async function render(
  { action, scope, kube, task, signal }: Attempt,
  options: { checkTargets: boolean },
): Promise<Rendered<Plan>> {
  const block = action.subscription;
  if (block === undefined) {
    return invalid(`action "${action.name}" has no block "subscription"; write the Subscription to change`);
  }
  const named = operationOf('Subscription', block.operation, scope);
  if (!named.ok) return named;
  const { operation } = named;
  const body = subscriptionSpec(block, scope);
  if (!body.ok) return body;
  const { spec } = body;
  const missing = await missingKind(kube, 'Subscription');
  if (missing !== undefined) return { ok: false, ...missing };
  const namespace = renderString(block.namespace ?? '', scope) || task.run.namespace;
  const object: KubeObject = {
    apiVersion: APPS,
    kind: 'Subscription',
    metadata: { name: renderString(block.name, scope), namespace },
    spec,
  };
  const isWhole = operation === 'Create' || operation === 'Replace';
  if (operation !== 'Delete') {
    if ((isWhole && spec.feeds === undefined) || spec.feeds === null || isEmptyList(spec.feeds)) {
      return invalid(
        'feeds is empty; name at least one source. To stop what is deployed use operation Delete: without feeds newer versions of Clusternet remove it too, and older ones leave it running',
      );
    }
  }
  const written: ObjectTask = { operation, object };
  const plan: Plan = { ok: true, tasks: [written], task: written };
  if (!options.checkTargets) return plan;
  const former = operation === 'Create' ? undefined : await lookUp(kube, keyOf(object), signal);
  if (former !== undefined) plan.former = former;
  const writesSubscribers = operation !== 'Delete' && (isWhole || Object.hasOwn(spec, 'subscribers'));
  if (!writesSubscribers) return plan;
  const clusters = await listClusters(kube, signal);
  const targets = chooseTargets(spec.subscribers, clusters);
  if (!targets.ok) return targets;
  const stranded = strandedBy(targets.matched, bindingsOf(former), clusters);
  return {
    ...plan,
    matched: targets.matched,
    ...(stranded !== undefined && { stranded }),
    ...(targets.warning !== undefined && { warning: targets.warning }),
  };
}

/** Deletes the Subscription that was there before, waits until it is gone, and creates the new one. */
async function replace(task: ObjectTask, attempt: Attempt, bounds: EffectBounds): Promise<ObjectEffect> {
  const { kube, signal } = attempt;
  const key = keyOf(task.object);
  const current = await lookUp(kube, key, signal);
  const former = task.prior?.object ?? undefined;
  const isFormer =
    current !== undefined &&
    (former === undefined
      ? task.prior === undefined && !isMarkedBy(current, attempt.key)
      : current.metadata.uid === former.metadata.uid);
  let deleted = former !== undefined && current === undefined;
  if (isFormer) {
    // Refused only after the delete, a bad spec would leave nothing deployed at all.
    await kube.patch(key, task.object, {
      kind: 'apply',
      force: true,
      dryRun: true,
      fieldManager: attempt.manager,
      fieldValidation: validationOf(task, attempt.task.direction),
      signal,
    });
    const result = await deleteObject(
      kube,
      { key, uid: current.metadata.uid },
      {
        signal,
        deadline: attempt.deadline,
        finalizerWaitMs: bounds.finalizerWaitMs,
        beforeEffect: () => attempt.beforeEffect(),
      },
    );
    if (result.kind === 'terminating') {
      return {
        kind: result.final ? 'failed' : 'retry',
        reason: 'StillTerminating',
        message: result.message,
        effect: 'Done',
      };
    }
    deleted = true;
  }
  try {
    const effect = await carryOut({ ...task, operation: 'Create' }, attempt, bounds);
    if (effect.kind !== 'done') return deleted ? { ...effect, effect: 'Done' } : effect;
    return { ...effect, created: task.prior === undefined ? !deleted : task.prior.object === null };
  } catch (error) {
    if (!deleted || signal.aborted || !(error instanceof KubeError)) throw error;
    return {
      kind: isRetryable(error) ? 'retry' : 'failed',
      reason: error.reason,
      message: `${describeKey(key)} was deleted, but could not be created again: ${error.message}`,
      effect: 'Done',
    };
  }
}

const isEmptyList = (value: unknown): boolean => Array.isArray(value) && value.length === 0;
