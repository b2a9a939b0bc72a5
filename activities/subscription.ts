import { formatDuration } from '../api/duration.js';
import { isObject } from '../api/json.js';
import { renderString } from '../api/render.js';
import { keyOf } from '../kube/client.js';
import { isRetryable, KubeError } from '../kube/error.js';
import { describeKey } from '../kube/object.js';
import type { KubeObject } from '../kube/object.js';
import { subscriptionSpec } from './clusternet-body.js';
import { APPS, bindingOf, listClusters, missingKind, stopUnconfirmed } from './clusternet.js';
import type { ManagedCluster } from './clusternet.js';
import type { Attempt, AttemptResult } from './handler.js';
import { isMarkedBy } from './marks.js';
import { FINALIZER_WAIT_MS, undoAll } from './object-action.js';
import type { ObjectHandlerOptions, Performed } from './object-action.js';
import { deleteObject } from './object-delete.js';
import { carryOut } from './object-effect.js';
import type { EffectBounds, ObjectEffect, ObjectTask } from './object-effect.js';
import { createObjectHandler, invalid, joined, oneReference, succeeded } from './object-handler.js';
import type { ObjectHandler, ObjectPlan, Rendered } from './object-handler.js';
import { lookUp } from './objects.js';
import { operationOf } from './operations.js';
import { waitUntilReady } from './subscription-ready.js';
import type { Before, Waited } from './subscription-ready.js';
import { chooseTargets } from './subscription-targets.js';

/** An attempt ends this long before its deadline, so that it can still say what it waited for. */
const MARGIN_MS = 1500;
/** Longest look at readiness when an attempt that waited for it was lost. */
const SETTLE_LOOK_MS = 5000;

/**
 * Subscription actions: which clusters run what (seed: SubscriptionAction; plan semantics, §3). Replace deletes, waits
 * until the old one is gone, and creates: Clusternet removes asynchronously, and a new Subscription of the same name is
 * refused before. It is also what gets a deployment going again that Clusternet has given up.
 */
export function createSubscriptionHandler(options: Partial<ObjectHandlerOptions> = {}): ObjectHandler {
  const bounds = { finalizerWaitMs: options.finalizerWaitMs ?? FINALIZER_WAIT_MS };
  const handler = createObjectHandler<Plan>(
    {
      render: (attempt, purpose) => render(attempt, { checkTargets: purpose === 'act' }),
      outputsOf: () => oneReference('subscriptionRef'),
      perform: (task, tracked) =>
        task.operation === 'Replace' ? replace(task, tracked, bounds) : carryOut(task, tracked, bounds),
      conclude,
    },
    bounds,
  );
  return {
    ...handler,
    async undo(attempt) {
      const removed: string[] = [];
      const result = await undoAll(attempt, {
        bounds,
        forwardTasks: async () => {
          const plan = await render(attempt, { checkTargets: false });
          return plan.ok ? plan.tasks : [];
        },
        beforeDelete: (object) => {
          removed.push(...bindingsOf(object));
          return Promise.resolve();
        },
      });
      if (result.kind !== 'succeeded' || removed.length === 0) return result;
      const warning = stopUnconfirmed(removed, await listClusters(attempt.kube, attempt.signal));
      return warning === undefined ? result : { ...result, message: joined([warning, result.message]) };
    },
    async settle(attempt) {
      const settled = await handler.settle(attempt);
      const reference = settled.kind === 'succeeded' ? settled.outputs?.subscriptionRef : undefined;
      const { waitReady } = attempt.action;
      if (settled.kind !== 'succeeded' || reference?.uid === undefined || waitReady !== true) return settled;
      const { name, namespace = '', uid } = reference;
      const waited = await waitUntilReady(
        attempt,
        { name, namespace, uid },
        settled.outputs?.created === undefined ? { generation: undefined, specHash: undefined } : undefined,
        { timeoutMs: Math.min(SETTLE_LOOK_MS, attempt.deadline - Date.now() - MARGIN_MS) },
      );
      if (waited.kind === 'ready') return settled;
      return {
        kind: 'failed',
        reason: 'NotReady',
        message: `the Subscription is written, but not ready: ${waitedFor(waited)}`,
        effect: 'Done',
        ...(settled.outputs !== undefined && { outputs: settled.outputs }),
      };
    },
  };
}

async function conclude(plan: Plan, performed: Performed, attempt: Attempt): Promise<AttemptResult> {
  const { task, former } = plan;
  // An apply or patch that drops a cluster is known by what was bound before it.
  const before = performed.state?.documents[0]?.object ?? former;
  const unconfirmed = await unconfirmedStops(task, plan.matched, before, attempt);
  const notes = [unconfirmed, plan.warning, performed.notes];
  const isWaitedFor = attempt.action.waitReady === true && task.operation !== 'Delete';
  if (!isWaitedFor) return succeeded(performed, notes);
  return awaitReady(task, performed, before, notes, attempt);
}

interface Plan extends ObjectPlan {
  task: ObjectTask;
  /** What was there before the effect, unless it is created. */
  former?: KubeObject;
  /** Clusters that the written subscribers choose; undefined when none are written. */
  matched?: ManagedCluster[];
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
        'feeds is empty; name at least one source. To stop what is deployed use operation Delete: Clusternet leaves it running when only its feeds go',
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
  const targets = chooseTargets(spec.subscribers, await listClusters(kube, signal));
  if (!targets.ok) return targets;
  return {
    ...plan,
    matched: targets.matched,
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
    await kube.patch(key, task.object, { kind: 'apply', force: true, dryRun: true, signal });
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

/** The warning about clusters that are out of reach and from which this action removed something. */
async function unconfirmedStops(
  task: ObjectTask,
  matched: ManagedCluster[] | undefined,
  former: KubeObject | undefined,
  attempt: Attempt,
): Promise<string | undefined> {
  if (former === undefined || (task.operation !== 'Delete' && matched === undefined)) return undefined;
  const kept = new Set(task.operation === 'Delete' ? [] : matched?.map(bindingOf));
  const removed = bindingsOf(former).filter((binding) => !kept.has(binding));
  if (removed.length === 0) return undefined;
  try {
    return stopUnconfirmed(removed, await listClusters(attempt.kube, attempt.signal));
  } catch (error) {
    if (!(error instanceof KubeError)) throw error;
    return `StopUnconfirmed: whether ${removed.join(', ')} stopped what was deployed there is not known (${error.message})`;
  }
}

async function awaitReady(
  task: ObjectTask,
  performed: Performed,
  former: KubeObject | undefined,
  notes: (string | undefined)[],
  attempt: Attempt,
): Promise<AttemptResult> {
  const [effect] = performed.effects;
  const uid = effect?.reference.uid ?? '';
  const { name, namespace = '' } = task.object.metadata;
  const isNew = former === undefined || former.metadata.uid !== uid;
  const before: Before | undefined = isNew
    ? undefined
    : {
        generation: former.metadata.generation,
        specHash: isObject(former.status) ? former.status.specHash : undefined,
      };
  const started = Date.now();
  let waitingFor = 'Clusternet to bind clusters';
  let waited: Waited;
  try {
    waited = await waitUntilReady(attempt, { name, namespace, uid }, before, {
      timeoutMs: attempt.deadline - Date.now() - MARGIN_MS,
      progress: (text) => {
        waitingFor = text;
      },
    });
  } catch (error) {
    if (!attempt.signal.aborted) throw error;
    return {
      kind: 'interrupted',
      outputs: performed.outputs,
      effect: 'Done',
      message: joined([`waited for ${waitingFor}`, ...notes]) ?? '',
    };
  }
  const { outputs } = performed;
  switch (waited.kind) {
    case 'ready':
      return succeeded(performed, [...notes, `applied in ${waited.bindings.join(', ')}`]);
    case 'gone':
      return {
        kind: 'failed',
        reason: 'Replaced',
        message:
          joined([
            `${describeKey(keyOf(task.object))} was deleted by someone else while it was waited for`,
            ...notes,
          ]) ?? '',
        outputs,
        effect: 'Done',
      };
    case 'waiting':
      return {
        kind: 'retry',
        reason: waited.failure === undefined ? 'NotReady' : 'DeploymentFailed',
        message:
          joined([
            `${describeKey(keyOf(task.object))} is written, but after ${formatDuration(Date.now() - started)} not ready: ${waitedFor(waited)}`,
            ...notes,
          ]) ?? '',
        outputs,
        ambiguous: true,
        effect: 'Done',
      };
  }
}

function waitedFor(waited: Waited): string {
  switch (waited.kind) {
    case 'ready':
      return 'nothing';
    case 'gone':
      return 'it is gone';
    case 'waiting':
      return waited.failure ?? `it waits for ${waited.for}`;
  }
}

function bindingsOf(subscription: KubeObject): string[] {
  const { status } = subscription;
  return isObject(status) && Array.isArray(status.bindingClusters) ? status.bindingClusters.map(String) : [];
}

const isEmptyList = (value: unknown): boolean => Array.isArray(value) && value.length === 0;
