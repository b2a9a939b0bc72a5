import { readFileSync } from 'node:fs';
import MiniSearch from 'minisearch';
import { describe, expect, it } from 'vitest';
import { faultsOf } from './check.js';
import { siteLink } from './markdown.js';
import { findPlaces, pagesBelow, titleOf } from './places.js';
import type { Places } from './places.js';
import { INDEX_PAGE, readIndex, unlisted } from './reader-index.js';
import { readSearchOptions, searchIndex, sectionsOf } from './search-index.js';
import type { Section } from './search-index.js';

const page = (main: string, head = ''): string =>
  `<html><head>${head}</head><main id="content">${main}</main></html>`;

describe('the index of the manual', () => {
  const text = readFileSync(INDEX_PAGE, 'utf8');

  it('lists every page, for six kinds of readers', () => {
    expect(unlisted(text, pagesBelow('.', 'docs'))).toEqual([]);
    expect(readIndex(text).map(({ title }) => title)).toEqual([
      ...['First hour', 'Writing plans', 'Operating', 'Securing', 'Migrating', 'Inside'],
    ]);
  });

  it('misses a page that nothing leads to', () => {
    const at = (name: string): string => `docs/${name}`;
    const pages = ['a.md', 'b.md', 'adr/1.md'].map(at);
    expect(unlisted('# Index\n\n[a](a.md)\n[all](adr)\n', pages)).toEqual([at('b.md')]);
  });
});

describe('places of the site', () => {
  const places = findPlaces('.');

  it('has pages, what they lead to, and folders with their files', () => {
    expect(places.get('README.md')).toMatchObject({ kind: 'page', output: 'index.html' });
    expect(places.get('docs/cli.md')).toMatchObject({ kind: 'page', output: 'docs/cli.html' });
    expect(places.get('deploy/rbac/users.yaml')).toMatchObject({ output: 'deploy/rbac/users.yaml.html' });
    expect(places.get('examples/minimal')).toMatchObject({ output: 'examples/minimal/index.html' });
    expect(places.get('examples/minimal/plan.yaml')).toMatchObject({ kind: 'listing' });
    const text = JSON.stringify(places.get('docs/adr'));
    expect(text).toContain('0001-child-workflow-per-stage.md');
    expect(titleOf('<!-- a -->\n\n# What `drover` [does](x.md)\n')).toBe('What drover does');
  });

  it('are led to from each page by relative links with their anchors', () => {
    const at = { source: 'docs/zh/README.md', output: 'docs/zh/index.html' };
    expect(siteLink(at, '../cli.md#output-and-exit-codes', places)).toBe('../cli.html#output-and-exit-codes');
    expect(siteLink(at, '../../README.md', places)).toBe('../../index.html');
    expect(siteLink(at, '#here', places)).toBe('#here');
    expect(siteLink(at, 'https://temporal.io', places)).toBe('https://temporal.io');
    expect(() => siteLink(at, '../gone.md', new Map() as Places)).toThrow('docs/zh/README.md: ../gone.md');
  });
});

describe('faultsOf', () => {
  it('tells of links and anchors that lead nowhere, and of what would be loaded from elsewhere', () => {
    const files = new Map([
      [
        'index.html',
        page('<a href="docs/a.html#there">a</a> <a href="https://temporal.io">t</a> <a href="?q=1">q</a>'),
      ],
      [
        'docs/a.html',
        page('<h2 id="there">x</h2><a href="#gone">b</a><a href="b.html">c</a><a href="../x.css">d</a>'),
      ],
      ['x.css', undefined],
      [
        'bad.html',
        page('<img src="https://elsewhere/p.png"><a href="/index.html">e</a><a href="javascript:f()">g</a>'),
      ],
    ]);
    expect(faultsOf(files)).toEqual([
      'docs/a.html: #gone',
      'docs/a.html: b.html',
      'bad.html: https://elsewhere/p.png',
      'bad.html: /index.html',
      'bad.html: javascript:f()',
    ]);
  });
});

describe('search', () => {
  const html = page(
    '<h1 id="runs">How runs <code>end</code></h1><p>A run is reverted &amp; gone.</p>' +
      '<h2 id="names">DROVER_MAX_WAITS</h2><table><tr><td>one</td><td>two</td></tr></table>' +
      '<h2 id="zh">撤销</h2><p>撤销按相反的顺序进行。</p>',
  );
  const sections = sectionsOf('docs/a.html', html);

  it('takes a page apart at its headings', () => {
    expect(sections.map(({ id, heading, text }) => [id, heading, text])).toEqual([
      ['docs/a.html#runs', 'How runs end', 'A run is reverted & gone.'],
      ['docs/a.html#names', 'DROVER_MAX_WAITS', 'one two'],
      ['docs/a.html#zh', '撤销', '撤销按相反的顺序进行。'],
    ]);
    expect(sections.every(({ title }) => title === 'How runs end')).toBe(true);
  });

  it('finds words, their beginnings, names with underscores, and Chinese', () => {
    const options = readSearchOptions('scripts/site/theme/search-options.js');
    const script = searchIndex(sections, options);
    const index = MiniSearch.loadJSON<Section>(
      script.slice(script.indexOf('{'), script.lastIndexOf('}') + 1),
      options,
    );
    const found = (question: string) => index.search(question).map(({ id }) => (id as string).split('#')[1]);
    expect(found('reverted gone')).toEqual(['runs']);
    expect(found('rever')).toEqual(['runs']);
    expect(found('drover_max_waits')).toEqual(['names']);
    expect(found('相反的顺序')).toEqual(['zh']);
    expect(found('reverted 顺序')).toEqual([]);
  });
});
