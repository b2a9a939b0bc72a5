/**
 * What the seals of a run cover, and how a genuine task is told from a forged one (docs/security.md#seals): the same
 * for whoever seals and whoever verifies. This file knows no keys, and it is no part of workflow code.
 */
import { canonicalJson } from '../../api/core/json.js';
import type { Refusal } from '../../api/core/refusal.js';
import { rollbackOf } from '../../api/plan/actions/action-defaults.js';
import type { ApprovalAnswer } from '../../api/plan/actions/approval-answers.js';
import type { ActionAddress, ActionBody } from '../../api/plan/snapshot/run.js';
import type { ActionStatus } from '../../api/plan/types.js';
import { traceOf } from '../../api/plan/undo/trace.js';
import type { EffectTrace } from '../../api/plan/undo/trace.js';
import { rollbackWorkflowId, settlementWorkflowId, stageWorkflowId } from './contract.js';
import type { RunIdentity, SettlementInput } from './contract.js';
import type { ActionTask, CleanupTask, ClusterTarget } from './contract-tasks.js';

/** The place of an action, without its cluster. */
const placeOf = ({ stage, workflow, action }: ActionAddress): ActionAddress => ({ stage, workflow, action });

/** What the seal of a run covers: all that its identity says. */
export const sealedRun = ({ seal: _, ...run }: RunIdentity): Omit<RunIdentity, 'seal'> => run;

/** What the seal of a settlement covers: all that it is given. */
export const sealedSettlement = ({ seal: _, ...input }: SettlementInput): Omit<SettlementInput, 'seal'> =>
  input;

/** What the seal of a body covers. */
export const sealedBody = (part: {
  uid: string;
  at: ActionAddress;
  direction: ActionTask['direction'];
  body: ActionBody;
}): unknown => ({ ...part, at: placeOf(part.at) });

/** What the seal of a step of a revert covers; `clusterId` of the part in one cluster. */
export const sealedStep = (step: {
  uid: string;
  at: ActionAddress;
  direction: ActionTask['direction'];
  forward?: ActionStatus | undefined;
  outputs: ActionTask['outputs'];
  clusterId?: string | undefined;
}): unknown => step;

/** What the seal of a cluster of an action covers. */
export const sealedCluster = (part: {
  uid: string;
  at: ActionAddress;
  target: Pick<ClusterTarget, 'cluster' | 'clusterId'>;
}): unknown => ({
  uid: part.uid,
  at: placeOf(part.at),
  cluster: part.target.cluster,
  clusterId: part.target.clusterId,
});

/** What the seal of an answer covers: it is for one run. */
export const sealedAnswer = (uid: string, { seal: _, ...answer }: ApprovalAnswer): unknown => ({
  uid,
  answer,
});

/**
 * What the seal of an effect covers. It does not cover nested executions: whoever undoes one recognises it by its owner
 * and key.
 */
export const sealedEffect = ({
  uid,
  at,
  trace: { planExecutionRef: _, ...trace },
}: {
  uid: string;
  at: ActionAddress;
  trace: EffectTrace;
}): unknown => ({ uid, at, trace });

/** Whether an action has left nothing behind that an undo would have to take somebody's word for. */
export const isTraceless = (trace: EffectTrace | undefined): boolean => marksOf(trace ?? {}).length === 0;

/** Looks at a seal. */
export type SealCheck = (
  purpose: 'run' | 'body' | 'undo' | 'cluster' | 'effect',
  value: unknown,
  seal: unknown,
) => Promise<{ kind: 'sealed' } | { kind: 'unknownKey'; keyId: string } | { kind: 'wrong' }>;

/** Whether anybody vouches for what is to be done. */
export type Vouched =
  | { kind: 'vouched' }
  /** The run has no seal at all: a release without seals began it, or somebody has made it up. */
  | { kind: 'unsealed' }
  | { kind: 'unknownKey'; keyId: string }
  /** Final. `what` completes the sentence "nobody vouches for …". */
  | { kind: 'refused'; what: string };

const VOUCHED: Vouched = { kind: 'vouched' };
const refused = (what: string): Vouched => ({ kind: 'refused', what });

/** The workflows of a run that may act on a stage. */
const workflowsOf = (runId: string, stage: number): string[] => {
  const own = [stageWorkflowId(runId, stage), rollbackWorkflowId(runId, stage)];
  return [runId, ...own, ...own.map(settlementWorkflowId)];
};

/**
 * Whether a run is vouched for, and speaks from one of its own workflows.
 *
 * @param caller workflow id of the activity, as Temporal states it; undefined where no workflow has scheduled it
 */
export async function checkRun(
  run: RunIdentity,
  { caller, stage }: { caller: string | undefined; stage?: number | undefined },
  check: SealCheck,
): Promise<Vouched> {
  const { workflowId = '', seal } = run;
  if (seal === undefined) return { kind: 'unsealed' };
  const checked = await check('run', sealedRun(run), seal);
  if (checked.kind === 'unknownKey') return checked;
  if (checked.kind === 'wrong') return refused('who the run is');
  const callers = stage === undefined ? [workflowId] : workflowsOf(workflowId, stage);
  return caller !== undefined && callers.includes(caller)
    ? VOUCHED
    : refused(`what ${caller === undefined ? 'no workflow' : `workflow "${caller}"`} asks for`);
}

/** Something that a seal has to cover. */
interface Claim {
  purpose: Exclude<Parameters<SealCheck>[0], 'run'>;
  what: string;
  value: unknown;
  seal: unknown;
}

/**
 * Whether everything that a task relies on is vouched for: the run, the workflow that asks, the body where it is sent
 * along, the step of a revert, the cluster, and what an undo inside the run relies on. A body read from the snapshot is
 * covered by the snapshot's digest, which is part of the run's identity.
 *
 * Times and retries, which are Temporal's to grant, and the values that actions pass to each other are not covered.
 */
export async function checkTask(
  task: ActionTask,
  caller: string | undefined,
  check: SealCheck,
): Promise<Vouched> {
  const { run, at } = task;
  const vouched = await checkRun(run, { caller, stage: at.stage }, check);
  if (vouched.kind !== 'vouched') return vouched;
  const isUndo = task.direction === 'undo';
  // A forged task need not match its type.
  if (!isUndo && task.direction !== 'forward') return refused('where the task leads');
  if (isUndo && run.operation === 'Execute' && run.rollsBack !== true)
    return refused('an undo in a run that does not roll back');
  const known = task.forward?.outputs?.priorRef;
  if (isUndo && task.prior !== undefined && canonicalJson(task.prior) !== canonicalJson(known ?? null))
    return refused('the state to restore');
  for (const { purpose, what, value, seal } of claimsOf(task)) {
    const found = await check(purpose, value, seal);
    if (found.kind === 'unknownKey') return found;
    if (found.kind === 'wrong') return refused(what);
  }
  return isUndo && run.operation === 'Execute' ? checkEffects(task, check) : VOUCHED;
}

function claimsOf(task: ActionTask | CleanupTask): Claim[] {
  const { run, at, direction, body, seals = {}, forward, outputs, clusterId } = task;
  const { uid } = run;
  const claims: Claim[] = [];
  if (body !== undefined) {
    // A rollback inside a run uses the bodies that the run was given to execute.
    const given = run.operation === 'Execute' ? 'forward' : direction;
    const value = sealedBody({ uid, at, direction: given, body });
    claims.push({ purpose: 'body', what: 'what the action does', value, seal: seals.body });
  }
  const isUndoneByRevert = run.operation === 'Revert' && direction === 'undo';
  if (run.operation === 'Revert') {
    // A hook around the undoing finds its clusters itself.
    const step = isUndoneByRevert ? { at, clusterId } : { at: placeOf(at) };
    const value = sealedStep({ uid, direction, forward, outputs, ...step });
    claims.push({ purpose: 'undo', what: 'the step of the revert', value, seal: seals.step });
  }
  if (at.cluster !== undefined && !isUndoneByRevert) {
    const target = { cluster: at.cluster, clusterId: clusterId ?? '' };
    const value = sealedCluster({ uid, at, target });
    claims.push({ purpose: 'cluster', what: `cluster "${at.cluster}"`, value, seal: seals.cluster });
  }
  if ('made' in task) {
    const trace = traceOf(task.made) ?? {};
    const value = sealedEffect({ uid, at, trace });
    if (!isTraceless(trace))
      claims.push({ purpose: 'effect', what: 'what is to be removed', value, seal: task.madeSeal });
  }
  return claims;
}

/** Whether workers vouch for all that an undo inside the run relies on. */
async function checkEffects({ run, at, forward, seals }: ActionTask, check: SealCheck): Promise<Vouched> {
  const claimed = traceOf(forward?.outputs) ?? {};
  const vouched = new Set<string>();
  for (const { seal, trace = claimed } of seals?.effects ?? []) {
    const found = await check('effect', sealedEffect({ uid: run.uid, at, trace }), seal);
    if (found.kind === 'unknownKey') return found;
    if (found.kind === 'sealed') for (const mark of marksOf(trace)) vouched.add(mark);
  }
  return marksOf(claimed).every((mark) => vouched.has(mark)) ? VOUCHED : refused('what is to be undone');
}

/** Each single thing that was left behind, as a text. */
const marksOf = ({ jobRef, created = [], priorRef }: EffectTrace): string[] =>
  [
    ...created.map((one) => ['created', one]),
    ...(jobRef === undefined ? [] : [['job', jobRef]]),
    ...(priorRef === undefined ? [] : [['prior', priorRef]]),
  ].map(canonicalJson);

/**
 * Whether the name and type of a task are those of its action: they decide who carries it out, and how it is found
 * again. Call this once the body is known, which may come from the snapshot.
 */
export function checkAction({ name, type, direction }: ActionTask, { action }: ActionBody): Vouched {
  const rollback = direction === 'undo' ? rollbackOf(action) : undefined;
  return name === action.name && type === (rollback ?? action).type
    ? VOUCHED
    : refused(`an action "${name}" of type ${type} at its place`);
}

/**
 * The task as it is to be carried out: the hooks around what a run rolls back run in mode Rollback, which the identity of
 * the run does not say.
 */
export function inItsMode<T extends ActionTask>(task: T, caller: string | undefined): T {
  const { run, at, direction } = task;
  const isHook =
    run.operation === 'Execute' &&
    direction === 'forward' &&
    run.workflowId !== undefined &&
    caller === rollbackWorkflowId(run.workflowId, at.stage);
  return isHook ? { ...task, run: { ...run, mode: 'Rollback' } } : task;
}

/** Why nothing is done for now, or at all; stable reasons. */
export interface SealRefusal extends Refusal {
  reason: 'NotSealed' | 'SealKeyUnknown';
  /** Whether trying again cannot help. */
  final: boolean;
}

/** In words for a person, why nobody vouches; undefined where somebody does. */
export function explain(
  vouched: Vouched,
  { namespace, name }: Pick<RunIdentity, 'namespace' | 'name'>,
): SealRefusal | undefined {
  const run = `run ${namespace}/${name}`;
  switch (vouched.kind) {
    case 'vouched':
      return undefined;
    case 'unknownKey':
      return {
        reason: 'SealKeyUnknown',
        message: `${run} is sealed under key "${vouched.keyId}", which is not in the ring of this program; put the key back into the ring, or cancel the run`,
        final: false,
      };
    case 'unsealed':
      return {
        reason: 'NotSealed',
        message: `${run} was begun without seals: by an earlier release, or by somebody who may start workflows in Temporal. If it is yours, let it go on with DROVER_ACCEPT_UNSEALED_UNTIL (24 h at most); else cancel it`,
        final: false,
      };
    case 'refused':
      return {
        reason: 'NotSealed',
        message: `nobody vouches for ${vouched.what} in ${run}, so nothing was done; look who may start workflows and change them in Temporal`,
        final: true,
      };
  }
}
