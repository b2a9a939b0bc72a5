import type { Logger } from 'pino';
import { managesFields } from '../../api/plan/actions/action-defaults.js';
import { actionInScope, judgeWhen } from '../../api/plan/actions/action-scope.js';
import type { ActionInScope } from '../../api/plan/actions/action-scope.js';
import { FIELD_MANAGER } from '../../api/core/group.js';
import { withNamedPhases } from '../../api/plan/snapshot/named-phases.js';
import { fieldManager, idempotencyKey } from '../../api/plan/naming.js';
import { RenderError } from '../../api/plan/template/render.js';
import type { RenderScope } from '../../api/plan/template/render.js';
import type { ActionBody } from '../../api/plan/snapshot/run.js';
import { resolveBody } from '../../api/plan/snapshot/snapshot.js';
import type { KubeClient } from '../../kube/client.js';
import { KubeError } from '../../kube/error.js';
import { undoneUid } from '../../workflows/plan/contract.js';
import type { ActionTask } from '../../workflows/plan/contract-tasks.js';
import type { Attempt, AttemptResult, Handler, Memo } from './handler.js';
import { actAs, confirmed, identityName } from './identity.js';
import type { ConfirmIdentity } from './identity.js';
import type { Heartbeats } from './heartbeats.js';
import { fromKubeError } from './kube-errors.js';
import type { Notes } from './notes.js';
import type { Pulse } from './pulse.js';
import type { Targets } from './target.js';
import { guarded } from './policies.js';
import type { Policies } from './policies.js';
import { cutMessage } from './series.js';
import { SnapshotError } from './snapshots.js';
import type { SnapshotStore } from './snapshots.js';
import type { PriorStore } from './prior.js';
import { NotVouched } from './vouching.js';
import type { Vouching } from './vouching.js';

/** What every attempt is made with. */
export interface AttemptDeps {
  /** The cluster, as the controller. */
  kube: KubeClient;
  snapshots: SnapshotStore;
  targets: Targets;
  log: Logger;
  /** Whether a plan without a service account acts with the controller's identity. */
  controllerIdentity: boolean;
  confirmIdentity: ConfirmIdentity;
  policies: Policies;
  heartbeats: Heartbeats;
  notes: Notes;
  vouching: Vouching;
  priors: PriorStore;
}

/** What earlier attempts leave to this one. */
export interface Inherited {
  round: number;
  /** Number of this attempt, from 1. */
  attempt: number;
  /** Attempts of the series that have failed. */
  failures: number;
  memo?: Memo;
  remember(memo: Memo): void;
}

/** Which of a handler's methods is meant; for an undo with a custom rollback `act` is that rollback's run. */
export type Method = 'act' | 'settle' | 'capture';

type Final = Extract<AttemptResult, { kind: 'failed' | 'skipped' }>;

/**
 * Puts together what one attempt works with: the action, its values, its identity. Evaluates `when` first, except for
 * `settle`, which follows an attempt that had begun.
 *
 * @returns the attempt, or how the action ends without one
 * @throws NotVouched, NotYetVouched where nobody vouches for the task
 */
export async function prepare(
  given: ActionTask,
  method: Method,
  pulse: Pulse,
  inherited: Inherited,
  deps: AttemptDeps,
): Promise<{ attempt: Attempt } | Final> {
  const { task, action, scope, custom, manager } = await readAction(await deps.vouching.task(given), deps);
  const { run } = task;
  const conditional = method !== 'settle' && (task.direction === 'forward' || custom);
  if (conditional && action.when !== undefined) {
    const unmet = judge(action.when, task, scope);
    if (unmet !== undefined) return unmet;
  }

  const identity = actAs(run, deps.kube, deps.controllerIdentity);
  if (!identity.ok) {
    return { kind: 'failed', reason: 'NoServiceAccount', message: identity.message, effect: 'None' };
  }
  const policy = await deps.policies.of(run.plan.namespace);
  const refused = policy.refuseAccount(run.serviceAccountName);
  if (refused !== undefined) return policyRefused(refused);
  let { kube } = identity;
  let who = identityName(run);
  if (run.serviceAccountName !== undefined) {
    kube = confirmed(kube, who, { confirm: deps.confirmIdentity, signal: pulse.signal });
  }
  if (action.target !== undefined) {
    const reader = { kube, namespace: run.plan.namespace, signal: pulse.signal };
    const target = await deps.targets.open(action.target, scope, reader);
    if ('kind' in target) return target;
    const { hostname, port } = target.server;
    const unreachable = policy.refuseCluster(hostname, Number(port) || 443);
    if (unreachable !== undefined) return policyRefused(unreachable);
    kube = target.kube;
    who = target.identity;
  }
  const attempt: Attempt = {
    task,
    action,
    custom,
    scope,
    manager,
    key: idempotencyKey({
      uid: task.direction === 'undo' ? undoneUid(run) : run.uid,
      at: task.at,
      direction: task.direction,
      round: inherited.round,
    }),
    round: inherited.round,
    signal: pulse.signal,
    deadline: pulse.deadline,
    kube: guarded(kube, policy),
    identity: who,
    policy,
    home: deps.kube,
    priors: deps.priors,
    isRepeated: inherited.attempt > 1 || inherited.round > 0,
    log: deps.log.child({
      execution: `${run.namespace}/${run.name}`,
      plan: run.plan.name,
      action: task.name,
      round: inherited.round,
    }),
    beforeEffect: () => pulse.beforeEffect(),
    say: sayer(task, inherited.failures, deps.notes),
    remember: (memo) => inherited.remember(memo),
    remembered: inherited.memo,
  };
  return { attempt };
}

/** Most messages of one attempt, and the least time between two: each one adds to a history. */
const MAX_NOTES = 20;
const WORDS_APART_MS = 2_000;

/** Shows what a running attempt waits for, where it is news. */
function sayer(task: ActionTask, failures: number, notes: Notes): Attempt['say'] {
  let last: { message: string; at: number } | undefined;
  let words = 0;
  return (text) => {
    const message = cutMessage(text);
    const now = Date.now();
    if (message === last?.message || words >= MAX_NOTES) return;
    if (last !== undefined && now - last.at < WORDS_APART_MS) return;
    last = { message, at: now };
    words += 1;
    notes.send({ at: task.at, message, ...(failures > 0 && { retryCount: failures }) });
  };
}

const policyRefused = (message: string): Final => ({
  kind: 'failed',
  reason: 'PolicyRefused',
  message,
  effect: 'None',
});

/**
 * The action that a task carries out, its rollback where the task undoes by one, the values for its placeholders, and the
 * field manager of both; and the task with everything by name that it carries by position.
 */
export async function readAction(
  given: ActionTask,
  { snapshots, vouching }: Pick<AttemptDeps, 'snapshots' | 'vouching'>,
): Promise<ActionInScope & { task: ActionTask; manager: string }> {
  const task =
    given.packedPhases === undefined
      ? given
      : withNamedPhases(given, await snapshots.read(given.run.snapshot));
  const body = task.body ?? (await readBody(task, snapshots));
  vouching.action(task, body);
  return { task, ...actionInScope(task, body), manager: await managerOf(body, task, snapshots) };
}

async function managerOf(body: ActionBody, task: ActionTask, snapshots: SnapshotStore): Promise<string> {
  if (!managesFields(body.action)) return FIELD_MANAGER;
  // A run that an earlier release has begun carries bodies without it.
  const { manager: digest = '' } = body.manager === undefined ? await readBody(task, snapshots) : body;
  return fieldManager({ planName: task.run.plan.name, actionName: body.action.name, digest });
}

async function readBody(task: ActionTask, snapshots: SnapshotStore): Promise<ActionBody> {
  return resolveBody(await snapshots.read(task.run.snapshot), task.at);
}

/** How an action ends because of its `when`; undefined when it goes on. */
export function judge(expression: string, task: ActionTask, scope: RenderScope): Final | undefined {
  const unmet = judgeWhen(expression, task, scope);
  return unmet?.kind === 'failed' ? { ...unmet, effect: 'None' } : unmet;
}

/** Calls the method of the handler that the task asks for. */
export function dispatch(
  handler: Handler,
  method: 'act' | 'settle',
  attempt: Attempt,
): Promise<AttemptResult> {
  if (method === 'settle') return handler.settle(attempt);
  return attempt.task.direction === 'forward' || attempt.custom === true
    ? handler.run(attempt)
    : handler.undo(attempt);
}

/**
 * What an exception means for an attempt: bad input and refusals are final, troubles of the Kubernetes API as
 * {@link fromKubeError} says, an abort is an interruption, and whatever is left is a fault of this program.
 */
export function fromException(error: unknown, task: ActionTask, pulse: Pulse, log: Logger): AttemptResult {
  const effect = pulse.effectBegan ? 'Unknown' : 'None';
  if (error instanceof NotVouched) {
    return { kind: 'failed', reason: 'NotSealed', message: error.message, effect };
  }
  if (error instanceof RenderError) {
    return { kind: 'failed', reason: error.reason, message: error.message, effect };
  }
  if (error instanceof SnapshotError) {
    return { kind: 'failed', reason: 'SnapshotLost', message: error.message, effect };
  }
  if (pulse.signal.aborted) return { kind: 'interrupted', effect, unsettled: pulse.effectBegan };
  if (error instanceof KubeError) {
    return fromKubeError(error, { identity: identityName(task.run), effect });
  }
  const { namespace, name, plan } = task.run;
  log.error(
    { err: error, execution: `${namespace}/${name}`, plan: plan.name, action: task.name },
    'unexpected error in an action; this is a fault of the program',
  );
  return {
    kind: 'retry',
    reason: 'InternalError',
    message: `unexpected error: ${error instanceof Error ? error.message : String(error)}; the worker's log has the details`,
    round: pulse.effectBegan ? 'Unclear' : 'Refused',
  };
}
