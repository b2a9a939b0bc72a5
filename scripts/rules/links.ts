/** Links between pages, as Markdown has them. */
import { posix } from 'node:path';

/** Text outside of blocks of code. */
export const prose = (text: string): string => text.replaceAll(/^( *)(`{3,})[^]*?^\1\2$/gm, '');

/** Where a page leads to, without addresses of the web. */
export const linksOf = (text: string): string[] =>
  [...prose(text).matchAll(/\]\(([^)\s]+)\)/g)]
    .map(([, link = '']) => link)
    .filter((link) => !/^[a-z]+:/.test(link));

/**
 * The file, or folder, that a link of a page leads to.
 *
 * @param page relative to the repository, with slashes
 */
export function fileOfLink(page: string, link: string): string {
  const [path = ''] = link.split('#');
  return path === '' ? page : posix.join(posix.dirname(page), path).replace(/\/$/, '');
}
