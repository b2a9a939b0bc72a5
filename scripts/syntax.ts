import { parseAst } from 'rolldown/parseAst';

/** A node of a syntax tree (ESTree with TypeScript); what it has besides its type depends on that. */
export interface SyntaxNode {
  readonly type: string;
  readonly [key: string]: unknown;
}

/** Parses a TypeScript file; throws where the syntax is wrong. */
export const parse = (code: string): SyntaxNode => parseAst(code, { lang: 'ts' }) as unknown as SyntaxNode;

/** The nodes directly below a node, in the order in which they are written. */
export const childrenOf = (node: SyntaxNode): SyntaxNode[] =>
  Object.values(node).flatMap((value): SyntaxNode[] =>
    Array.isArray(value) ? value.filter(isNode) : isNode(value) ? [value] : [],
  );

/** Whether a value of a node is a node itself. */
export const isNode = (value: unknown): value is SyntaxNode =>
  typeof value === 'object' && value !== null && typeof (value as { type?: unknown }).type === 'string';
