import type { ASTNode } from '@marcbachmann/cel-js';

/** Modes whose case does not matter (the original lower-cases them). */
const MODES = new Set(['install', 'upgrade', 'delete', 'rollback']);
const COMPARISONS = new Set(['==', '!=', '<', '<=', '>', '>=', 'in']);

/** The operands of a node, in order. */
export function childrenOf(node: ASTNode): ASTNode[] {
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

/** All nodes of a condition. */
export function nodesOf(ast: ASTNode): ASTNode[] {
  const nodes: ASTNode[] = [];
  const open = [ast];
  for (let node = open.pop(); node !== undefined; node = open.pop()) {
    nodes.push(node);
    open.push(...childrenOf(node));
  }
  return nodes;
}

/** Whether a condition reads `mode`. */
export function usesMode(ast: ASTNode): boolean {
  return nodesOf(ast).some((node) => isMode(node) || isLegacyMode(node));
}

const isMode = (node: ASTNode): boolean => node.op === 'id' && node.args === 'mode';

/** With the original `operation == "install"` asks for the mode; an operation of ours is never called so. */
function isLegacyMode(node: ASTNode): boolean {
  if (node.op !== '==' && node.op !== '!=') return false;
  const [left, right] = node.args;
  const [name, value] = left.op === 'id' ? [left, right] : [right, left];
  const text = value.op === 'value' && typeof value.args === 'string' ? value.args.toLowerCase() : '';
  return name.op === 'id' && name.args === 'operation' && MODES.has(text);
}

/** Operators that bind weaker than a member access, and are put in parentheses wherever they are an operand. */
const COMPOUND = new Set(['||', '&&', '?:', '+', '-', '*', '/', '%', '!_', '-_', ...COMPARISONS]);

/**
 * Writes a condition anew so that comparisons on `mode` ignore the case of the known modes, or are true while no mode
 * is set. The CEL library's own `serialize` is of no use: it rounds fractions and drops parentheses that matter.
 */
export function adaptMode(ast: ASTNode, unset: boolean): string {
  const write = (node: ASTNode, compared: boolean): string => {
    const legacy = isLegacyMode(node);
    const onMode = legacy || (COMPARISONS.has(node.op) && childrenOf(node).some(isMode));
    if (onMode && unset) return 'true';
    const plain = (child: ASTNode): string =>
      legacy && child.op === 'id' ? 'mode' : write(child, onMode || (compared && node.op === 'list'));
    const operand = (child: ASTNode): string => (COMPOUND.has(child.op) ? `(${plain(child)})` : plain(child));
    switch (node.op) {
      case 'value': {
        const isMode = compared && typeof node.args === 'string' && node.args !== knownMode(node.args);
        return isMode ? JSON.stringify(knownMode(String(node.args))) : node.input.slice(node.start, node.end);
      }
      case 'id':
        return node.args;
      case '.':
      case '.?':
        return `${operand(node.args[0])}${node.op}${node.args[1]}`;
      case '[]':
        return `${operand(node.args[0])}[${plain(node.args[1])}]`;
      case '[?]':
        return `${operand(node.args[0])}[?${plain(node.args[1])}]`;
      case 'call':
        return `${node.args[0]}(${node.args[1].map(plain).join(', ')})`;
      case 'rcall':
        return `${operand(node.args[1])}.${node.args[0]}(${node.args[2].map(plain).join(', ')})`;
      case 'list':
        return `[${node.args.map(plain).join(', ')}]`;
      case 'map':
        return `{${node.args.map(([key, value]) => `${plain(key)}: ${plain(value)}`).join(', ')}}`;
      case '!_':
        return `!${operand(node.args)}`;
      case '-_':
        return `-${operand(node.args)}`;
      case '?:':
        return `${operand(node.args[0])} ? ${operand(node.args[1])} : ${operand(node.args[2])}`;
      default:
        return `${operand(node.args[0])} ${node.op} ${operand(node.args[1])}`;
    }
  };
  return write(ast, false);
}

/** One of the known modes in lower case, anything else as it is. */
export function knownMode(text: string): string {
  const lower = text.toLowerCase();
  return MODES.has(lower) ? lower : text;
}
