import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ruleFaults, ruleTable } from './rule-table.js';
import { readRules, rulesOf, threatsOf } from './rules.js';
import type { Rule } from './rules.js';
import { testTitles } from './titles.js';

// Numbers far beyond the real ones: the check of citations reads this file too.
const id = (number: number): string => `D${900 + number}`;
const rule = (number: number, rest: Partial<Rule> = {}): Rule => ({
  id: id(number),
  name: 'Some',
  section: '1. Some',
  keptBy: [],
  ...rest,
});

describe('this repository', () => {
  it('has a test for every rule, and a rule for every id in a title', { timeout: 60_000 }, () => {
    expect(ruleFaults(readRules('.'), testTitles('.'))).toEqual([]);
  });

  it('has lost no rule', () => {
    const ids = readRules('.').map((one) => one.id);
    const count = (pattern: RegExp): number => ids.filter((one) => pattern.test(one)).length;
    expect(count(/^S\d/)).toBeGreaterThanOrEqual(188);
    expect(count(/^SEC\d/)).toBeGreaterThanOrEqual(17);
    expect(count(/^T\d/)).toBeGreaterThanOrEqual(39);
    expect([count(/^P\d/), count(/^E\d/), count(/^D\d/)]).toEqual([16, 30, 12]);
  });
});

it('reads rules with the headings above them, what keeps them, and why they have no test', () => {
  const page = [
    '# Title',
    '## 1. First',
    `- **${id(1)} One line.** Text.`,
    '- no rule',
    '### Part',
    '',
    `- **${id(2)} Kept, by: two.** Text`,
    `  that goes on. → ${id(1)},`,
    `  ${id(3)}`,
    '## 2. Second',
    `- **${id(3)} Open.** Text. _Untestable: needs two moons._`,
  ].join('\n');
  expect(rulesOf(page)).toEqual([
    rule(1, { name: 'One line', section: '1. First' }),
    rule(2, { name: 'Kept, by: two', section: '1. First: Part', keptBy: [id(1), id(3)] }),
    rule(3, { name: 'Open', section: '2. Second', untestable: 'needs two moons' }),
  ]);
});

it('reads threats from the rows of their table', () => {
  expect(
    threatsOf('| #  | Threat |\n| -- | --- |\n| 5  | A way in | closed | [x](y) |').map(({ name }) => name),
  ).toEqual(['A way in']);
});

it('finds tests by where they stand, and none that is left out', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'drover-titles-'));
  try {
    await writeFile(
      join(folder, 'a.test.ts'),
      `describe('outer', () => {
        it('one', () => {});
        it.each([['x']])('two %s', () => {});
        it.skipIf(true)('three', () => {});
        it.skip('never', () => {});
        describe.skip('left out', () => { it('neither', () => {}); });
      });
      test.each\`a\`('four', () => {});
      it(\`five of \${1 + 1} cases\`, () => {});
      item('no test', () => {});`,
    );
    expect([...testTitles(folder)]).toEqual([
      'a.test.ts > outer > one',
      'a.test.ts > outer > two %s',
      'a.test.ts > outer > three',
      'a.test.ts > four',
      'a.test.ts > five of … cases',
    ]);
  } finally {
    await rm(folder, { recursive: true });
  }
});

it('refuses ids that no page has, rules without a test, and reasons that are none', () => {
  const rules = [
    rule(1),
    rule(2),
    rule(3, { untestable: ' ' }),
    rule(4, { untestable: 'needs a machine with two clocks' }),
    rule(5, { keptBy: [id(1), id(6)] }),
    rule(1),
  ];
  const titles = new Set([
    `a.test.ts > holds [${id(1)}]`,
    `a.test.ts > holds too [${id(4)}] [F1]`,
    `a.test.ts > [${id(7)}] around > holds`,
  ]);
  expect(ruleFaults(rules, titles)).toEqual([
    `a.test.ts > [${id(7)}] around > holds: there is no rule ${id(7)}`,
    `${id(1)}: stands twice`,
    `${id(2)}: no title of a test has it, and the page does not say why it cannot be tested`,
    `${id(3)}: " " is no reason; say what is missing and why`,
    `${id(4)}: has a test, and the page says that it can have none`,
    `${id(5)}: there is no rule ${id(6)}`,
  ]);
  expect(() => ruleTable(rules, titles)).toThrow(/D902: no title of a test has it/);
});

it('tells which tests show a rule, on which servers, and what has none', () => {
  const text = ruleTable(
    [
      rule(1, { name: 'On servers' }),
      rule(2, { name: 'Without' }),
      rule(3, { name: 'Open', untestable: 'needs two moons' }),
      rule(4, { name: 'Kept', keptBy: [id(1)], section: '2. Others' }),
    ],
    new Set([`test/e2e/x.test.ts > does | it [${id(1)}] [F2]`, `api/x.test.ts > [${id(2)}] it > does [x]`]),
  );
  expect(text).toContain(
    '4 rules: 2 are shown by tests of their own, 1 of these on real servers; 1 are kept by other',
  );
  expect(text).toContain(`**1 cannot be tested**: ${id(3)}.`);
  expect(text).toContain(
    `| ${id(1)} | On servers | [does \\| it](../../test/e2e/x.test.ts) | API server, Temporal |`,
  );
  expect(text).toContain(`| ${id(2)} | Without | [it › does \\[x\\]](../../api/x.test.ts) | no server |`);
  expect(text).toContain(`| ${id(3)} | Open | **cannot be tested**: needs two moons |  |`);
  expect(text).toContain(`\n\n## 2. Others\n\n| Rule |`);
  expect(text).toContain(`| ${id(4)} | Kept | by ${id(1)} |  |`);
});
