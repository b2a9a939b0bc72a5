import { mergeParameters } from '../parameters.js';
import type { Problem } from '../problem.js';
import { executionSpecSchema } from '../schema/execution.js';
import type { DRPlanExecutionSpec } from '../types.js';
import { error, readSpec, warning } from './fields.js';
import { checkName, checkReferable } from './names.js';

/**
 * Everything that can be said about a DRPlanExecution from its own text. Whether its plan exists, is free and in the
 * right phase is decided when it starts. Any value is taken; a value of the wrong shape gives problems, never an
 * exception.
 */
export function validateExecutionSpec(execution: unknown): Problem[] {
  const read = readSpec(executionSpecSchema, execution, 'DRPlanExecution');
  if (!read.ok) return read.problems;
  const spec = read.value;
  const { problems } = mergeParameters({ workflow: [], execution: spec.params ?? [] }, { at: 'start' });
  return [
    ...checkName(spec.planRef, 'spec.planRef', 'subdomain'),
    ...checkReferable(spec.params ?? [], 'spec.params', 'parameter'),
    ...problems,
    ...checkMode(spec),
    ...(spec.operationType === 'Revert' ? checkRevert(spec) : checkExecute(spec)),
  ];
}

function checkMode(spec: DRPlanExecutionSpec): Problem[] {
  if (spec.mode === undefined || spec.mode === '') return [];
  return [
    error(
      'spec.mode',
      'UnsupportedField',
      `is ${spec.mode}, but modes are not supported yet; remove it (runMode says Planned, Emergency or Drill)`,
    ),
  ];
}

function checkRevert(spec: DRPlanExecutionSpec): Problem[] {
  const path = 'spec.revertExecutionRef';
  const problems = checkName(spec.revertExecutionRef, path, 'subdomain');
  if ((spec.revertExecutionRef ?? '') === '') {
    problems.push(
      error(path, 'InvalidField', 'is missing; operationType Revert needs the execution to undo'),
    );
  }
  if (spec.rerun !== undefined) problems.push(ignored('spec.rerun', 'Execute'));
  return problems;
}

function checkExecute(spec: DRPlanExecutionSpec): Problem[] {
  const problems: Problem[] = [];
  if ((spec.revertExecutionRef ?? '') !== '') problems.push(ignored('spec.revertExecutionRef', 'Revert'));
  if (spec.force !== undefined) problems.push(ignored('spec.force', 'Revert'));
  return problems;
}

const ignored = (path: string, operation: string): Problem =>
  warning(path, 'IgnoredField', `has an effect with operationType ${operation} only`);
