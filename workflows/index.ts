/** The workflow types that a worker registers. */
export { drPlanExecution } from './execution.js';
export { drStage } from './stage.js';
export { drStageRollback } from './stage-rollback.js';
