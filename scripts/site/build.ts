import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join, posix, relative, resolve } from 'node:path';
import Eleventy from '@11ty/eleventy';
import type { UserConfig } from '@11ty/eleventy';
import { faultsOf } from './check.js';
import { INDEX_PAGE, readIndex, unlisted } from './reader-index.js';
import { amendMarkdown } from './markdown.js';
import { findPlaces, pagesBelow, titleOf } from './places.js';
import type { Place, Places } from './places.js';
import { readSearchOptions, searchIndex, sectionsOf } from './search-index.js';

const THEME = 'scripts/site/theme';
const THEME_FILES = ['style.css', 'search-options.js', 'search.js', 'diagrams.js'];
const INDEX_SCRIPT = 'search-index.js';

/**
 * Builds the site. The working directory is the repository.
 *
 * @param to is thrown away first; a folder with anything but a site is refused
 * @returns how many pages it has, and how many sections search finds
 * @throws Error that names every link and anchor that leads nowhere, and pages that the index does not list
 */
export async function buildSite(to: string): Promise<{ pages: number; sections: number }> {
  if (existsSync(to) && readdirSync(to).length > 0 && !existsSync(join(to, INDEX_SCRIPT)))
    throw new Error(`${to} is no site of this manual; name another folder, or remove it`);
  const places = findPlaces('.');
  const index = readFileSync(INDEX_PAGE, 'utf8');
  const lost = unlisted(index, pagesBelow('.', 'docs'));
  if (lost.length > 0) throw new Error(`${INDEX_PAGE} does not list ${lost.join(', ')}`);
  rmSync(to, { recursive: true, force: true });
  mkdirSync(to, { recursive: true });
  // Written last: until then the folder is no site.
  writeFileSync(join(to, INDEX_SCRIPT), '');
  const eleventy = new Eleventy(THEME, relative('.', resolve(to)), {
    configPath: false,
    quietMode: true,
    config: (config) => configure(config, places, index),
  });
  await eleventy.write();

  const files = new Map(
    filesBelow(to).map((path) => [
      path,
      path.endsWith('.html') ? readFileSync(join(to, path), 'utf8') : undefined,
    ]),
  );
  const faults = faultsOf(files);
  if (faults.length > 0) throw new Error(`links that lead nowhere:\n  ${faults.join('\n  ')}`);
  const pages = [...new Set([...places.values()].filter(({ kind }) => kind === 'page'))];
  const outputs = [...new Set(pages.map(({ output }) => output))];
  const sections = outputs.flatMap((output) => sectionsOf(output, files.get(output) ?? ''));
  const options = readSearchOptions(join(THEME, 'search-options.js'));
  writeFileSync(join(to, INDEX_SCRIPT), searchIndex(sections, options));
  return { pages: outputs.length, sections: sections.length };
}

function configure(config: UserConfig, places: Places, index: string): void {
  const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string };
  config.setUseGitIgnore(false);
  config.setTemplateFormats(['md', 'njk']);
  config.addGlobalData('version', version);
  config.addGlobalData('groups', groupsOf(places, index));
  config.addFilter('sections', (html) =>
    [...html.matchAll(/<h2 id="([^"]*)"[^>]*>([^]*?)<\/h2>/g)].map(([, id, title]) => ({ id, title })),
  );
  config.amendLibrary('md', (library) => amendMarkdown(library, places));
  for (const name of THEME_FILES) config.addPassthroughCopy({ [join(THEME, name)]: name });
  config.addPassthroughCopy({
    [packageFile('minisearch', 'dist/umd/index.js')]: 'minisearch.js',
    [packageFile('@mermaid-js/tiny', 'dist/mermaid.tiny.js')]: 'mermaid.js',
  });
  // A README may be there by its own name and by that of its folder, which also lists the files beside it.
  const inOrder = [...places].sort(([a], [b]) => Number(b.endsWith('.md')) - Number(a.endsWith('.md')));
  const byOutput = new Map(inOrder.map(([, place]) => [place.output, place]));
  for (const place of byOutput.values()) addPlace(config, place);
}

function addPlace(config: UserConfig, place: Place): void {
  const { kind, source, output } = place;
  if (kind === 'picture') {
    config.addPassthroughCopy({ [source]: output });
    return;
  }
  const depth = output.split('/').length - 1;
  config.addTemplate(`${output.replace(/\.html$/, '')}.md`, place.text, {
    layout: 'page.njk',
    // Pages show the braces of templates; they are none.
    templateEngineOverride: 'md',
    permalink: output,
    dynamicPermalink: false,
    title: titleOf(place.text),
    language: source.startsWith('docs/zh/') ? 'zh' : 'en',
    hasDiagrams: place.text.includes('```mermaid'),
    root: '../'.repeat(depth) || './',
    source,
    output,
  });
}

/** What the navigation shows. */
function groupsOf(places: Places, index: string): { title: string; entries: object[] }[] {
  return readIndex(index).map(({ title, entries }) => ({
    title,
    entries: entries.map(({ label, source }) => ({ label, output: places.get(source)?.output })),
  }));
}

function packageFile(name: string, path: string): string {
  const entry = createRequire(import.meta.url).resolve(name);
  const folder = entry.slice(0, entry.lastIndexOf(`node_modules/${name}/`) + `node_modules/${name}/`.length);
  return relative('.', join(folder, path));
}

function filesBelow(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => statSync(join(folder, name)).isFile())
    .map((name) => posix.normalize(name.replaceAll('\\', '/')));
}
