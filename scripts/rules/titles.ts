import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';
import { repositoryFiles } from './files.js';

/** Titles of all tests below a folder, as `<file> > <describe> > <title>`, read without running anything. */
export function testTitles(root: string): Set<string> {
  const titles = new Set<string>();
  for (const name of repositoryFiles(root).filter((file) => file.endsWith('.test.ts'))) {
    const source = ts.createSourceFile(name, readFileSync(join(root, name), 'utf8'), ts.ScriptTarget.Latest);
    visit(source, [name], titles);
  }
  return titles;
}

function visit(node: ts.Node, at: readonly string[], titles: Set<string>): void {
  if (ts.isCallExpression(node)) {
    const kind = kindOf(node.expression);
    if (kind === 'skipped') return;
    const title = kind === undefined ? undefined : titleOf(node.arguments[0]);
    if (title !== undefined) {
      const path = [...at, title];
      if (kind === 'test') titles.add(path.join(' > '));
      ts.forEachChild(node, (child) => visit(child, path, titles));
      return;
    }
  }
  ts.forEachChild(node, (child) => visit(child, at, titles));
}

/** The title as it is written; what a template fills in is left open. */
function titleOf(node: ts.Expression | undefined): string | undefined {
  if (node === undefined) return undefined;
  if (ts.isStringLiteralLike(node)) return node.text;
  if (!ts.isTemplateExpression(node)) return undefined;
  return [node.head.text, ...node.templateSpans.map(({ literal }) => literal.text)].join('…');
}

/** `it(…)`, `it.skipIf(…)(…)`, `test.each(…)(…)`, `describe(…)`; one that is skipped or to do shows nothing. */
function kindOf(callee: ts.Expression): 'test' | 'describe' | 'skipped' | undefined {
  const words: string[] = [];
  const collect = (node: ts.Expression): void => {
    if (ts.isCallExpression(node)) collect(node.expression);
    else if (ts.isPropertyAccessExpression(node)) {
      collect(node.expression);
      words.push(node.name.text);
    } else if (ts.isIdentifier(node)) words.push(node.text);
    else if (ts.isTaggedTemplateExpression(node)) collect(node.tag);
  };
  collect(callee);
  const [first, ...rest] = words;
  if (first !== 'it' && first !== 'test' && first !== 'describe') return undefined;
  if (rest.includes('skip') || rest.includes('todo')) return 'skipped';
  return first === 'describe' ? 'describe' : 'test';
}
