import { isDeepStrictEqual } from 'node:util';
import { isObject } from '../api/json.js';
import { renderString } from '../api/render.js';
import type { ActionOutputs, ObjectReference } from '../api/types.js';
import { keyOf } from '../kube/client.js';
import type { KubeObject } from '../kube/object.js';
import { localizationSpec } from './clusternet-body.js';
import { APPS, CLUSTERS, missingKind } from './clusternet.js';
import type { Attempt, Handler } from './handler.js';
import {
  captureAll,
  FINALIZER_WAIT_MS,
  isAutomaticUndo,
  performAll,
  refused,
  settleAll,
  settleUndo,
  undoAll,
} from './object-action.js';
import type { ObjectHandlerOptions, Refusal } from './object-action.js';
import { carryOut } from './object-effect.js';
import type { EffectBounds, ObjectEffect, ObjectTask } from './object-effect.js';
import { lookUp } from './objects.js';
import { operationOf } from './operations.js';
import { checkOverrides } from './overrides.js';

/** Priority of a Localization that is created without one (seed: LocalizationAction). */
const DEFAULT_PRIORITY = 500;

/**
 * Localization actions: overrides of what Clusternet deploys to one cluster (seed: LocalizationAction; plan semantics,
 * §3). A Localization is never replaced as a whole: its controller keeps labels on it that make it effective.
 */
export function createLocalizationHandler(options: Partial<ObjectHandlerOptions> = {}): Handler {
  const bounds = { finalizerWaitMs: options.finalizerWaitMs ?? FINALIZER_WAIT_MS };
  return {
    async run(attempt) {
      const plan = await render(attempt);
      if (!plan.ok) return refused(plan);
      const performed = await performAll([plan.task], attempt, {
        bounds,
        outputsOf,
        perform: (task, tracked) => perform(task, tracked, bounds),
      });
      if (performed.stopped !== undefined) return performed.stopped;
      const notes = [performed.notes, await doubts(plan.task, attempt)].filter((note) => note !== undefined);
      return {
        kind: 'succeeded',
        outputs: performed.outputs,
        ...(notes.length > 0 && { message: notes.join('; ') }),
      };
    },
    async capture(attempt) {
      const plan = await render(attempt);
      if (!plan.ok) return { kind: 'failed', reason: plan.reason, message: plan.message };
      return captureAll([plan.task], attempt);
    },
    async undo(attempt) {
      return undoAll(attempt, {
        bounds,
        forwardTasks: async () => {
          const plan = await render(attempt);
          return plan.ok ? [plan.task] : [];
        },
        beforeDelete: (object) => makeEffective(object, attempt),
      });
    },
    async settle(attempt) {
      if (isAutomaticUndo(attempt)) return settleUndo();
      const plan = await render(attempt);
      return plan.ok ? settleAll([plan.task], attempt, outputsOf) : refused(plan);
    },
  };
}

type Plan = { ok: true; task: ObjectTask } | ({ ok: false } & Refusal);

async function render({ action, scope, kube }: Attempt): Promise<Plan> {
  const block = action.localization;
  if (block === undefined) {
    return invalid(`action "${action.name}" has no block "localization"; write the Localization to change`);
  }
  const named = operationOf('Localization', block.operation, scope);
  if (!named.ok) return named;
  const { operation } = named;
  const body = localizationSpec(block, scope);
  if (!body.ok) return body;
  const { spec } = body;
  if (operation !== 'Delete') {
    const feed = isObject(spec.feed) ? spec.feed : undefined;
    if (operation === 'Create' && feed === undefined) {
      return invalid('feed is missing; a Localization that is created needs the source that it changes');
    }
    const problem = checkOverrides(spec.overrides, feed === undefined ? undefined : String(feed.kind));
    if (problem !== undefined) return { ok: false, ...problem };
  }
  const missing = await missingKind(kube, 'Localization');
  if (missing !== undefined) return { ok: false, ...missing };
  return {
    ok: true,
    task: {
      operation,
      object: {
        apiVersion: APPS,
        kind: 'Localization',
        metadata: { name: renderString(block.name, scope), namespace: renderString(block.namespace, scope) },
        spec: operation === 'Create' ? withDefaults(spec, {}) : spec,
      },
    },
  };
}

async function perform(task: ObjectTask, attempt: Attempt, bounds: EffectBounds): Promise<ObjectEffect> {
  const key = keyOf(task.object);
  if (task.operation === 'Create') return carryOut(task, attempt, bounds);
  const current = await lookUp(attempt.kube, key, attempt.signal);
  const now = isObject(current?.spec) ? current.spec : {};
  const spec = task.object.spec as Record<string, unknown>;
  switch (task.operation) {
    case 'Delete':
      if (current !== undefined && isToGo(task, current)) await makeEffective(current, attempt);
      return carryOut(task, attempt, bounds);
    case 'Apply':
    case 'Patch':
    case 'Replace': {
      if (current !== undefined && isObject(spec.feed) && isRetargeted(now.feed, spec.feed)) {
        return {
          kind: 'failed',
          reason: 'InvalidSpec',
          message: `Localization ${key.namespace ?? ''}/${key.name} changes ${show(now.feed)}; a change of its feed would leave that override in effect: delete it and create another one`,
          effect: 'None',
        };
      }
      // Fields that an apply leaves out and had set before would fall back to Clusternet's ApplyLater.
      const whole = task.operation === 'Apply' ? withDefaults(spec, now) : spec;
      return carryOut({ ...task, object: { ...task.object, spec: whole } }, attempt, bounds);
    }
  }
}

/** Values that are in effect, else our defaults: with Clusternet's ApplyLater a failover would change nothing. */
function withDefaults(
  spec: Record<string, unknown>,
  current: Record<string, unknown>,
): Record<string, unknown> {
  return {
    overridePolicy: current.overridePolicy ?? 'ApplyNow',
    priority: current.priority ?? DEFAULT_PRIORITY,
    ...spec,
  };
}

const isToGo = ({ prior }: ObjectTask, current: KubeObject): boolean =>
  current.metadata.deletionTimestamp === undefined &&
  (prior === undefined || prior.object?.metadata.uid === current.metadata.uid);

/** A Localization that is deleted as ApplyLater stays in effect until something else changes. */
async function makeEffective(object: KubeObject, attempt: Attempt): Promise<void> {
  if (isObject(object.spec) && object.spec.overridePolicy === 'ApplyNow') return;
  const { name, namespace, uid } = object.metadata;
  attempt.beforeEffect();
  await attempt.kube.patch(
    { apiVersion: APPS, kind: 'Localization', name, ...(namespace !== undefined && { namespace }) },
    { metadata: { uid }, spec: { overridePolicy: 'ApplyNow' } },
    { kind: 'merge', signal: attempt.signal },
  );
}

/** What makes it doubtful that the Localization has an effect. */
async function doubts({ operation, object }: ObjectTask, attempt: Attempt): Promise<string | undefined> {
  if (operation === 'Delete') return undefined;
  if (isObject(object.spec) && object.spec.overridePolicy === 'ApplyLater') {
    return 'overridePolicy is ApplyLater: it takes effect only when something else is deployed again';
  }
  const { namespace } = object.metadata;
  const clusters = await attempt.kube
    .list({ apiVersion: CLUSTERS, kind: 'ManagedCluster' }, { namespace: namespace ?? '', limit: 1 })
    // Who may not look at clusters may still write Localizations; this is no more than a hint.
    .catch(() => undefined);
  return clusters?.items.length === 0
    ? `no ManagedCluster is in namespace ${namespace ?? ''}, so it changes nothing; a Localization belongs into the namespace of its cluster`
    : undefined;
}

function isRetargeted(from: unknown, to: Record<string, unknown>): boolean {
  return isObject(from) && !isDeepStrictEqual(identity(from), identity({ ...from, ...to }));
}

const identity = ({ apiVersion, kind, name, namespace }: Record<string, unknown>): unknown[] => [
  apiVersion,
  kind,
  name,
  namespace ?? '',
];

const show = (feed: unknown): string =>
  isObject(feed) ? [feed.kind, feed.namespace, feed.name].filter(isText).join(' ') : 'another feed';

const isText = (value: unknown): value is string => typeof value === 'string' && value !== '';

const invalid = (message: string): { ok: false } & Refusal => ({ ok: false, reason: 'InvalidSpec', message });

const outputsOf = (references: ObjectReference[], created: ObjectReference[]): ActionOutputs => ({
  ...(references[0] !== undefined && { localizationRef: references[0] }),
  ...(created.length > 0 && { created }),
});
