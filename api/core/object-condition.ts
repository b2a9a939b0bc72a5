import {
  bounded,
  boundedEnvironment,
  celReason,
  describeValue,
  MAX_CONDITION_LENGTH,
  whyForbidden,
  shownCondition,
  toCel,
} from './cel.js';

const RESERVED = new Set(['object']);
const ALLOWED =
  'a CEL condition over object, which is null while there is none, such as object.status.phase == "Ready"';

/** Whether a condition on an object holds; `why` says what keeps it from holding when it could not be judged. */
export type ConditionResult = { holds: boolean; why?: string };

/** What is wrong with a condition on an object, for a person; undefined when it can be evaluated. */
export function checkObjectCondition(expression: string): string | undefined {
  const compiled = compile(expression);
  return 'error' in compiled ? compiled.error : undefined;
}

/**
 * Evaluates a condition on an object. With a field that is not there yet, or a result that is not true, it does not
 * hold.
 *
 * @param object null while it does not exist
 */
export function judgeObject(expression: string, object: unknown): ConditionResult {
  const compiled = compile(expression);
  if ('error' in compiled) return { holds: false, why: compiled.error };
  const context = { object: toCel(object) };
  try {
    const value = bounded(() => compiled.evaluate(context));
    if (typeof value === 'boolean') return { holds: value };
    return { holds: false, why: `it gives ${describeValue(value)}; a condition must give true or false` };
  } catch (error) {
    return { holds: false, why: celReason(error) };
  }
}

type Compiled = { evaluate: (context: { object: unknown }) => unknown } | { error: string };

function compile(expression: string): Compiled {
  if (expression.length > MAX_CONDITION_LENGTH) {
    return {
      error: `the condition has ${expression.length} characters; allowed are ${MAX_CONDITION_LENGTH}`,
    };
  }
  const shown = shownCondition(expression);
  try {
    const parsed = boundedEnvironment().registerVariable('object', 'dyn').parse(expression);
    const refused = whyForbidden(parsed.ast, RESERVED);
    if (refused !== undefined) return { error: `${shown}: ${refused}` };
    const checked = parsed.check();
    if (!checked.valid) return { error: `${shown}: ${celReason(checked.error)}; write ${ALLOWED}` };
    if (checked.type !== 'bool' && checked.type !== 'dyn') {
      return {
        error: `${shown} gives ${checked.type ?? 'something else'}; a condition must give true or false`,
      };
    }
    return { evaluate: parsed };
  } catch (error) {
    return { error: `${shown}: ${celReason(error)}; write ${ALLOWED}` };
  }
}
