/** The index of the manual, `docs/README.md`, which is also what the site is walked by. */
import { fileOfLink, linksOf } from '../rules/links.js';

/** The page that lists all others. */
export const INDEX_PAGE = 'docs/README.md';

/** Pages for one kind of reader. */
export interface ReaderGroup {
  title: string;
  entries: { label: string; source: string }[];
}

const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

/** Groups and entries in the order of the page. */
export function readIndex(text: string): ReaderGroup[] {
  return text
    .split(/^## /m)
    .slice(1)
    .map((part) => ({
      title: part.split('\n', 1)[0] ?? '',
      entries: [...part.matchAll(/\[([^\]]+)\]\(([^)\s]+)\)/g)].map(([, label = '', link = '']) => ({
        label: capital(label.replaceAll('`', '')),
        source: fileOfLink(INDEX_PAGE, link),
      })),
    }));
}

/**
 * Pages that the index does not lead to, directly or by a page of the same folder.
 *
 * @param pages those of the manual
 */
export function unlisted(text: string, pages: readonly string[]): string[] {
  const listed = linksOf(text).map((link) => fileOfLink(INDEX_PAGE, link));
  return pages.filter(
    (page) => page !== INDEX_PAGE && !listed.some((path) => path === page || page.startsWith(`${path}/`)),
  );
}
