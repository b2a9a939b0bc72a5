import { defineQuery, setHandler, workflowInfo } from '@temporalio/workflow';
import { QUERIES, settlementWorkflowId } from './contract.js';
import type { SettlementInput } from './contract.js';
import type { Settled } from './contract-updates.js';
import { settleLeft } from './left-behind.js';
import { listenForMessages } from './notes.js';
import { notSealed } from './origin.js';

/** Query `waitsFor`: what settling waits for, where a worker has said so. */
export const waitsForQuery = defineQuery<string | undefined>(QUERIES.waitsFor);

/**
 * Settles what a stage, or its rollback, has left half done, where the run itself was ended from outside and can no longer
 * do it. The bridge starts one for each such stage. It shares no history with the run, so that workers whose code cannot go
 * on with the run can carry it out.
 *
 * @returns what became of the actions that had begun and not ended
 * @throws ApplicationFailure `NotSealed` where its workflow id is not that of the settlement of the stage
 */
export async function drStageSettlement(input: SettlementInput): Promise<Settled[]> {
  // Bridge and worker know by this id for which stage it may ask.
  if (workflowInfo().workflowId !== settlementWorkflowId(input.workflowId))
    throw notSealed(`it does not settle "${input.workflowId}" under its own id`);
  let waitsFor: string | undefined;
  setHandler(waitsForQuery, () => waitsFor);
  listenForMessages((message) => {
    waitsFor = message;
  });
  return settleLeft(input.workflowId, input);
}
