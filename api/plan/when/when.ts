import type { ASTNode, Environment } from '@marcbachmann/cel-js';
import {
  bounded,
  boundedEnvironment,
  celReason,
  describeValue,
  MAX_CONDITION_LENGTH,
  whyForbidden,
  shownCondition,
  toCel,
} from '../../core/cel.js';
import type { Problem } from '../../core/problem.js';
import type { OutputViews } from '../snapshot/run.js';
import type { Scalar } from '../schema/common.js';
import { adaptMode, knownMode, nodesOf, usesMode } from '../../core/when-ast.js';
import { outputReadsOf } from './when-outputs.js';
import type { OutputReads } from './when-outputs.js';
import { normaliseWhen } from './when-syntax.js';

/** What a condition is evaluated over. */
export interface WhenScope {
  /** Merged parameters. */
  params: Record<string, Scalar>;
  /** Outputs of the ended actions of the same workflow instance; empty for a stage. */
  outputs: OutputViews;
  /** Absent while the execution sets no mode; then every comparison on `mode` is true (S1.18). */
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
  /** Which of their outputs. */
  outputReads: OutputReads;
  phases: Set<string>;
  /** Roots that are used as a whole or with a computed name, so that every entry may be read. */
  dynamic: Set<'params' | 'outputs' | 'phases'>;
}

const ROOTS = ['params', 'outputs', 'phases'] as const;
const ALLOWED =
  'a CEL condition over params, outputs, mode, runMode, operation and phases, such as outputs["step1"].phase == "Succeeded"';

/**
 * Checks a condition without evaluating it: syntax, names, types, and that it gives true or false. Paths are empty:
 * the caller knows the field. Reason `InvalidWhen`.
 *
 * Accepted are CEL, the braces form `{{ .outputs.step1.phase == 'Succeeded' }}` and `mode == "install"` joined by
 * `||` (S4.7). `map`, `cel.bind` and more than 32 additions are refused: they let a short condition
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
    return {
      error: `${shownCondition(expression)} gives ${describeValue(value)}; a condition must give true or false`,
    };
  } catch (error) {
    return { error: `${shownCondition(expression)}: ${celReason(error)}${typeHint(expression, error)}` };
  }
}

/** A parameter that nobody declares as a number is text, and CEL compares no text with a number. */
function typeHint(expression: string, error: unknown): string {
  const isMismatch = celReason(error).startsWith('no such overload') && /\bparams\b/.test(expression);
  return isMismatch
    ? '; a parameter is text unless the workflow declares it with type number or boolean: do that, or compare with a text'
    : '';
}

/** Names that a condition uses; empty when it is not valid, which {@link checkWhen} reports. */
export function whenReferences(expression: string): WhenReferences {
  const references: WhenReferences = {
    params: new Set(),
    requiredParams: new Set(),
    outputs: new Set(),
    outputReads: { named: new Map(), any: new Set() },
    phases: new Set(),
    dynamic: new Set(),
  };
  const compiled = compile(expression);
  if ('ast' in compiled) {
    collect(compiled.ast, references);
    references.outputReads = outputReadsOf(compiled.ast);
  }
  return references;
}

/** Whether a condition reads `mode`. */
export function readsMode(expression: string): boolean {
  const compiled = compile(expression);
  return 'ast' in compiled && usesMode(compiled.ast);
}

type Compiled = { ast: ASTNode; text: string } | { error: string };

function compile(expression: string): Compiled {
  if (expression.length > MAX_CONDITION_LENGTH) {
    return {
      error: `the condition has ${expression.length} characters; allowed are ${MAX_CONDITION_LENGTH}`,
    };
  }
  const normal = normaliseWhen(expression);
  if ('error' in normal) return { error: `${shownCondition(expression)}: ${normal.error}; write ${ALLOWED}` };
  try {
    const parsed = environment().parse(normal.text);
    const refused = whyForbidden(parsed.ast, RESERVED);
    if (refused !== undefined) return { error: `${shownCondition(expression)}: ${refused}` };
    const checked = parsed.check();
    if (!checked.valid)
      return { error: `${shownCondition(expression)}: ${celReason(checked.error)}; write ${ALLOWED}` };
    if (checked.type !== 'bool' && checked.type !== 'dyn') {
      return {
        error: `${shownCondition(expression)} gives ${checked.type ?? 'something else'}; a condition must give true or false`,
      };
    }
    return { ast: parsed.ast, text: normal.text };
  } catch (error) {
    return { error: `${shownCondition(expression)}: ${celReason(error)}; write ${ALLOWED}` };
  }
}

function environment(): Environment {
  return boundedEnvironment()
    .registerVariable('params', 'map<string, dyn>')
    .registerVariable('outputs', 'map<string, dyn>')
    .registerVariable('phases', 'map<string, string>')
    .registerVariable('mode', 'string')
    .registerVariable('runMode', 'string')
    .registerVariable('operation', 'string');
}

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
