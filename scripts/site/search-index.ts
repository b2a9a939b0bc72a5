/** What search finds: the sections of all pages, as readers see them. */
import { readFileSync } from 'node:fs';
import { runInNewContext } from 'node:vm';
import MiniSearch from 'minisearch';
import type { Options } from 'minisearch';

/** A part of a page that begins with a heading. */
export interface Section {
  /** Path in the site with the anchor. */
  id: string;
  /** Of the page. */
  title: string;
  heading: string;
  text: string;
}

/** Sections of a page. */
export function sectionsOf(path: string, html: string): Section[] {
  const [, main = ''] = /<main[^>]*>([^]*)<\/main>/.exec(html) ?? [];
  const parts = main.split(/(?=<h[1-6] id=")/);
  const title = textOf(/<h1[^>]*>([^]*?)<\/h1>/.exec(main)?.[1] ?? '');
  return parts.flatMap((part) => {
    const [whole = '', anchor = '', heading = ''] =
      /^<h[1-6] id="([^"]*)"[^>]*>([^]*?)<\/h[1-6]>/.exec(part) ?? [];
    if (whole === '') return [];
    const text = textOf(part.slice(whole.length));
    return [{ id: `${path}#${anchor}`, title, heading: textOf(heading), text }];
  });
}

const ENTITIES: Record<string, string> = { lt: '<', gt: '>', quot: '"', amp: '&', '#39': "'" };

const textOf = (html: string): string =>
  html
    .replaceAll(/<pre class="mermaid">[^]*?<\/pre>/g, ' ')
    .replaceAll(/<(?:br|\/?(?:p|li|tr|td|th|pre|h\d))\b[^>]*>/g, ' ')
    .replaceAll(/<[^>]*>/g, '')
    .replaceAll(/&(lt|gt|quot|amp|#39);/g, (_, name: string) => ENTITIES[name] ?? '')
    .replaceAll(/\s+/g, ' ')
    .trim();

/**
 * How texts and questions are taken apart, as the page of answers does it: a browser that opened a file loads no modules,
 * so both read one script.
 *
 * @param file `search-options.js` of the theme
 */
export function readSearchOptions(file: string): Options<Section> {
  const context: { droverSearch?: Options<Section> } = {};
  runInNewContext(readFileSync(file, 'utf8'), context);
  if (context.droverSearch === undefined) throw new Error(`${file} sets no droverSearch`);
  return context.droverSearch;
}

/** A script that holds the index: a page that was opened from a file may load that, and nothing else. */
export function searchIndex(sections: readonly Section[], options: Options<Section>): string {
  const index = new MiniSearch<Section>(options);
  index.addAll(sections);
  return `globalThis.droverIndex = ${JSON.stringify(index)};\n`;
}
