import vm from 'node:vm';
import {
  Environment,
  EvaluationError,
  ParseError,
  serialize,
  TypeError as CelTypeError,
} from '@marcbachmann/cel-js';
import type { ASTNode } from '@marcbachmann/cel-js';
import type { Problem } from './problem.js';
import type { OutputViews } from './run.js';
import type { Scalar } from './types.js';
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
const MODES = new Set(['install', 'upgrade', 'delete', 'rollback']);
const COMPARISONS = new Set(['==', '!=', '<', '<=', '>', '>=', 'in']);
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
    const adapted = usesMode(compiled.ast)
      ? serialize(adaptMode(compiled.ast, mode === undefined))
      : compiled.text;
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

function children(node: ASTNode): ASTNode[] {
  switch (node.op) {
    case 'value':
    case 'id':
      return [];
    case '.':
    case '.?':
      return [node.args[0]];
    case 'call':
      return node.args[1];
    case 'rcall':
      return [node.args[1], ...node.args[2]];
    case 'list':
      return node.args;
    case 'map':
      return node.args.flat();
    case '!_':
    case '-_':
      return [node.args];
    case '?:':
      return node.args;
    default:
      return node.args;
  }
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

function nodesOf(ast: ASTNode): ASTNode[] {
  const nodes: ASTNode[] = [];
  const open = [ast];
  for (let node = open.pop(); node !== undefined; node = open.pop()) {
    nodes.push(node);
    open.push(...children(node));
  }
  return nodes;
}

function usesMode(ast: ASTNode): boolean {
  return nodesOf(ast).some((node) => node.op === 'id' && node.args === 'mode');
}

/** A node as far as `serialize` reads it. */
interface Sketch {
  op: string;
  args: unknown;
}

/**
 * Makes comparisons on `mode` ignore the case of the known modes, or makes them true while no mode is set. Literals
 * are kept as they are written: `serialize` rounds fractions.
 */
function adaptMode(ast: ASTNode, unset: boolean): ASTNode {
  const sketch = (node: ASTNode, compared: boolean): Sketch => {
    if (node.op === 'value') {
      if (compared && typeof node.args === 'string') return { op: 'value', args: knownMode(node.args) };
      return { op: 'id', args: node.input.slice(node.start, node.end) };
    }
    if (node.op === 'id') return { op: 'id', args: node.args };
    const onMode =
      COMPARISONS.has(node.op) && children(node).some((child) => child.op === 'id' && child.args === 'mode');
    if (onMode && unset) return { op: 'value', args: true };
    const inner = (child: ASTNode): Sketch => sketch(child, onMode || (compared && node.op === 'list'));
    switch (node.op) {
      case '.':
      case '.?':
        return { op: node.op, args: [inner(node.args[0]), node.args[1]] };
      case 'call':
        return { op: node.op, args: [node.args[0], node.args[1].map(inner)] };
      case 'rcall':
        return { op: node.op, args: [node.args[0], inner(node.args[1]), node.args[2].map(inner)] };
      case 'map':
        return { op: node.op, args: node.args.map((pair) => pair.map(inner)) };
      case '!_':
      case '-_':
        return { op: node.op, args: inner(node.args) };
      default:
        return { op: node.op, args: node.args.map(inner) };
    }
  };
  return sketch(ast, false) as unknown as ASTNode;
}

function knownMode(text: string): string {
  const lower = text.toLowerCase();
  return MODES.has(lower) ? lower : text;
}

function collect(ast: ASTNode, into: WhenReferences): void {
  const root = (node: ASTNode) => ROOTS.find((name) => node.op === 'id' && node.args === name);
  const named = new Set<ASTNode>();
  for (const node of nodesOf(ast)) {
    if (node.op === '.' || node.op === '.?' || node.op === '[]' || node.op === '[?]') {
      const name = root(node.args[0]);
      const key = typeof node.args[1] === 'string' ? node.args[1] : literal(node.args[1]);
      if (name === undefined || key === undefined) continue;
      into[name].add(key);
      named.add(node.args[0]);
    } else if (node.op === 'in') {
      const name = root(node.args[1]);
      const key = literal(node.args[0]);
      if (name === undefined || key === undefined) continue;
      into[name].add(key);
      named.add(node.args[1]);
    }
  }
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
