/** The workflow types that a worker registers. */
export { drPlanExecution } from './plan/execution.js';
export { drStage } from './plan/stage.js';
export { drStageRollback } from './plan/stage-rollback.js';
export { drStageSettlement } from './plan/settlement.js';
