/**
 * What every action of a plan would write, tried by server-side dry run as the account that will act. Renders by the
 * very code that carries the actions out. Nothing is stored, sent or started.
 */
import { randomUUID } from 'node:crypto';
import { pino } from 'pino';
import { findDescriptor } from '../../api/plan/actions/table.js';
import { isStepType } from '../../api/plan/actions/traits.js';
import { fieldManager, idempotencyKey } from '../../api/plan/naming.js';
import { describeLiteral, placeholderIn } from '../../api/plan/template/parameters.js';
import type { Policy } from '../../api/plan/policy.js';
import { RenderError } from '../../api/plan/template/render.js';
import type { ActionBody } from '../../api/plan/snapshot/run.js';
import { resolveBody, workflowAt } from '../../api/plan/snapshot/snapshot.js';
import type { Snapshot } from '../../api/plan/snapshot/snapshot.js';
import type { ActionType } from '../../api/plan/types.js';
import { evaluateWhen } from '../../api/plan/when/when.js';
import type { KubeClient } from '../../kube/client.js';
import { KubeError } from '../../kube/error.js';
import type { KubeObject } from '../../kube/object.js';
import type { RunIdentity } from '../../workflows/plan/contract.js';
import type { ActionTask } from '../../workflows/plan/contract-tasks.js';
import { withBoundedSignal } from '../core/bounded-signal.js';
import { HANDLERS } from '../actions/index.js';
import { problem, untried } from '../core/finding.js';
import type { Finding } from '../core/finding.js';
import type { EgressPolicy } from '../core/egress.js';
import type { Attempt, Handler } from '../core/handler.js';
import { fromKubeError } from '../core/kube-errors.js';
import { createForesight, tryWrites, warnUnchecked } from './preflight-writes.js';
import type { Foresight } from './preflight-writes.js';
import { createTargets } from '../core/target.js';
import { NO_PRIOR_STORE } from '../core/prior-store.js';

export type { Finding } from '../core/finding.js';
export { ownPlaces } from '../core/own-places.js';
export { readPlace } from '../core/places.js';
export { createPolicies } from '../core/policies.js';

/** What is tried, and as whom. */
export interface PreflightOptions {
  snapshot: Snapshot;
  /** Namespace of the executions. */
  namespace: string;
  /** The cluster, as the account that the actions act as. */
  kube: KubeClient;
  /** That account, for messages. */
  identity: string;
  /** What plans of that namespace may do. */
  policy: Policy;
  /** Where actions may go. */
  egress: EgressPolicy;
  /**
   * Whether the workers' own lists may differ from that policy: then what it refuses, and a list could allow, only warns.
   * Default false.
   */
  listsUnknown?: boolean;
  signal: AbortSignal;
}

/** What was found about one action. */
export interface ActionPreflight {
  stage: string;
  workflow: string;
  action: string;
  type: ActionType;
  findings: Finding[];
  /** What would be written, without marks. */
  writes: { operation: string; object: KubeObject }[];
}

/** Time for one action. */
const ACTION_MS = 30_000;

/** Tries all actions of a plan, in the order in which they are written. */
export async function preflight(options: PreflightOptions): Promise<ActionPreflight[]> {
  const { snapshot } = options;
  const results: ActionPreflight[] = [];
  const foresight = createForesight();
  const targets = createTargets(options.egress);
  const run: RunIdentity = {
    cluster: 'preflight',
    namespace: options.namespace,
    name: `${snapshot.plan.name}-preflight`.slice(-63),
    uid: randomUUID(),
    plan: snapshot.plan,
    operation: 'Execute',
    ...(snapshot.mode !== undefined && { mode: snapshot.mode }),
    runMode: snapshot.runMode,
    snapshot: { name: '', namespace: '', digest: '', parts: 0 },
  };
  for (const [stage, { name, workflows }] of snapshot.plan.spec.stages.entries()) {
    for (const workflow of workflows.keys()) {
      const ref = workflowAt(snapshot, { stage, workflow });
      const spec = ref && snapshot.workflows[`${ref.namespace}/${ref.name}`]?.spec;
      for (const action of spec?.actions.keys() ?? []) {
        const at = { stage, workflow, action };
        const body = resolveBody(snapshot, at);
        const result: ActionPreflight = {
          stage: name,
          workflow: ref?.name ?? '',
          action: body.action.name,
          type: body.action.type as ActionType,
          findings: warnOfLiterals(body),
          writes: [],
        };
        await withBoundedSignal(options.signal, ACTION_MS, (signal) =>
          tryAction(attemptOf(run, at, body, { ...options, signal }), result, foresight, {
            ...options,
            targets,
          }),
        );
        results.push(result);
      }
    }
  }
  return results;
}

/** Values that an action uses and that hold a placeholder: it stays literal, which is hardly what was meant. */
function warnOfLiterals({ params }: ActionBody): Finding[] {
  return Object.entries(params).flatMap(([name, value]): Finding[] => {
    const found = placeholderIn(value);
    return found === undefined
      ? []
      : [{ level: 'warning', reason: 'LiteralPlaceholder', message: describeLiteral(name, found) }];
  });
}

function attemptOf(
  run: RunIdentity,
  at: ActionTask['at'],
  { action, params, manager = '' }: ActionBody,
  { kube, identity, policy, signal }: PreflightOptions,
): Attempt {
  return {
    task: {
      run,
      at,
      direction: 'forward',
      round: 0,
      name: action.name,
      type: action.type as ActionType,
      timeoutMs: ACTION_MS,
      retry: { limit: 0, intervalMs: 0, backoffMultiplier: 1, maxIntervalMs: 0 },
      outputs: {},
      phases: {},
    },
    action,
    scope: {
      params,
      planName: run.plan.name,
      executionName: run.name,
      operation: run.operation,
      ...(run.mode !== undefined && { mode: run.mode }),
      outputs: {},
    },
    manager: fieldManager({ planName: run.plan.name, actionName: action.name, digest: manager }),
    key: idempotencyKey({ uid: run.uid, at, direction: 'forward', round: 0 }),
    round: 0,
    signal,
    deadline: Date.now() + ACTION_MS,
    kube,
    identity,
    policy,
    home: kube,
    priors: NO_PRIOR_STORE,
    isRepeated: false,
    log: pino({ level: 'silent' }),
    beforeEffect() {
      throw new Error('a preflight has no effect');
    },
    say: () => undefined,
    remember: () => undefined,
    remembered: undefined,
  };
}

async function tryAction(
  attempt: Attempt,
  result: ActionPreflight,
  foresight: Foresight,
  reach: Pick<PreflightOptions, 'egress' | 'listsUnknown'> & { targets: ReturnType<typeof createTargets> },
): Promise<void> {
  const { findings } = result;
  try {
    if (isSkipped(attempt)) {
      findings.push(untried('its condition (when) is false with these parameters'));
      return;
    }
    const { action, kube, signal } = attempt;
    let acting = attempt;
    if (action.target !== undefined) {
      const reader = { kube, namespace: attempt.task.run.plan.namespace, signal };
      const target = await reach.targets.open(action.target, attempt.scope, reader);
      if ('kind' in target) {
        findings.push(problem(target));
        return;
      }
      const { hostname, port } = target.server;
      const refused = attempt.policy.refuseCluster(hostname, Number(port) || 443);
      if (refused !== undefined) {
        findings.push({ level: 'problem', reason: 'PolicyRefused', message: refused });
        return;
      }
      acting = { ...attempt, kube: target.kube, identity: target.identity };
    }
    await tryHandler(acting, result, foresight, reach);
  } catch (error) {
    findings.push(explain(error, attempt));
  }
}

/** Does what the type says of preflights. */
async function tryHandler(
  attempt: Attempt,
  result: ActionPreflight,
  foresight: Foresight,
  { egress, listsUnknown = false }: Pick<PreflightOptions, 'egress' | 'listsUnknown'>,
): Promise<void> {
  const { findings, type } = result;
  const way = findDescriptor(type)?.preflight ?? 'nothing';
  if (way === 'nothing' || isStepType(type)) {
    findings.push(untried(`${type} changes nothing in a cluster`));
    return;
  }
  const handler: Handler = HANDLERS[type]({ egress });
  if (way === 'look' && handler.look !== undefined) {
    findings.push(await handler.look(attempt, { listsUnknown }));
    return;
  }
  if (handler.writes === undefined) throw new Error(`nothing says what an action of type ${type} would do`);
  // Another cluster has other objects of the same names.
  const known = attempt.action.target === undefined ? foresight : createForesight();
  const writes = await handler.writes({ ...attempt, defined: known.defined.map(({ object }) => object) });
  if (!writes.ok) {
    findings.push(problem(writes));
    return;
  }
  result.writes.push(...writes.tasks.map(({ operation, object }) => ({ operation, object })));
  if (writes.warning !== undefined) {
    findings.push({ level: 'warning', reason: 'Warning', message: writes.warning });
  }
  await tryWrites(writes.tasks, attempt, findings, known);
  const unchecked = await warnUnchecked(writes.tasks, attempt, foresight.servers);
  if (unchecked !== undefined) findings.push(unchecked);
}

/** Conditions on what is not known before the run do not count. */
function isSkipped({ action, scope, task }: Attempt): boolean {
  if (action.when === undefined) return false;
  const result = evaluateWhen(action.when, {
    params: scope.params,
    outputs: {},
    phases: {},
    ...(scope.mode !== undefined && { mode: scope.mode }),
    runMode: task.run.runMode,
    operation: scope.operation,
  });
  return 'value' in result && !result.value;
}

function explain(error: unknown, attempt: Attempt): Finding {
  if (error instanceof RenderError) {
    switch (error.reason) {
      case 'UndefinedParameter':
        return untried(`${error.message}; or give it with -p`);
      case 'UndefinedOutput':
        return untried('it uses outputs of earlier actions, which exist only in a run');
      default:
        return { level: 'problem', reason: error.reason, message: error.message };
    }
  }
  if (error instanceof KubeError) {
    const { reason, message } = fromKubeError(error, { identity: attempt.identity, effect: 'None' });
    return { level: 'problem', reason, message };
  }
  if (attempt.signal.aborted) {
    return { level: 'problem', reason: 'Timeout', message: `no answer within ${ACTION_MS / 1000} s` };
  }
  throw error;
}
