import vm from 'node:vm';
import { Environment, EvaluationError, ParseError, TypeError as CelTypeError } from '@marcbachmann/cel-js';
import type { ASTNode } from '@marcbachmann/cel-js';
import type { Problem } from './problem.js';
import type { OutputViews } from './run.js';
import type { Scalar } from './types.js';
import { adaptMode, knownMode, nodesOf, usesMode } from './when-ast.js';
import { normaliseWhen } from './when-syntax.js';

/** What a condition is evaluated over. */
export interface WhenScope {
  /** Merged parameters. */
  params: Record<string, Scalar>;
  /** Outputs of the ended actions of the same workflow instance; empty for a stage. */
  outputs: OutputViews;
  /** Absent while the execution sets no mode; then every comparison on `mode` is true (plan semantics, §1). */
  mode?: string;
  /** `Planned`, `Emergency` or `Drill`. */
  runMode: string;
  /** `Execute` or `Revert`. */
  operation: string;
  /** Phases by name: of the actions of the workflow, or of the stages of the plan. */
  phases: Record<string, string>;
}

/** Result of a condition. */
export type WhenResult = { value: boolean } | { error: string };

/** Names that a condition uses. */
export interface WhenReferences {
  params: Set<string>;
  /** Those of `params` that are not asked for with `has(params.x)` or `"x" in params`: they must have a value. */
  requiredParams: Set<string>;
  outputs: Set<string>;
  phases: Set<string>;
  /** Roots that are used as a whole or with a computed name, so that every entry may be read. */
  dynamic: Set<'params' | 'outputs' | 'phases'>;
}

/** Longest condition, in characters. */
const MAX_LENGTH = 4096;
/** Longest evaluation; ordinary ones take microseconds. */
const TIMEOUT_MS = 1000;
/** Concatenations let a short condition build a huge text. */
const MAX_ADDITIONS = 32;
const ROOTS = ['params', 'outputs', 'phases'] as const;
const ALLOWED =
  'a CEL condition over params, outputs, mode, runMode, operation and phases, such as outputs["step1"].phase == "Succeeded"';

/**
 * Checks a condition without evaluating it: syntax, names, types, and that it gives true or false. Paths are empty:
 * the caller knows the field. Reason `InvalidWhen`.
 *
 * Accepted are CEL, the braces form `{{ .outputs.step1.phase == 'Succeeded' }}` and `mode == "install"` joined by
 * `||` (plan semantics, §4). `map`, `cel.bind` and more than 32 additions are refused: they let a short condition
 * use unbounded memory.
 */
export function checkWhen(expression: string): Problem[] {
  const compiled = compile(expression);
  if ('ast' in compiled) return [];
  return [{ severity: 'error', path: '', reason: 'InvalidWhen', message: compiled.error }];
}

/**
 * Evaluates a condition. Unknown names, missing fields, a result that is not true or false, and an evaluation of
 * more than one second are errors. Whole numbers compare as CEL integers.
 */
export function evaluateWhen(expression: string, scope: WhenScope): WhenResult {
  const compiled = compile(expression);
  if ('error' in compiled) return compiled;
  const mode = scope.mode === undefined || scope.mode === '' ? undefined : scope.mode;
  const context = {
    params: toCel(scope.params),
    outputs: toCel(scope.outputs),
    phases: toCel(scope.phases),
    mode: knownMode(mode ?? ''),
    runMode: scope.runMode,
    operation: scope.operation,
  };
  try {
    const adapted = usesMode(compiled.ast) ? adaptMode(compiled.ast, mode === undefined) : compiled.text;
    const evaluate = environment().parse(adapted);
    const value = bounded(() => evaluate(context) as unknown);
    if (typeof value === 'boolean') return { value };
    return { error: `${shown(expression)} gives ${describe(value)}; a condition must give true or false` };
  } catch (error) {
    return { error: `${shown(expression)}: ${reasonOf(error)}` };
  }
}

/** Names that a condition uses; empty when it is not valid, which {@link checkWhen} tells. */
export function whenReferences(expression: string): WhenReferences {
  const references: WhenReferences = {
    params: new Set(),
    requiredParams: new Set(),
    outputs: new Set(),
    phases: new Set(),
    dynamic: new Set(),
  };
  const compiled = compile(expression);
  if ('ast' in compiled) collect(compiled.ast, references);
  return references;
}

type Compiled = { ast: ASTNode; text: string } | { error: string };

function compile(expression: string): Compiled {
  if (expression.length > MAX_LENGTH) {
    return { error: `the condition has ${expression.length} characters; allowed are ${MAX_LENGTH}` };
  }
  const normal = normaliseWhen(expression);
  if ('error' in normal) return { error: `${shown(expression)}: ${normal.error}; write ${ALLOWED}` };
  try {
    const parsed = environment().parse(normal.text);
    const refused = refusal(parsed.ast);
    if (refused !== undefined) return { error: `${shown(expression)}: ${refused}` };
    const checked = parsed.check();
    if (!checked.valid)
      return { error: `${shown(expression)}: ${reasonOf(checked.error)}; write ${ALLOWED}` };
    if (checked.type !== 'bool' && checked.type !== 'dyn') {
      return {
        error: `${shown(expression)} gives ${checked.type ?? 'something else'}; a condition must give true or false`,
      };
    }
    return { ast: parsed.ast, text: normal.text };
  } catch (error) {
    return { error: `${shown(expression)}: ${reasonOf(error)}; write ${ALLOWED}` };
  }
}

function environment(): Environment {
  return new Environment({
    limits: { maxAstNodes: 1000, maxDepth: 50, maxListElements: 500, maxMapEntries: 100 },
  })
    .registerVariable('params', 'map<string, dyn>')
    .registerVariable('outputs', 'map<string, dyn>')
    .registerVariable('phases', 'map<string, string>')
    .registerVariable('mode', 'string')
    .registerVariable('runMode', 'string')
    .registerVariable('operation', 'string');
}

/** Runs a function of ours under V8's own time limit, which also stops loops inside the CEL library and its regular expressions. */
function bounded<T>(run: () => T): T {
  return vm.runInNewContext('run()', { run }, { timeout: TIMEOUT_MS }) as T;
}

function refusal(ast: ASTNode): string | undefined {
  let additions = 0;
  for (const node of nodesOf(ast)) {
    if (node.op === '+') additions += 1;
    const macro = node.op === 'rcall' ? node.args[0] : undefined;
    if (macro === 'map' || macro === 'bind') {
      return `${macro} is not allowed in a condition; use exists, all or exists_one`;
    }
    if (macro !== undefined && MACROS.has(macro) && node.op === 'rcall' && node.args[2].length > 1) {
      const [variable] = node.args[2];
      if (variable?.op === 'id' && RESERVED.has(variable.args)) {
        return `"${variable.args}" cannot be the variable of ${macro}; use another name`;
      }
    }
  }
  return additions > MAX_ADDITIONS
    ? `it has ${additions} additions; allowed in a condition are ${MAX_ADDITIONS}`
    : undefined;
}

const MACROS = new Set(['all', 'exists', 'exists_one', 'filter']);
const RESERVED = new Set(['params', 'outputs', 'phases', 'mode', 'runMode', 'operation']);

function collect(ast: ASTNode, into: WhenReferences): void {
  const root = (node: ASTNode) => ROOTS.find((name) => node.op === 'id' && node.args === name);
  const named = new Set<ASTNode>();
  const guarded = new Set<string>();
  for (const node of nodesOf(ast)) {
    if (node.op === '.' || node.op === '.?' || node.op === '[]' || node.op === '[?]') {
      const name = root(node.args[0]);
      const key = typeof node.args[1] === 'string' ? node.args[1] : literal(node.args[1]);
      if (name === undefined || key === undefined) continue;
      into[name].add(key);
      named.add(node.args[0]);
    } else if (node.op === 'call' && node.args[0] === 'has') {
      const [field] = node.args[1];
      if (field?.op === '.' && root(field.args[0]) === 'params') guarded.add(field.args[1]);
    } else if (node.op === 'in') {
      const name = root(node.args[1]);
      const key = literal(node.args[0]);
      if (name === undefined || key === undefined) continue;
      into[name].add(key);
      if (name === 'params') guarded.add(key);
      named.add(node.args[1]);
    }
  }
  for (const name of into.params) if (!guarded.has(name)) into.requiredParams.add(name);
  for (const node of nodesOf(ast)) {
    const name = root(node);
    if (name !== undefined && !named.has(node)) into.dynamic.add(name);
  }
}

function literal(node: ASTNode): string | undefined {
  return node.op === 'value' && typeof node.args === 'string' ? node.args : undefined;
}

/** JSON as CEL sees it: whole numbers are integers, objects have no prototype. */
function toCel(value: unknown): unknown {
  if (typeof value === 'number') return Number.isSafeInteger(value) ? BigInt(value) : value;
  if (Array.isArray(value)) return value.map(toCel);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, item]) => item !== undefined)
      .map(([key, item]) => [key, toCel(item)]),
  );
}

function reasonOf(error: unknown): string {
  if (error instanceof ParseError || error instanceof EvaluationError || error instanceof CelTypeError) {
    return error.summary;
  }
  const code = (error as { code?: unknown } | undefined)?.code;
  if (code === 'ERR_SCRIPT_EXECUTION_TIMEOUT') {
    return `the evaluation took longer than ${TIMEOUT_MS} ms; simplify the condition`;
  }
  return error instanceof Error ? error.message : String(error);
}

function describe(value: unknown): string {
  if (value === null) return 'null';
  return typeof value === 'bigint' ? 'a number' : `a ${typeof value}`;
}

function shown(expression: string): string {
  const text = expression.trim();
  return `condition ${JSON.stringify(text.length > 200 ? `${text.slice(0, 200)}…` : text)}`;
}
