/** What the bridge does only for runs that it vouches for (docs/security.md#seals). */
import { ApplicationFailure } from '@temporalio/common';
import { API_VERSION } from '../../../api/core/group.js';
import type { ActionBody } from '../../../api/plan/snapshot/run.js';
import type { RunRef } from '../../../client/runs/origin.js';
import { SETTLEMENT_SUFFIX, settlementWorkflowId } from '../../../workflows/plan/contract.js';
import type { RunIdentity } from '../../../workflows/plan/contract.js';
import type { ActionTask } from '../../../workflows/plan/contract-tasks.js';
import { checkAction, checkRun, checkTask, explain, inItsMode } from '../../../workflows/plan/sealed.js';
import type { SealRefusal, Vouched } from '../../../workflows/plan/sealed.js';
import type { CachedExecution, DrDeps } from '../types.js';

/** The workflow that asks, as Temporal states it; undefined where none does. */
export type Caller = () => RunRef | undefined;

/** Decides what is vouched for. Must be called inside an activity. */
export interface BridgeVouching {
  /**
   * Verifies a run that sends an update as the stage of this index, or else as itself.
   *
   * @throws ApplicationFailure that is tried again only where that may help
   */
  run(run: RunIdentity, stage?: number): Promise<void>;
  /**
   * The task as it is to be looked at, or why it never is.
   *
   * @param options.stop whether what it has begun is to end, for which a settlement may ask too
   * @throws ApplicationFailure while that may change
   */
  task(task: ActionTask, options?: { stop?: boolean }): Promise<{ task: ActionTask } | SealRefusal>;
  /** Why a task does not belong to the action that was found for it; undefined when it does. */
  action(task: ActionTask, body: ActionBody): SealRefusal | undefined;
  /** Whether a workflow asks for what is its own: of a stage of it, or of the one that it settles. */
  ownsStage(workflowId: string): boolean;
}

/** What vouching is built from. */
export interface VouchingDeps extends Pick<DrDeps, 'kube' | 'caches' | 'runs' | 'sealer'> {
  caller: Caller;
  /** Shows on an execution why no updates of its run are accepted for now. */
  show: (execution: CachedExecution, refusal: SealRefusal) => Promise<void>;
  /** Until this moment, a run without seals may end although its execution is gone and nothing shows whose it is. */
  acceptUnsealedUntil?: Date | undefined;
}

/**
 * Vouching by seals. A run that was begun by a release without them is known by its run id, which nobody but the bridge has
 * written into the execution's status.
 */
export function createBridgeVouching(deps: VouchingDeps): BridgeVouching {
  const { caller, sealer, runs, acceptUnsealedUntil } = deps;
  const from = (): string | undefined => caller()?.workflowId;

  async function isRecorded({ namespace, name, uid }: RunIdentity): Promise<boolean> {
    const asking = caller();
    if (asking === undefined) return false;
    const found = await executionOf({ namespace, name, uid });
    if (found === undefined)
      return acceptUnsealedUntil !== undefined && Date.now() < acceptUnsealedUntil.getTime();
    const { workflowId, runId } = found.status?.temporal ?? {};
    const own = asking.workflowId === workflowId ? asking : await parentOf(asking);
    return own !== undefined && own.workflowId === workflowId && own.runId === runId;
  }

  async function executionOf({
    namespace,
    name,
    uid,
  }: Pick<RunIdentity, 'namespace' | 'name' | 'uid'>): Promise<CachedExecution | undefined> {
    const cached = deps.caches.executions.get(namespace, name);
    if (cached?.metadata.uid === uid) return cached;
    const key = { apiVersion: API_VERSION, kind: 'DRPlanExecution', namespace, name };
    const live = await deps.kube.get<CachedExecution>(key);
    return live?.metadata.uid === uid ? live : undefined;
  }

  const parentOf = async (child: RunRef): Promise<RunRef | undefined> =>
    (await runs.origins.of(child))?.parent;

  /**
   * Why the workflow that asks is no part of a run whose seal it shows: Temporal shows the seal to everybody, and lets anybody
   * start a workflow under an id that is free. Parts are known by the run that the status records, and by their parent.
   * Verifying the run itself costs no call, verifying a stage one.
   */
  async function strangerIn(run: RunIdentity): Promise<SealRefusal | undefined> {
    const asking = caller();
    const workflowId = run.workflowId ?? '';
    const own = asking?.workflowId === workflowId ? asking : asking && (await parentOf(asking));
    const recorded = (await executionOf(run))?.status?.temporal;
    const isOwn =
      own !== undefined &&
      own.workflowId === workflowId &&
      // Not recorded yet, over, or gone: nothing but the plan's lock may depend on it any more.
      (recorded?.runId === undefined ||
        (await runs.origins.areOneChain(own, { workflowId, runId: recorded.runId })));
    return isOwn ? undefined : explain({ kind: 'refused', what: strangerOf(asking) }, run);
  }

  async function look(vouched: Vouched, run: RunIdentity): Promise<SealRefusal | undefined> {
    if (vouched.kind === 'unsealed' && (await isRecorded(run))) return undefined;
    return vouched.kind === 'vouched' ? strangerIn(run) : explain(vouched, run);
  }

  /** A run whose key is gone cannot report that itself; a caller that merely claims to be one shows nothing. */
  async function tell({ namespace, name, uid }: RunIdentity, refusal: SealRefusal): Promise<void> {
    const execution = deps.caches.executions.get(namespace, name);
    const runId = execution?.status?.temporal?.workflowId ?? '';
    const own = from() ?? '';
    if (execution?.metadata.uid !== uid || runId === '') return;
    if (own === runId || own.startsWith(`${runId}/`)) await deps.show(execution, refusal);
  }

  return {
    async run(run, stage) {
      const vouched = await checkRun(run, { caller: from(), stage }, sealer.verify);
      const refusal = await look(vouched, run);
      if (refusal === undefined) return;
      if (vouched.kind === 'unknownKey') await tell(run, refusal);
      throw failureOf(refusal);
    },
    async task(task, { stop = false } = {}) {
      const vouched = await checkTask(task, from(), sealer.verify);
      // A settlement is nobody's child; it only ends what there is.
      const isSettling = stop && from()?.endsWith(SETTLEMENT_SUFFIX) === true && vouched.kind === 'vouched';
      const refusal = isSettling ? undefined : await look(vouched, task.run);
      if (refusal === undefined) return { task: inItsMode(task, from()) };
      if (!refusal.final) throw failureOf(refusal);
      return refusal;
    },
    action: (task, body) =>
      task.run.seal === undefined ? undefined : explain(checkAction(task, body), task.run),
    ownsStage: (workflowId) => {
      const asking = from();
      if (asking === undefined) return false;
      return workflowId.startsWith(`${asking}/`) || asking === settlementWorkflowId(workflowId);
    },
  };
}

const strangerOf = (asking: RunRef | undefined): string =>
  `workflow "${asking?.workflowId ?? ''}", which it has not started`;

const failureOf = ({ reason, message, final }: SealRefusal): ApplicationFailure =>
  ApplicationFailure.create({ type: reason, message, nonRetryable: final });
