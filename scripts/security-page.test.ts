import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { testsByRule } from './rules/rule-table.js';
import { threatsOf } from './rules/rules.js';
import { testTitles } from './rules/titles.js';

it('each row of the table of threats leads to the files of its tests', { timeout: 60_000 }, () => {
  const page = readFileSync('docs/security.md', 'utf8');
  const tests = testsByRule(testTitles('.'));
  const ids = threatsOf(page).map(({ id }) => id);
  expect(ids).toEqual(ids.map((_, index) => `SEC${index + 1}`));
  for (const id of ids) {
    const row = new RegExp(`^\\| ${id.slice(3)} +\\|.*$`, 'm').exec(page)?.[0] ?? '';
    const links = [...row.matchAll(/\]\(([^)#]+)\)/g)].map(([, link = '']) => join('docs', link));
    for (const link of links) expect(existsSync(link), `${id}: ${link}`).toBe(true);
    const files = new Set((tests.get(id) ?? []).map((test) => test.split(' > ')[0] ?? ''));
    expect(
      links.some((link) => files.has(link)),
      `${id} leads to none of ${[...files].join(', ')}`,
    ).toBe(true);
  }
});
