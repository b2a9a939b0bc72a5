/** Checks of the three kinds, as the bridge, the admission webhooks and the command line run them. */
export { UNDECLARED } from './validate/workflow.js';
export { checkDefinitions, kindsWritten } from './validate/definitions.js';
export { validateExecutionSpec, validateNewExecutionSpec } from './validate/execution.js';
export { unknownFields } from './validate/unknown-fields.js';
export { checkOverridePaths, overridesIn, writtenOverrides } from './validate/override-paths.js';
export type { WrittenOverride } from './validate/override-paths.js';
export { validatePlan } from './validate/plan.js';
export type { PlanLookup } from './validate/nesting.js';
export type { PlanCheckOptions, WorkflowLookup } from './validate/plan.js';
export { validateWorkflow } from './validate/workflow.js';
