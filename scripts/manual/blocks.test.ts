/** Every command of the manual is run by a test, or the page says why not. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { WALKS } from '../../test/big/manual/walks.js';
import { pagesBelow } from '../site/places.js';
import { shellBlocks, uncovered } from './blocks.js';

const PAGES = [
  'README.md',
  ...pagesBelow('.', 'docs'),
  ...readdirSync('examples').flatMap((name) =>
    readdirSync('examples', { recursive: true, encoding: 'utf8' }).includes(join(name, 'README.md'))
      ? [`examples/${name}/README.md`]
      : [],
  ),
];

describe('commands of the manual', () => {
  it('are each run by a test, or the page says why not', () => {
    const blocks = PAGES.flatMap((page) => shellBlocks(page, readFileSync(page, 'utf8')));
    expect(blocks.length).toBeGreaterThan(60);
    expect(uncovered(blocks, WALKS)).toEqual([]);
    for (const { page, line, reason } of blocks)
      if (reason !== undefined) expect(reason.length, `${page}:${line}`).toBeGreaterThan(20);
  });
});

describe('shellBlocks', () => {
  it('finds blocks in lists too, and why nothing runs one', () => {
    const page = [
      '```sh\none\ntwo\n```',
      '<!-- no-run: it takes\nan hour -->\n\n```sh\nthree\n```',
      '1. In a list:\n\n   ```sh\n   four \\\n     five\n   ```',
      '```yaml\nkind: none\n```',
      '```text\nfive\n```',
    ].join('\n\n');
    expect(shellBlocks('here.md', page)).toEqual([
      { page: 'here.md', line: 2, text: 'one\ntwo\n' },
      { page: 'here.md', line: 10, text: 'three\n', reason: 'it takes an hour' },
      { page: 'here.md', line: 16, text: 'four \\\n  five\n' },
    ]);
  });

  it('notices a block that nothing runs, a step without a block, and a test that runs another page', () => {
    const blocks = shellBlocks('here.md', '```sh\none\n```\n\n```sh\ntwo\n```\n');
    const step = (begins: string, more = {}) => ({ page: 'here.md', steps: [{ begins, ...more }] });
    expect(uncovered(blocks, [step('one')])).toEqual(['here.md:6: nothing runs "two"']);
    expect(uncovered(blocks, [step('one'), step('two'), step('three')])).toEqual([
      'here.md: has no block "three"',
    ]);
    expect(uncovered(blocks, [step('two'), step('one')])).toHaveLength(2);
    expect(uncovered(blocks, [step('one'), step('two', { by: 'package.json' })])).toEqual([
      'here.md: "two" is not run by package.json',
    ]);
  });
});
