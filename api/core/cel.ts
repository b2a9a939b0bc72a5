/** What all CEL conditions have in common: how large they may be, how long they may take, how they see JSON. */
import vm from 'node:vm';
import { Environment, EvaluationError, ParseError, TypeError as CelTypeError } from '@marcbachmann/cel-js';
import type { ASTNode } from '@marcbachmann/cel-js';
import { nodesOf } from './when-ast.js';

/** Longest condition, in characters. */
export const MAX_CONDITION_LENGTH = 4096;
/** Longest evaluation; ordinary ones take microseconds. */
const TIMEOUT_MS = 1000;
/** Concatenations let a short condition build a huge text. */
const MAX_ADDITIONS = 32;
const MACROS = new Set(['all', 'exists', 'exists_one', 'filter']);

/** An environment with bounds and without variables. */
export const boundedEnvironment = (): Environment =>
  new Environment({
    limits: { maxAstNodes: 1000, maxDepth: 50, maxListElements: 500, maxMapEntries: 100 },
  });

/** Runs a function of ours under V8's own time limit, which also stops loops inside the CEL library and its regular expressions. */
export function bounded<T>(run: () => T): T {
  return vm.runInNewContext('run()', { run }, { timeout: TIMEOUT_MS }) as T;
}

/**
 * Why a condition that CEL takes is not allowed: `map`, `cel.bind` and many additions let a short one use unbounded
 * memory.
 *
 * @param reserved names that a macro's variable may not hide
 */
export function whyForbidden(ast: ASTNode, reserved: ReadonlySet<string>): string | undefined {
  let additions = 0;
  for (const node of nodesOf(ast)) {
    if (node.op === '+') additions += 1;
    const macro = node.op === 'rcall' ? node.args[0] : undefined;
    if (macro === 'map' || macro === 'bind') {
      return `${macro} is not allowed in a condition; use exists, all or exists_one`;
    }
    if (macro !== undefined && MACROS.has(macro) && node.op === 'rcall' && node.args[2].length > 1) {
      const [variable] = node.args[2];
      if (variable?.op === 'id' && reserved.has(variable.args)) {
        return `"${variable.args}" cannot be the variable of ${macro}; use another name`;
      }
    }
  }
  return additions > MAX_ADDITIONS
    ? `it has ${additions} additions; allowed in a condition are ${MAX_ADDITIONS}`
    : undefined;
}

/** JSON as CEL sees it: whole numbers are integers, objects have no prototype. */
export function toCel(value: unknown): unknown {
  if (typeof value === 'number') return Number.isSafeInteger(value) ? BigInt(value) : value;
  if (Array.isArray(value)) return value.map(toCel);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, item]) => item !== undefined)
      .map(([key, item]) => [key, toCel(item)]),
  );
}

/** What an exception of parsing, checking or evaluating says, for a person. */
export function celReason(error: unknown): string {
  if (error instanceof ParseError || error instanceof EvaluationError || error instanceof CelTypeError) {
    return error.summary;
  }
  const code = (error as { code?: unknown } | undefined)?.code;
  if (code === 'ERR_SCRIPT_EXECUTION_TIMEOUT') {
    return `the evaluation took longer than ${TIMEOUT_MS} ms; simplify the condition`;
  }
  return error instanceof Error ? error.message : String(error);
}

/** A value that is not true or false, for messages. */
export function describeValue(value: unknown): string {
  if (value === null) return 'null';
  return typeof value === 'bigint' ? 'a number' : `a ${typeof value}`;
}

/** A condition for messages: short, quoted. */
export function shownCondition(expression: string): string {
  const text = expression.trim();
  return `condition ${JSON.stringify(text.length > 200 ? `${text.slice(0, 200)}…` : text)}`;
}
