import { workflowInfo } from '@temporalio/workflow';
import { dependencies, isGraph } from '../../api/core/graph.js';
import { between } from '../../api/plan/progress.js';
import { addedByClusters, countActions, MAX_ACTIONS } from '../../api/plan/snapshot/parts.js';
import type { StageInput } from '../../api/plan/snapshot/run.js';
import { stageViewsOf } from '../../api/plan/snapshot/views.js';
import type { StageStatus } from '../../api/plan/types.js';
import { runInTurn } from '../core/lanes.js';
import { now } from '../core/outcome.js';
import { stageWorkflowId, WORKFLOW_TYPES } from './contract.js';
import type { RunInput } from './contract.js';
import { heldByNeeds } from './outcome.js';
import type { RunContext } from './run-context.js';

/** Starts stages in list order, or as a graph when any has a dependency, until each has ended or is skipped. */
export function runStages(context: RunContext): Promise<void> {
  const { input, stages, forward } = context;
  const graph = isGraph(input.stages);
  const needs = graph
    ? dependencies(input.stages)
    : input.stages.map((_, index) => (index === 0 ? [] : [index - 1]));
  return runInTurn({
    items: stages,
    limit: graph ? input.maxConcurrentStages : 1,
    judge: () => (index) => {
      if (forward.consideredCancelled) {
        return { reason: 'Cancelled', message: 'the run was cancelled before the stage' };
      }
      if (stopsPlan(input, stages))
        return { reason: 'PlanStopped', message: 'the plan stopped at a failed stage' };
      return heldByNeeds(needs[index] ?? [], stages, { graph, what: 'stage' }) ?? 'start';
    },
    start: (index) => runStage(context, index),
    skip: context.skip,
  });
}

async function runStage(context: RunContext, index: number): Promise<void> {
  const { input, stages } = context;
  const stage = input.stages[index];
  const status = stages[index];
  if (stage === undefined || status === undefined) throw new Error(`no stage ${index}`);
  const startTime = now();
  Object.assign(status, { phase: 'Running', startTime });
  const outcome = await context.forward.run(() =>
    context.runChild({
      type: WORKFLOW_TYPES.stage,
      workflowId: stageWorkflowId(workflowInfo().workflowId, index),
      index,
      input: {
        run: input.run,
        stage,
        ...stageViewsOf(stage, stages),
        pauseOnFailure: input.onFailure === 'Pause',
        ...(hasClusters(stage) && {
          clustersLeft: MAX_ACTIONS - countActions(input.stages) - addedByClusters(stages),
        }),
        mirror: context.mirrorOptions(),
        bounds: input.bounds,
      },
    }),
  );
  if ('interrupted' in outcome) {
    const completionTime = now();
    const ended: StageStatus = {
      ...status,
      phase: 'Failed',
      reason: context.isCancelled() ? 'Cancelled' : 'StageTerminated',
      message: outcome.interrupted,
      completionTime,
      duration: between(startTime, completionTime),
    };
    context.settle(index, ended, 'interrupted', outcome.settled);
    return;
  }
  const ended = outcome.status;
  if (outcome.vouchers !== undefined) context.vouchers.set(index, outcome.vouchers);
  context.settle(
    index,
    ended.phase === 'Skipped' ? ended : { ...ended, order: context.nextOrder() },
    outcome.told === true ? 'told' : undefined,
  );
}

const hasClusters = ({ workflows }: StageInput): boolean =>
  workflows.some(({ actions }) => actions.some(({ perCluster }) => perCluster !== undefined));

/** Whether a stage has failed whose policy does not let the plan go on. */
export function stopsPlan(input: RunInput, stages: readonly StageStatus[]): boolean {
  return stages.some(
    (stage, index) => stage.phase === 'Failed' && input.stages[index]?.failurePolicy !== 'Continue',
  );
}
