/** What the pages say of files, headings, commands and flags is there. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readConfig } from '../crd-bridge/config.js';
import { anchorsOf } from './rules/citations.js';

const read = (path: string): string => readFileSync(path, 'utf8');
const pagesIn = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md'))
    .map((name) => join(folder, name));
const PAGES = [
  ...readdirSync('.').filter((name) => name.endsWith('.md')),
  ...pagesIn('docs'),
  ...pagesIn('examples'),
  'test/contract/README.md',
];

/** Text outside of blocks of code. */
const prose = (text: string): string => text.replaceAll(/```[^]*?```/g, '');

describe('the pages', () => {
  it('lead to files and headings that exist', () => {
    const broken = PAGES.flatMap((page) =>
      [...prose(read(page)).matchAll(/\]\(([^)\s]+)\)/g)]
        .map(([, link = '']) => link)
        .filter((link) => !/^[a-z]+:/.test(link))
        .filter((link) => {
          const [path = '', anchor] = link.split('#');
          const file = path === '' ? page : join(dirname(page), path);
          if (!existsSync(file)) return true;
          return anchor !== undefined && file.endsWith('.md') && !anchorsOf(read(file)).has(anchor);
        })
        .map((link) => `${page}: ${link}`),
    );
    expect(broken).toEqual([]);
  });

  it('name scripts of npm that exist', () => {
    const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> };
    const missing = PAGES.flatMap((page) =>
      [...read(page).matchAll(/npm run (?:--silent )?([a-z][a-z:-]*)/g)]
        .map(([, name = '']) => name)
        .filter((name) => !(name in scripts))
        .map((name) => `${page}: npm run ${name}`),
    );
    expect(missing).toEqual([]);
  });

  it('tell every flag of the bridge', () => {
    const manual = pagesIn('docs').map(read).join('\n');
    const help = readConfig(['--help'], {});
    const text = help.kind === 'help' ? help.text : '';
    const flags = [...text.matchAll(/^ {2}(--[a-z][a-z-]*)/gm)].map(([, flag = '']) => flag);
    expect(flags.length).toBeGreaterThan(30);
    const asVariable = (flag: string): string => `DROVER_${flag.slice(2).replaceAll('-', '_').toUpperCase()}`;
    const untold = flags.filter(
      (flag) => !manual.includes(`\`${flag}\``) && !manual.includes(`\`${asVariable(flag)}\``),
    );
    expect(untold).toEqual([]);
  });
});
