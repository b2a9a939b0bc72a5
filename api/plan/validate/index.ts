/** Checks of the kinds, as the bridge, the admission webhooks and the command line run them. */
export { UNDECLARED } from './workflow.js';
export { checkDefinitions, kindsWritten } from './definitions.js';
export { validateExecutionSpec, validateNewExecutionSpec } from './execution.js';
export { unknownFields } from './unknown-fields.js';
export { checkOverridePaths, overridesIn, writtenOverrides } from './override-paths.js';
export type { WrittenOverride } from './override-paths.js';
export { validatePlan } from './plan.js';
export { validatePolicySpec } from './policy-spec.js';
export type { PlanLookup } from './nesting.js';
export type { PlanCheckOptions, WorkflowLookup } from './plan.js';
export { validateWorkflow } from './workflow.js';
