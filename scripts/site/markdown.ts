/** How the site reads Markdown: headings that can be led to, links between pages, diagrams, tables that scroll. */
import { posix } from 'node:path';
import type { Markdown, MarkdownState, Token } from '@11ty/eleventy';
import { anchorOf } from '../rules/citations.js';
import { fileOfLink } from '../rules/links.js';
import type { Places } from './places.js';

/** Data of a page that reading it needs. */
interface PageData {
  source: string;
  output: string;
}

/** Changes what Markdown becomes. */
export function amendMarkdown(library: Markdown, places: Places): void {
  library.core.ruler.push('drover', (state: MarkdownState) => {
    const page = state.env as unknown as PageData;
    const used = new Map<string, number>();
    state.tokens.forEach((token, at) => {
      if (token.type === 'heading_open')
        token.attrSet('id', nextAnchor(anchorOf(state.tokens[at + 1]?.content ?? ''), used));
      for (const child of token.children ?? []) lead(child, page, places);
    });
  });
  const { rules } = library.renderer;
  rules.table_open = () => '<div class="table"><table>\n';
  rules.table_close = () => '</table></div>\n';
  const { fence } = rules;
  rules.fence = (tokens, index, ...more) => {
    const token = tokens[index];
    if (token?.info === 'mermaid')
      return `<pre class="mermaid">${library.utils.escapeHtml(token.content)}</pre>\n`;
    return fence?.(tokens, index, ...more) ?? '';
  };
}

/** As elsewhere, the second heading of a name has a number. */
function nextAnchor(anchor: string, used: Map<string, number>): string {
  const times = used.get(anchor) ?? 0;
  used.set(anchor, times + 1);
  return times === 0 ? anchor : `${anchor}-${times}`;
}

function lead(token: Token, page: PageData, places: Places): void {
  const name = token.type === 'link_open' ? 'href' : token.type === 'image' ? 'src' : undefined;
  const link = name === undefined ? null : token.attrGet(name);
  if (name !== undefined && link !== null) token.attrSet(name, siteLink(page, decodeURI(link), places));
}

/**
 * A link of the repository as the site has it, relative to the page.
 *
 * @throws Error when it leads to nothing that is in the site
 */
export function siteLink(page: PageData, link: string, places: Places): string {
  if (/^([a-z]+:|#)/.test(link)) return link;
  const anchor = link.includes('#') ? link.slice(link.indexOf('#')) : '';
  const place = places.get(fileOfLink(page.source, link));
  if (place === undefined) throw new Error(`${page.source}: ${link} leads nowhere`);
  return `${posix.relative(posix.dirname(page.output), place.output)}${anchor}`;
}
