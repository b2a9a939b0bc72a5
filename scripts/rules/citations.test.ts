import { expect, it } from 'vitest';
import { brokenCitations, citingFiles } from './citations.js';
import { comingRules, readRules } from './rules.js';

it('comments and pages cite rules and headings that exist', { timeout: 60_000 }, () => {
  const ids = new Set([...readRules('.').map(({ id }) => id), ...comingRules('.')]);
  expect(brokenCitations(citingFiles('.'), ids)).toEqual([]);
});

it('finds what is not there, in code and on pages', () => {
  // Put together here: the check above reads this file too.
  const lost = ['S', '99.1'].join('');
  const here = ['docs/', 'here.md'].join('');
  const gone = ['docs/', 'gone.md'].join('');
  const sign = String.fromCodePoint(0xa7);
  const files = [
    { path: here, text: `# Here\n\n## What is here?\n\nThe rule ${lost}, ${sign}3.` },
    { path: 'good.ts', text: `/** As S1.1 and SEC1 say, and ${here}#what-is-here. */` },
    {
      path: 'bad.ts',
      text: `/** ${lost}, ${lost}; ${gone}, ${here}#what-is-not; plan semantics, ${sign}5 Start. */`,
    },
  ];
  expect(brokenCitations(files, new Set(['S1.1', 'SEC1']))).toEqual([
    `${here}: ${lost}`,
    `bad.ts: ${lost}`,
    `bad.ts: ${gone}`,
    `bad.ts: ${here}#what-is-not`,
    `bad.ts: ${sign}5`,
  ]);
});
