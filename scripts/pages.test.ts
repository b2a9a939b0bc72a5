/** What the pages say of files, headings, commands and flags is there. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { BRIDGE } from '../crd-bridge/config.js';
import { variablesOf } from '../runtime/options/option.js';
import type { OptionTable } from '../runtime/options/option.js';
import { SERVER } from '../server/config.js';
import { WORKER } from '../worker/config.js';
import { anchorsOf } from './rules/citations.js';
import { fileOfLink, linksOf, prose } from './rules/links.js';

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

/** Manifests and the like, in which people set variables. */
const DEPLOYED = [
  'docker-compose.yml',
  ...readdirSync('deploy', { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.(yaml|js)$/.test(name))
    .map((name) => join('deploy', name)),
];
/** Of the command line, of tests, and of docker-compose.yml itself. */
const OTHER_VARIABLES =
  /^DROVER_(DEBUG|ENGINES|(TEST|BIG|FUZZ)_[A-Z_]+|RECORD|KUBECONFIG_FILE|NODE|RELEASE_KEY|USER|VERSION)$/;

describe('the pages', () => {
  it('lead to files and headings that exist', () => {
    const broken = PAGES.flatMap((page) =>
      linksOf(read(page))
        .filter((link) => {
          const [, anchor] = link.split('#');
          const file = fileOfLink(page, link);
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

  it('name what is in the file that they say, for those who change the code', () => {
    const page = 'docs/contributing.md';
    const named = [...prose(read(page)).matchAll(/`(\w+)`\s+(?:in|of)\s+`([\w./-]+\.[jt]s)`/g)];
    const wrong = named.filter(
      ([, name = '', path = '']) => !existsSync(path) || !new RegExp(`\\b${name}\\b`).test(read(path)),
    );
    expect(named.length).toBeGreaterThan(5);
    expect(wrong.map(([text]) => text)).toEqual([]);
  });

  it('lead those who change the code to files that exist', () => {
    const rooms = readdirSync('.', { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .map(({ name }) => name);
    const paths = [...prose(read('docs/contributing.md')).matchAll(/`([\w.-]+\/[\w./-]*)`/g)]
      .map(([, path = '']) => path)
      .filter((path) => rooms.includes(path.split('/')[0] ?? ''));
    expect(paths.length).toBeGreaterThan(30);
    expect(paths.filter((path) => !existsSync(path))).toEqual([]);
  });

  it('name variables of Drover that exist', () => {
    const known = [BRIDGE, WORKER, SERVER].flatMap(({ options }: { options: OptionTable }) =>
      Object.entries(options).flatMap(([name, option]) => variablesOf(name, option)),
    );
    const unknown = [...PAGES, ...DEPLOYED].flatMap((page) =>
      [...read(page).matchAll(/DROVER_[A-Z_]*[A-Z]/g)]
        .map(([name]) => name)
        .filter((name) => !known.includes(name) && !OTHER_VARIABLES.test(name))
        .map((name) => `${page}: ${name}`),
    );
    expect(unknown).toEqual([]);
  });
});
