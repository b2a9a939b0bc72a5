/** What the bridge does only for runs that it vouches for (docs/security.md#seals). */
import { ApplicationFailure } from '@temporalio/common';
import { API_VERSION } from '../../../api/core/group.js';
import type { ActionBody } from '../../../api/plan/snapshot/run.js';
import { settlementWorkflowId } from '../../../workflows/plan/contract.js';
import type { RunIdentity } from '../../../workflows/plan/contract.js';
import type { ActionTask } from '../../../workflows/plan/contract-tasks.js';
import { checkAction, checkRun, checkTask, explain, inItsMode } from '../../../workflows/plan/sealed.js';
import type { SealRefusal, Vouched } from '../../../workflows/plan/sealed.js';
import type { CachedExecution, DrDeps } from '../types.js';

/** The workflow that asks, as Temporal states it; undefined where none does. */
export type Caller = () => { workflowId: string; runId: string } | undefined;

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
   * @throws ApplicationFailure while that may change
   */
  task(task: ActionTask): Promise<{ task: ActionTask } | SealRefusal>;
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
    const cached = deps.caches.executions.get(namespace, name);
    const found =
      cached?.metadata.uid === uid
        ? cached
        : await deps.kube.get<CachedExecution>({
            apiVersion: API_VERSION,
            kind: 'DRPlanExecution',
            namespace,
            name,
          });
    if (found?.metadata.uid !== uid)
      return acceptUnsealedUntil !== undefined && Date.now() < acceptUnsealedUntil.getTime();
    const { workflowId, runId } = found.status?.temporal ?? {};
    const own = asking.workflowId === workflowId ? asking : await runs.parentOf(asking);
    return own !== undefined && own.workflowId === workflowId && own.runId === runId;
  }

  async function look(vouched: Vouched, run: RunIdentity): Promise<SealRefusal | undefined> {
    if (vouched.kind === 'unsealed' && (await isRecorded(run))) return undefined;
    return explain(vouched, run);
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
    async task(task) {
      const refusal = await look(await checkTask(task, from(), sealer.verify), task.run);
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

const failureOf = ({ reason, message, final }: SealRefusal): ApplicationFailure =>
  ApplicationFailure.create({ type: reason, message, nonRetryable: final });
