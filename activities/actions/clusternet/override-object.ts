/**
 * What Localizations and Globalizations have in common: both change what Clusternet deploys, for one cluster or for
 * many (S3.32). Neither is ever replaced as a whole: their controller keeps labels on them
 * that make them effective.
 */
import { isDeepStrictEqual } from 'node:util';
import { isObject } from '../../../api/core/json.js';
import { keyOf } from '../../../kube/client.js';
import type { KubeObject } from '../../../kube/object.js';
import { describeKey } from '../../../kube/object.js';
import { APPS, missingKind } from './clusternet.js';
import type { Body } from '../../../api/plan/actions/clusternet-body.js';
import type { Attempt } from '../../core/handler.js';
import { FINALIZER_WAIT_MS } from '../objects/object-action.js';
import type { ObjectHandlerOptions } from '../objects/object-action.js';
import { carryOut } from '../objects/object-effect.js';
import type { EffectBounds, ObjectEffect } from '../objects/object-effect.js';
import type { ObjectTask } from '../../core/object-task.js';
import { createObjectHandler, invalid, oneReference, succeeded } from '../objects/object-handler.js';
import type { ObjectHandler } from '../objects/object-handler.js';
import type { ObjectPlan, Rendered } from '../objects/object-handler.js';
import { lookUp } from '../../core/objects.js';
import { operationOf } from '../objects/operations.js';
import { judgeOverrides } from './override-effect.js';
import { checkOverrides } from './overrides.js';

/** Priority of an override that is created without one. */
const DEFAULT_PRIORITY = 500;

/** What is written in an action. */
export interface WrittenOverride {
  operation: string | undefined;
  name: string;
  /** Absent for what has no namespace. */
  namespace?: string;
  body: Body;
}

/** One of the two kinds. */
export interface OverrideKind {
  kind: 'Localization' | 'Globalization';
  outputs: 'localizationRef' | 'globalizationRef';
  /** Undefined when the action lacks its block. */
  read: (attempt: Attempt) => WrittenOverride | undefined;
  /** What makes it doubtful that the object has an effect. */
  doubts: (object: KubeObject, attempt: Attempt) => Promise<string | undefined>;
}

/** A handler of one of the two kinds. */
export function createOverrideHandler(
  override: OverrideKind,
  options: Partial<ObjectHandlerOptions>,
): ObjectHandler {
  const bounds = { finalizerWaitMs: options.finalizerWaitMs ?? FINALIZER_WAIT_MS };
  return createObjectHandler<Plan>(
    {
      render: async (attempt, purpose) => {
        const plan = await render(override, attempt);
        return plan.ok && purpose === 'act' ? judged(override, plan, attempt) : plan;
      },
      outputsOf: () => oneReference(override.outputs),
      perform: (task, attempt) => perform(task, attempt, bounds),
      async beforeDelete(object, attempt) {
        await makeEffective(object, attempt);
        return keptValues(object);
      },
      conclude: async ({ tasks: [task], notes }, performed, attempt) =>
        succeeded(performed, [
          performed.notes,
          task === undefined ? undefined : await doubts(override, task, attempt),
          ...notes,
        ]),
    },
    bounds,
  );
}

interface Plan extends ObjectPlan {
  /** What should be known about its effect. */
  notes: string[];
}

/** A plan whose object, as it will be, does what it says. */
async function judged({ kind }: OverrideKind, plan: Plan, attempt: Attempt): Promise<Rendered<Plan>> {
  const [task] = plan.tasks;
  if (task === undefined || task.operation === 'Delete') return plan;
  const { operation, object } = task;
  const { name, namespace } = object.metadata;
  const written = isObject(object.spec) ? object.spec : {};
  const current =
    operation === 'Create' ? undefined : await lookUp(attempt.kube, keyOf(object), attempt.signal);
  const now = isObject(current?.spec) ? current.spec : {};
  const spec = operation === 'Patch' ? { ...now, ...written } : withDefaults(written, now);
  const effect = await judgeOverrides({ kind, name, namespace, spec }, attempt);
  if (!effect.ok) return effect;
  const { notes } = effect;
  // Fields that an apply leaves out, and had set before, would fall back to Clusternet's ApplyLater.
  return operation === 'Apply'
    ? { ...plan, notes, tasks: [{ ...task, object: { ...object, spec } }] }
    : { ...plan, notes };
}

async function render(override: OverrideKind, attempt: Attempt): Promise<Rendered<Plan>> {
  const { kind } = override;
  const written = override.read(attempt);
  if (written === undefined) {
    const field = kind.toLowerCase();
    return invalid(
      `action "${attempt.action.name}" has no block "${field}"; write the ${kind} that it shall create or change`,
    );
  }
  const named = operationOf(kind, written.operation, attempt.scope);
  if (!named.ok) return named;
  const { operation } = named;
  const { name, namespace, body } = written;
  if (!body.ok) return body;
  const { spec } = body;
  if (operation !== 'Delete') {
    const feed = isObject(spec.feed) ? spec.feed : undefined;
    if (operation === 'Create' && feed === undefined) {
      return invalid(`feed is missing; a ${kind} that is created needs the source that it changes`);
    }
    const problem = checkOverrides(spec.overrides, feed === undefined ? undefined : String(feed.kind));
    if (problem !== undefined) return { ok: false, ...problem };
  }
  const missing = await missingKind(attempt.kube, kind);
  if (missing !== undefined) return { ok: false, ...missing };
  return {
    ok: true,
    notes: [],
    tasks: [
      {
        operation,
        object: {
          apiVersion: APPS,
          kind,
          metadata: { name, ...(namespace !== undefined && { namespace }) },
          spec: operation === 'Create' ? withDefaults(spec, {}) : spec,
        },
      },
    ],
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
          message: `${describeKey(key)} changes ${show(now.feed)}; a change of its feed would leave that override in effect: delete it and create another one`,
          effect: 'None',
        };
      }
      return carryOut(task, attempt, bounds);
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

/** An override that is deleted as ApplyLater stays in effect until something else changes. */
async function makeEffective(object: KubeObject, attempt: Attempt): Promise<void> {
  if (isObject(object.spec) && object.spec.overridePolicy === 'ApplyNow') return;
  attempt.beforeEffect();
  await attempt.kube.patch(
    keyOf(object),
    { metadata: { uid: object.metadata.uid }, spec: { overridePolicy: 'ApplyNow' } },
    { kind: 'merge', signal: attempt.signal },
  );
}

async function doubts(
  override: OverrideKind,
  { operation, object }: ObjectTask,
  attempt: Attempt,
): Promise<string | undefined> {
  if (operation === 'Delete') return undefined;
  const kept = keptValues(object);
  if (kept !== undefined) return kept;
  if (isObject(object.spec) && object.spec.overridePolicy === 'ApplyLater') {
    return 'overridePolicy is ApplyLater: it takes effect only when something else is deployed again';
  }
  return override.doubts(object, attempt);
}

/** Clusternet upgrades a release on top of its present values, so that those an override gave are never removed. */
function keptValues({ kind, spec }: KubeObject): string | undefined {
  const { feed, overrides } = isObject(spec) ? spec : {};
  if (!isObject(feed) || feed.kind !== 'HelmChart' || !Array.isArray(overrides)) return undefined;
  const gives = (overrides as unknown[]).some(
    (one) => isObject(one) && one.type === 'Helm' && one.overrideChart !== true,
  );
  return gives
    ? `Clusternet keeps the values of a release: those that this ${kind ?? 'override'} gives stay in it when the override goes; write the values of before to take them back`
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
