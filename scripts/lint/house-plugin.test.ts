import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, it } from 'vitest';

interface Report {
  node: { value: string };
  message: string;
}

/** As the linter calls a rule: with the file and, for each node, the function of its type. */
interface Rule {
  create: (context: {
    filename: string;
    report: (found: Report) => void;
  }) => Record<string, ((node: Record<string, unknown>) => void) | undefined>;
}

const root = process.cwd();
const plugin = (await import(pathToFileURL(join(root, 'scripts/lint/house-plugin.js')).href)) as {
  default: { rules: Record<'rooms' | 'words', Rule> };
};

function judge(
  rule: 'rooms' | 'words',
  file: string,
  source: string,
  type = 'ImportDeclaration',
  kind = 'value',
) {
  const found: string[] = [];
  const visitors = plugin.default.rules[rule].create({
    filename: join(root, file),
    report: ({ message }) => void found.push(message),
  });
  visitors[type]?.({ type, source: { type: 'Literal', value: source }, importKind: kind });
  return found;
}

it('refuses an import that the tables of rooms do not allow, in any form', () => {
  const message = 'kube/ may import only kube/, api/core.';
  for (const type of [
    'ImportDeclaration',
    'ExportAllDeclaration',
    'ExportNamedDeclaration',
    'ImportExpression',
    'TSImportType',
  ]) {
    expect(judge('rooms', 'kube/a.ts', '../runtime/b.js', type)).toEqual([message]);
  }
  expect(judge('rooms', 'kube/a.ts', '../runtime/b.js', 'ImportDeclaration', 'type')).toEqual([message]);
  expect(judge('rooms', 'kube/a.ts', '../api/core/b.js')).toEqual([]);
  expect(judge('rooms', 'kube/a.ts', 'undici')).toEqual([]);
  expect(judge('rooms', 'test/a.ts', '../crd-bridge/b.js')).toEqual([]);
});

it('lets only tests of a core see a system', () => {
  expect(judge('rooms', 'api/core/a.ts', '../plan/b.js')).toEqual(['api/core/ may import only api/core/.']);
  expect(judge('rooms', 'api/core/a.test.ts', '../plan/b.js')).toEqual([]);
});

it('lets workflow code import only what runs in the sandbox, types included', () => {
  const message = ['Workflow code may import only what runs in the sandbox: see house.js.'];
  expect(judge('words', 'workflows/plan/a.ts', 'zod')).toEqual(message);
  expect(judge('words', 'workflows/plan/a.ts', 'node:fs', 'ImportDeclaration', 'type')).toEqual(message);
  expect(judge('words', 'workflows/plan/a.ts', '../../api/core/canonical.js')).toEqual(message);
  expect(judge('words', 'workflows/plan/a.ts', '../../api/core/json.js')).toEqual([]);
  expect(judge('words', 'workflows/plan/a.ts', '@temporalio/workflow')).toEqual([]);
  expect(judge('words', 'workflows/plan/sealed.ts', 'node:crypto')).toEqual([]);
  expect(judge('words', 'workflows/plan/a.test.ts', 'vitest')).toEqual([]);
});

it('keeps out of the start of the command line what a command does', () => {
  const file = 'client/cli/core/commands/get.ts';
  expect(judge('words', file, '../work/get.js')).toEqual([
    'Import what a command does in its action, from work/: every start would load it.',
  ]);
  expect(judge('words', file, '../work/get.js', 'ImportDeclaration', 'type')).toEqual([]);
  expect(judge('words', file, '../work/get.js', 'ImportExpression')).toEqual([]);
  expect(judge('words', file, 'commander')).toEqual([]);
});
