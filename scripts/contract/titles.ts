import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import ts from 'typescript';

const LEFT_OUT = new Set(['node_modules', 'dist', '.git', '.drover', 'coverage']);

/** Titles of all tests below a folder, as `<file> > <describe> > <title>`, read without running anything. */
export function testTitles(root: string): Set<string> {
  const titles = new Set<string>();
  for (const file of testFiles(root)) {
    const name = relative(root, file).replaceAll('\\', '/');
    const source = ts.createSourceFile(name, readFileSync(file, 'utf8'), ts.ScriptTarget.Latest);
    visit(source, [name], titles);
  }
  return titles;
}

function testFiles(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    if (LEFT_OUT.has(entry.name)) return [];
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return testFiles(path);
    return entry.name.endsWith('.test.ts') ? [path] : [];
  });
}

function visit(node: ts.Node, at: readonly string[], titles: Set<string>): void {
  if (ts.isCallExpression(node)) {
    const [title] = node.arguments;
    const kind = kindOf(node.expression);
    if (kind === 'skipped') return;
    if (kind !== undefined && title !== undefined && ts.isStringLiteralLike(title)) {
      const path = [...at, title.text];
      if (kind === 'test') titles.add(path.join(' > '));
      ts.forEachChild(node, (child) => visit(child, path, titles));
      return;
    }
  }
  ts.forEachChild(node, (child) => visit(child, at, titles));
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
