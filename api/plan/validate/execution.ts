import { isObject } from '../../core/json.js';
import { literalPlaceholders, mergeParameters } from '../template/parameters.js';
import type { Problem } from '../../core/problem.js';
import { executionSpecSchema } from '../schema/execution.js';
import type { DRPlanExecutionSpec } from '../types.js';
import { error, show, warning } from '../../core/fields.js';
import { checkName, checkReferable } from './names.js';
import { checkReadable } from './readable.js';

/**
 * The longest start deadline that a new execution may ask for: seven days. One that lies in Git with a longer one would
 * still start when its hub is rebuilt, long after anybody wanted it.
 */
export const MAX_START_DEADLINE_SECONDS = 604_800;

/**
 * What {@link validateExecutionSpec} says, and what is asked only of an execution that is about to be created: one that is
 * stored already stays valid.
 */
export function validateNewExecutionSpec(execution: unknown): Problem[] {
  const problems = validateExecutionSpec(execution);
  const spec = isObject(execution) && isObject(execution.spec) ? execution.spec : {};
  const { startDeadlineSeconds: seconds } = spec;
  if (typeof seconds !== 'number' || seconds <= MAX_START_DEADLINE_SECONDS) return problems;
  const message = `is ${show(seconds)}; must be at most ${MAX_START_DEADLINE_SECONDS} (7 days), so that nothing starts long after it was asked for; to run the plan later, create the execution later`;
  return [...problems, error('spec.startDeadlineSeconds', 'InvalidField', message)];
}

/**
 * Everything that can be said about a DRPlanExecution from its own text. Whether its plan exists, is free and in the
 * right phase is decided when it starts. Any value is taken; a value of the wrong shape gives problems, never an
 * exception.
 */
export function validateExecutionSpec(execution: unknown): Problem[] {
  return checkReadable(
    { schema: executionSpecSchema, kind: 'DRPlanExecution' },
    execution,
    checkExecutionSpec,
  );
}

function checkExecutionSpec(spec: DRPlanExecutionSpec): Problem[] {
  const { problems } = mergeParameters({ workflow: [], execution: spec.params ?? [] }, { at: 'start' });
  return [
    ...checkName(spec.planRef, 'spec.planRef', 'subdomain'),
    ...checkReferable(spec.params ?? [], 'spec.params', 'parameter'),
    ...problems,
    ...literalPlaceholders(spec.params ?? [], 'spec.params'),
    ...checkRequestedAt(spec),
    ...checkMode(spec),
    ...(spec.operationType === 'Revert' ? checkRevert(spec) : checkExecute(spec)),
  ];
}

/** RFC 3339, with seconds and an offset. */
const TIME = /^\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d{1,9})?([Zz]|[+-]\d\d:\d\d)$/;

function checkRequestedAt({ requestedAt }: DRPlanExecutionSpec): Problem[] {
  if (requestedAt === undefined) return [];
  if (TIME.test(requestedAt) && !Number.isNaN(Date.parse(requestedAt))) return [];
  const message = `is ${show(requestedAt)}; must be a time such as 2026-03-01T02:00:00Z`;
  return [error('spec.requestedAt', 'InvalidField', message)];
}

function checkMode({ mode, operationType, params = [] }: DRPlanExecutionSpec): Problem[] {
  const problems = params.flatMap(({ name }, index) =>
    name === 'mode'
      ? [
          error(
            `spec.params[${index}].name`,
            'ReservedParameter',
            'is mode, which is reserved; set spec.mode',
          ),
        ]
      : [],
  );
  if (operationType === 'Revert' && mode !== undefined && mode !== 'Rollback') {
    const message = `is ${mode} and has no effect: a Revert runs in mode Rollback; remove it`;
    problems.push(warning('spec.mode', 'IgnoredField', message));
  }
  if (operationType === 'Execute' && mode === 'Rollback') {
    const message =
      'is Rollback, which runs the plan forward and undoes nothing; to undo an execution use operationType Revert with revertExecutionRef';
    problems.push(warning('spec.mode', 'SuspectField', message));
  }
  return problems;
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
