/**
 * A run that was ended from outside leaves stages behind: they cancel themselves where they can, and are ended and settled
 * from their histories where they cannot. Until then the run, and with it the plan, is not over.
 */
import type { StageStatus } from '../../../api/plan/types.js';
import type { Sealer } from '../../../api/core/seal.js';
import type { RunDescription, Runs } from '../../../client/runs/runs.js';
import type { Operation, RunBounds, SettlementInput } from '../../../workflows/plan/contract.js';
import { sealedSettlement } from '../../../workflows/plan/sealed.js';
import type { Settled, StageUpdate } from '../../../workflows/plan/contract-updates.js';
import type { Log } from '../../core/log.js';
import type { RunFields } from '../log-fields.js';
import { inspectStageRuns } from './stage-runs.js';
import type { TornStage } from './stage-runs.js';

/** How long stages may take to cancel themselves; then they are ended, and settled without them. */
const STAGES_WAIT_MS = 120_000;

/** What ending the stages of a run needs. */
export interface EndStagesDeps {
  runs: Pick<Runs, 'describeChild' | 'stageResult' | 'terminate' | 'told' | 'unfinished' | 'settlements'>;
  cluster: string;
  sealer: Pick<Sealer, 'seal' | 'verify'>;
  bounds: RunBounds;
  /** A stage or settlement whose task no worker has taken for this long does not end by itself. */
  taskWaitMs: number;
  log: Log;
}

/** How far the end of the stages is. */
export type StagesEnd =
  /** Something of the run may still act; look again. */
  | { kind: 'acting'; message: string }
  | {
      kind: 'over';
      /** Final statuses of stages that had none. */
      stages: StageUpdate[];
      /** Execute: what a rollback inside the run has undone. */
      undone: string[];
      /** Stages of which nobody could find out what became of what they had begun, and why. */
      unsettled: string[];
    };

/**
 * Brings the stages of a run that has closed without a final update to their end. Level-triggered: what is ended or started
 * here is found by its id the next time, so a crash at any point is mended by calling it again.
 *
 * @param shown the run as status has it, and how lines of the log name it
 * @param now milliseconds since the epoch
 */
export async function endStages(
  deps: EndStagesDeps,
  run: RunDescription,
  shown: { operation: Operation; stages: readonly StageStatus[]; fields: RunFields },
  now: number,
): Promise<StagesEnd> {
  const { open, torn, stages, undone } = await inspectStageRuns(deps.runs, run, shown);
  if (open.length > 0) {
    const isLate = now >= (run.closeTime?.getTime() ?? 0) + STAGES_WAIT_MS;
    const stuck = open.filter((stage) => isLate || cannotGoOn(deps, stage, now));
    for (const { workflowId } of stuck) await terminate(deps, workflowId, run, shown.fields);
    return { kind: 'acting', message: `stages that still act: ${open.map(idOf).join(', ')}` };
  }
  const looks = await Promise.all(torn.map((stage) => settle(deps, stage, now)));
  const waiting = looks.flatMap((look) => (look.kind === 'waiting' ? [look.message] : []));
  if (waiting.length > 0) return { kind: 'acting', message: waiting.join('; ') };
  const at = run.closeTime?.toISOString() ?? new Date(now).toISOString();
  const ended: StageUpdate[] = [];
  for (const [index, stage] of torn.entries()) {
    const known = shown.stages[stage.index];
    const look = looks[index];
    if (!stage.isShown || known === undefined) continue;
    const settled = look?.kind === 'settled' ? look.settled : [];
    ended.push({
      ...interrupted(stage.index, known, at),
      settled,
      ...(await deps.runs.told(stage)),
    });
  }
  return {
    kind: 'over',
    stages: [...stages, ...ended],
    undone,
    unsettled: looks.flatMap((look) => (look.kind === 'unsettled' ? [look.message] : [])),
  };
}

const idOf = ({ workflowId }: { workflowId: string }): string => workflowId;

/** Its own code cannot go on with it, or nobody runs it: it will not cancel itself. */
function cannotGoOn(
  { taskWaitMs }: Pick<EndStagesDeps, 'taskWaitMs'>,
  { failing, waiting }: RunDescription,
  now: number,
): boolean {
  const isUntaken = waiting?.what === 'workflow' && now - waiting.since.getTime() >= taskWaitMs;
  return failing !== undefined || isUntaken;
}

async function terminate(
  { runs, log }: EndStagesDeps,
  workflowId: string,
  run: RunDescription,
  fields: RunFields,
): Promise<void> {
  const sent = await runs.terminate(
    workflowId,
    `run "${run.workflowId}" is over, and this could not end by itself; the bridge settles what it had begun`,
  );
  log.warn({ ...fields, workflowId, sent }, 'terminated what was left of a run that is over');
}

type Settling =
  | { kind: 'settled'; settled: Settled[] }
  | { kind: 'waiting'; message: string }
  /** Nobody can settle it now. A settlement that waits for a worker goes on all the same when there is one. */
  | { kind: 'unsettled'; message: string };

async function settle(deps: EndStagesDeps, { workflowId, runId }: TornStage, now: number): Promise<Settling> {
  const { runs, cluster, bounds, sealer, taskWaitMs } = deps;
  const look = await runs.settlements.look({ cluster, workflowId }, (input) =>
    isSettlementOf(runId, input, sealer),
  );
  switch (look.kind) {
    case 'none':
    case 'foreign': {
      const { actions, plans } = await runs.unfinished({ workflowId, runId });
      if (actions.length + plans.length === 0) return { kind: 'settled', settled: [] };
      const input = { cluster, workflowId, runId, bounds };
      const seal = sealer.seal('settlement', sealedSettlement(input));
      await runs.settlements.start({ ...input, seal }, { replaces: look.kind === 'foreign' });
      return { kind: 'waiting', message: settlingOf(workflowId) };
    }
    case 'open': {
      const waitedMs = look.waiting === undefined ? 0 : now - look.waiting.since.getTime();
      if (!look.isAnswered && waitedMs >= taskWaitMs)
        return { kind: 'unsettled', message: `no worker settles what "${workflowId}" had begun` };
      const waitsFor = look.waitsFor === undefined ? '' : `: ${look.waitsFor}`;
      return { kind: 'waiting', message: `${settlingOf(workflowId)}${waitsFor}` };
    }
    case 'failed':
      return {
        kind: 'unsettled',
        message: `what "${workflowId}" had begun could not be settled: ${look.message}`,
      };
    case 'ended':
      return { kind: 'settled', settled: look.settled };
  }
}

/** Whether the bridge has asked for a settlement: somebody else's says nothing about the stage. */
const isSettlementOf = async (
  runId: string,
  input: SettlementInput,
  sealer: EndStagesDeps['sealer'],
): Promise<boolean> =>
  input.runId === runId &&
  (await sealer.verify('settlement', sealedSettlement(input), input.seal)).kind === 'sealed';

const settlingOf = (workflowId: string): string => `what "${workflowId}" had begun is being settled`;

/** A stage whose own detail is lost, as status is to show it. */
function interrupted(index: number, known: StageStatus, at: string): StageUpdate {
  const { workflowExecutions: _, ...shell } = known;
  return {
    index,
    interrupted: true,
    status: {
      ...shell,
      phase: 'Failed',
      reason: 'Interrupted',
      message: 'the stage was ended with its run',
      completionTime: at,
    },
  };
}
