import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { CONTRACT, contractFaults, contractTable } from './contract-table.js';
import { chapter } from './contract/rule.js';
import { testTitles } from './contract/titles.js';

const FILE = 'test/e2e/x.test.ts';

it('names only tests that exist, and says why where there is none', { timeout: 60_000 }, () => {
  expect(contractFaults(CONTRACT, testTitles(process.cwd()))).toEqual([]);
});

it('has each rule once', () => {
  const ids = CONTRACT.flatMap(({ rules }) => rules.map(({ id }) => id));
  expect(new Set(ids).size).toBe(ids.length);
  expect(ids.filter((id) => /^P\d+$/.test(id))).toHaveLength(16);
  expect(ids.filter((id) => /^E\d+$/.test(id))).toHaveLength(30);
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
      item('no test', () => {});`,
    );
    expect([...testTitles(folder)]).toEqual([
      'a.test.ts > outer > one',
      'a.test.ts > outer > two %s',
      'a.test.ts > outer > three',
      'a.test.ts > four',
    ]);
  } finally {
    await rm(folder, { recursive: true });
  }
});

it('refuses a mapping to a test that does not exist, and a rule that shows nothing', () => {
  const chapters = [
    chapter('X', 'Some', [
      ['holds', [`${FILE} > gone`]],
      ['hangs in the air', []],
      ['is waved through', [], ' '],
      ['is half shown', [`${FILE} > there`], 'later'],
      ['needs what is not here', [], 'needs a machine with two clocks'],
    ]),
  ];
  expect(contractFaults(chapters, new Set([`${FILE} > there`]))).toEqual([
    `X1: there is no test "${FILE} > gone"`,
    'X2: has no test and does not say why it cannot be tested here',
    'X3: " " is no reason; say what is missing and why',
    'X4: "later" is no reason; say what is missing and why',
  ]);
  expect(() => contractTable(chapters, new Set())).toThrow(/X1: there is no test/);
});

it('says what is shown on real servers, what is missing, and what is not covered', () => {
  const real = `${FILE} > does | it`;
  const unit = 'api/x.test.ts > does it';
  const text = contractTable(
    [
      chapter('X', 'Some', [
        ['a', [real], 'a part of it'],
        ['b', [unit]],
        ['c', [], 'needs two moons'],
      ]),
    ],
    new Set([real, unit]),
  );
  expect(text).toContain('3 rules; 2 are shown by tests, 1 of them on real servers; 1 cannot be tested here');
  expect(text).toContain(
    `| X1 | a | [does \\| it](../../${FILE})<br>_missing_: a part of it | API server, Temporal |`,
  );
  expect(text).toContain('| X2 | b | [does it](../../api/x.test.ts) | no server |');
  expect(text).toContain('| X3 | c | **cannot be tested here**: needs two moons |  |');
});
