import { formatDuration } from '../../../api/core/duration.js';
import { isObject } from '../../../api/core/json.js';
import { renderString } from '../../../api/plan/template/render.js';
import { keyOf } from '../../../kube/client.js';
import { describeKey } from '../../../kube/object.js';
import type { KubeObject, ObjectKey } from '../../../kube/object.js';
import { observe } from '../../../kube/observe.js';
import { APPS, missingKind } from './clusternet.js';
import { helmChartSpec } from '../../../api/plan/actions/clusternet-body.js';
import type { Attempt, AttemptResult } from '../../core/handler.js';
import { FINALIZER_WAIT_MS, isAutomaticUndo } from '../objects/object-action.js';
import type { ObjectHandlerOptions } from '../objects/object-action.js';
import type { Performed } from '../objects/object-perform.js';
import { createObjectHandler, invalid, joined, oneReference, succeeded } from '../objects/object-handler.js';
import type { ObjectHandler } from '../objects/object-handler.js';
import type { ObjectPlan, Rendered } from '../objects/object-handler.js';
import { lookUp } from '../../core/objects.js';
import { operationOf } from '../objects/operations.js';

/** Fields that a whole HelmChart needs. */
const NEEDED = ['repo', 'chart', 'targetNamespace'] as const;
/** An attempt ends this long before its deadline, so that it can still say what it waited for. */
const MARGIN_MS = 1500;
/** A phase that an existing chart had before a change counts only once nothing has changed for this long. */
const QUIET_MS = 2000;
const RECHECK_MS = 500;

interface Plan extends ObjectPlan {
  /** What was there before the effect. */
  former: KubeObject | undefined;
}

/**
 * HelmChart actions: charts that Subscriptions deploy (the original's HelmChartAction). With `waitReady` an action
 * waits until Clusternet has found the chart in its repository: one that is not found is not deployed, and only an
 * Event says so. Clusternet keeps a deleted chart while a Subscription still names it; the delete then fails in bounded
 * time, and says why.
 */
export function createHelmChartHandler(options: Partial<ObjectHandlerOptions> = {}): ObjectHandler {
  const bounds = { finalizerWaitMs: options.finalizerWaitMs ?? FINALIZER_WAIT_MS };
  const handler = createObjectHandler<Plan>(
    { render, outputsOf: () => oneReference('helmChartRef'), conclude },
    bounds,
  );
  return {
    ...handler,
    async settle(attempt) {
      const settled = await handler.settle(attempt);
      const uid = settled.kind === 'succeeded' ? settled.outputs?.helmChartRef?.uid : undefined;
      if (settled.kind !== 'succeeded' || isAutomaticUndo(attempt) || attempt.action.waitReady !== true) {
        return settled;
      }
      const plan = await render(attempt);
      const [task] = plan.ok ? plan.tasks : [];
      if (uid === undefined || task === undefined || task.operation === 'Delete') return settled;
      const found = await lookUp(attempt.kube, keyOf(task.object), attempt.signal);
      if (phaseOf(found) === 'Found') return settled;
      return {
        kind: 'failed',
        reason: 'NotReady',
        message: `${describeKey(keyOf(task.object))} is written, but Clusternet has not found the chart${reasonOf(found)}`,
        effect: 'Done',
        ...(settled.outputs !== undefined && { outputs: settled.outputs }),
      };
    },
  };
}

async function render({ action, scope, kube, signal }: Attempt): Promise<Rendered<Plan>> {
  const block = action.helmChart;
  if (block === undefined) {
    return invalid(`action "${action.name}" has no block "helmChart"; write the HelmChart to change`);
  }
  const named = operationOf('HelmChart', block.operation, scope);
  if (!named.ok) return named;
  const { operation } = named;
  const body = helmChartSpec(block, scope);
  if (!body.ok) return body;
  const { spec } = body;
  if (operation === 'Create' || operation === 'Apply') {
    const missing = NEEDED.find((field) => typeof spec[field] !== 'string' || spec[field] === '');
    if (missing !== undefined) {
      return invalid(`spec.${missing} is missing; a HelmChart needs ${NEEDED.join(', ')}`);
    }
  }
  const missing = await missingKind(kube, 'HelmChart');
  if (missing !== undefined) return { ok: false, ...missing };
  const object: KubeObject = {
    apiVersion: APPS,
    kind: 'HelmChart',
    metadata: { name: renderString(block.name, scope), namespace: renderString(block.namespace, scope) },
    ...(operation !== 'Delete' && { spec }),
  };
  const former = operation === 'Create' ? undefined : await lookUp(kube, keyOf(object), signal);
  return { ok: true, tasks: [{ operation, object }], former };
}

async function conclude(
  { tasks: [task], former }: Plan,
  performed: Performed,
  attempt: Attempt,
): Promise<AttemptResult> {
  const [effect] = performed.effects;
  if (task === undefined || effect === undefined || task.operation === 'Delete') {
    return succeeded(performed, [performed.notes]);
  }
  if (attempt.action.waitReady !== true) {
    const doubt =
      phaseOf(effect.stored) === 'NotFound'
        ? `Clusternet has not found the chart${reasonOf(effect.stored)}`
        : undefined;
    return succeeded(performed, [performed.notes, doubt]);
  }
  const started = Date.now();
  let seen: ChartSeen;
  try {
    seen = await awaitChart(attempt, keyOf(task.object), { uid: effect.reference.uid, former });
  } catch (error) {
    if (!attempt.signal.aborted) throw error;
    return {
      kind: 'interrupted',
      outputs: performed.outputs,
      effect: 'Done',
      message: 'waited for Clusternet to find the chart',
    };
  }
  const shown = describeKey(keyOf(task.object));
  const { outputs, notes } = performed;
  switch (seen.found) {
    case 'Found':
      return succeeded(performed, [notes, 'Clusternet has found the chart']);
    case 'gone':
      return {
        kind: 'failed',
        reason: 'Replaced',
        message: `${shown} was deleted by someone else while it was waited for`,
        outputs,
        effect: 'Done',
      };
    case 'NotFound':
    case undefined: {
      const waited = formatDuration(Date.now() - started);
      const message = `${shown} is written, but after ${waited} Clusternet has not found the chart${reasonOf(seen.last)}`;
      return {
        kind: 'retry',
        reason: seen.found === undefined ? 'NotReady' : 'ChartNotFound',
        message: joined([message, notes]) ?? '',
        outputs,
        round: 'Unclear',
        effect: 'Done',
      };
    }
  }
}

/** What Clusternet says of a chart. */
interface ChartSeen {
  /** `gone`: the chart is not there, or another one; undefined: nothing yet. */
  found: 'Found' | 'NotFound' | 'gone' | undefined;
  /** The chart as it was last seen. */
  last: KubeObject | undefined;
}

/** Waits until Clusternet has looked for a chart. What it had said of the former one counts only after a while. */
async function awaitChart(
  attempt: Attempt,
  key: ObjectKey,
  { uid, former }: { uid: string | undefined; former: KubeObject | undefined },
): Promise<ChartSeen> {
  const isFresh = former === undefined || former.metadata.uid !== uid;
  const started = Date.now();
  let last: KubeObject | undefined;
  let version = '';
  let since = started;
  const found = await observe(
    attempt.kube,
    { chart: key },
    ({ chart: [chart] }) => {
      if (chart?.metadata.uid !== uid) return 'gone';
      last = chart;
      if (version !== chart?.metadata.resourceVersion) {
        version = chart?.metadata.resourceVersion ?? '';
        since = Date.now();
      }
      const phase = phaseOf(chart);
      if (phase !== 'Found' && phase !== 'NotFound') return undefined;
      const isStable = isFresh || Date.now() - since >= QUIET_MS;
      return isStable ? phase : undefined;
    },
    {
      signal: attempt.signal,
      timeoutMs: attempt.deadline - started - MARGIN_MS,
      recheckMs: RECHECK_MS,
    },
  );
  return { found, last };
}

const statusOf = (chart: KubeObject | null | undefined): Record<string, unknown> =>
  isObject(chart?.status) ? chart.status : {};

const phaseOf = (chart: KubeObject | null | undefined): unknown => statusOf(chart).phase;

function reasonOf(chart: KubeObject | null | undefined): string {
  const { reason } = statusOf(chart);
  return typeof reason === 'string' && reason !== '' ? `: ${reason}` : '';
}
