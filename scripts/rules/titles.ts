import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { childrenOf, isNode, parse } from '../syntax.js';
import type { SyntaxNode } from '../syntax.js';
import { repositoryFiles } from './files.js';

/**
 * Titles of all tests below a folder, as `<file> > <describe> > <title>`, read without running anything. A `.suite.ts` has
 * tests that several files run.
 */
export function testTitles(root: string): Set<string> {
  const titles = new Set<string>();
  for (const name of repositoryFiles(root).filter((file) => /\.(test|suite)\.ts$/.test(file))) {
    visit(parse(readFileSync(join(root, name), 'utf8')), [name], titles);
  }
  return titles;
}

function visit(node: SyntaxNode, at: readonly string[], titles: Set<string>): void {
  const kind = node.type === 'CallExpression' && isNode(node.callee) ? kindOf(node.callee) : undefined;
  if (kind === 'skipped') return;
  const title = kind === undefined ? undefined : titleOf((node.arguments as unknown[])[0]);
  const path = title === undefined ? at : [...at, title];
  if (title !== undefined && kind === 'test') titles.add(path.join(' > '));
  for (const child of childrenOf(node)) visit(child, path, titles);
}

/** The title as it is written; what a template fills in is left open. */
function titleOf(node: unknown): string | undefined {
  if (!isNode(node)) return undefined;
  if (node.type === 'Literal' && typeof node.value === 'string') return node.value;
  if (node.type !== 'TemplateLiteral') return undefined;
  return (node.quasis as { value: { cooked: string } }[]).map(({ value }) => value.cooked).join('…');
}

/** `it(…)`, `it.skipIf(…)(…)`, `test.each(…)(…)`, `describe(…)`; one that is skipped or to do shows nothing. */
function kindOf(callee: SyntaxNode): 'test' | 'describe' | 'skipped' | undefined {
  const [first, ...rest] = wordsOf(callee);
  if (first !== 'it' && first !== 'test' && first !== 'describe') return undefined;
  if (rest.includes('skip') || rest.includes('todo')) return 'skipped';
  return first === 'describe' ? 'describe' : 'test';
}

/** `it.each(rows)` as `['it', 'each']`. */
function wordsOf(node: unknown): string[] {
  if (!isNode(node)) return [];
  switch (node.type) {
    case 'CallExpression':
      return wordsOf(node.callee);
    case 'TaggedTemplateExpression':
      return wordsOf(node.tag);
    case 'MemberExpression':
      return [...wordsOf(node.object), ...wordsOf(node.property)];
    case 'Identifier':
      return [node.name as string];
    default:
      return [];
  }
}
