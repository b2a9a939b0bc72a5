/** What of the outputs of actions a condition reads: a task carries that, and no more. */
import type { ASTNode } from '@marcbachmann/cel-js';
import { childrenOf } from '../../core/when-ast.js';

/**
 * Paths into what `outputs.<action>` shows, such as `httpResponse.statusCode` or `resourceRefs.0.name`; `''` is all of it.
 * Not the phase: that is always there.
 */
export interface OutputReads {
  /** By name of the action; none where only the phase is read, or whether the action is there. */
  named: Map<string, Set<string>>;
  /** Of whichever actions a computed name stands for. */
  any: Set<string>;
}

/** `outputs.a.httpResponse.body.contains("x")` reads `httpResponse.body` of `a`. */
export function outputReadsOf(ast: ASTNode): OutputReads {
  const reads: OutputReads = { named: new Map(), any: new Set() };
  const read = (name: string | undefined, path: string | undefined): void => {
    const paths = name === undefined ? reads.any : (reads.named.get(name) ?? new Set<string>());
    if (name !== undefined) reads.named.set(name, paths);
    if (path !== undefined && path !== 'phase') paths.add(path);
  };
  const visit = (node: ASTNode): void => {
    const chain = chainOf(node);
    if (chain !== undefined) {
      const [name, ...steps] = chain.steps;
      const end = steps.indexOf(undefined);
      read(name, steps.slice(0, end === -1 ? steps.length : end).join('.'));
      chain.computed.forEach(visit);
      return;
    }
    const present = presenceOf(node);
    if (present !== undefined) {
      read(present, undefined);
      return;
    }
    const keys = keysOnly(node);
    for (const child of childrenOf(node)) if (child !== keys) visit(child);
  };
  visit(ast);
  return reads;
}

/** A chain of accesses that begins at `outputs`; undefined for any other node. A computed step is undefined. */
function chainOf(node: ASTNode): { steps: (string | undefined)[]; computed: ASTNode[] } | undefined {
  const steps: (string | undefined)[] = [];
  const computed: ASTNode[] = [];
  let at = node;
  while (at.op === '.' || at.op === '.?' || at.op === '[]' || at.op === '[?]') {
    const key: ASTNode | string = at.args[1];
    const step = typeof key === 'string' ? key : fixedStep(key);
    steps.unshift(step);
    if (step === undefined && typeof key !== 'string') computed.push(key);
    at = at.args[0];
  }
  return isOutputs(at) ? { steps, computed } : undefined;
}

/** A field, or the place of an item. */
function fixedStep(node: ASTNode): string | undefined {
  if (node.op !== 'value') return undefined;
  const { args } = node;
  return typeof args === 'string' || typeof args === 'number' || typeof args === 'bigint'
    ? String(args)
    : undefined;
}

/** The action of `has(outputs.a)`. */
function presenceOf(node: ASTNode): string | undefined {
  if (node.op !== 'call' || node.args[0] !== 'has') return undefined;
  const [field] = node.args[1];
  const steps = field === undefined ? undefined : chainOf(field)?.steps;
  return steps?.length === 1 ? steps[0] : undefined;
}

const KEY_MACROS = new Set(['all', 'exists', 'exists_one', 'filter']);

/** `outputs` itself, where a node reads nothing but its keys: the names of the actions. */
function keysOnly(node: ASTNode): ASTNode | undefined {
  let operand: ASTNode | undefined;
  if (node.op === 'in') operand = node.args[1];
  // With two variables a macro goes through the values too.
  else if (node.op === 'rcall' && KEY_MACROS.has(node.args[0]) && node.args[2].length <= 2)
    operand = node.args[1];
  else if (node.op === 'rcall' && node.args[0] === 'size') operand = node.args[1];
  else if (node.op === 'call' && node.args[0] === 'size') operand = node.args[1][0];
  return operand !== undefined && isOutputs(operand) ? operand : undefined;
}

const isOutputs = (node: ASTNode): boolean => node.op === 'id' && node.args === 'outputs';
