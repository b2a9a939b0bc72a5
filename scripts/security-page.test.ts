import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { SECURITY } from './contract/security.js';

/** Rows of the table of threats, by number, with the files that they link to. */
async function threats(): Promise<Map<string, string[]>> {
  const page = await readFile('docs/security.md', 'utf8');
  const rows = page.split('\n').flatMap((line): [string, string[]][] => {
    const number = /^\| (\d+) +\|/.exec(line)?.[1];
    const links = [...line.matchAll(/\]\(([^)#]+)\)/g)].map(([, link = '']) => join('docs', link));
    return number === undefined ? [] : [[number, links]];
  });
  return new Map(rows);
}

it('each threat has tests by its number, and its row leads to their files', async () => {
  const rows = await threats();
  const rules = SECURITY.flatMap(({ rules: list }) => list);
  expect([...rows.keys()]).toEqual(rules.map((_, index) => String(index + 1)));
  for (const [index, { id, tests }] of rules.entries()) {
    const links = rows.get(String(index + 1)) ?? [];
    for (const link of links) expect(existsSync(link), `${id}: ${link}`).toBe(true);
    const files = new Set(tests.map((test) => test.split(' > ')[0] ?? ''));
    for (const test of tests) expect(test, id).toContain(`[${id}]`);
    expect(
      links.some((link) => files.has(link)),
      `row ${index + 1} leads to none of ${[...files].join(', ')}`,
    ).toBe(true);
  }
});
