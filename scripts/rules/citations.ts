/** What comments and pages cite: ids of rules, and pages of the manual with their headings. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { repositoryFiles } from './files.js';

/** Kinds of files whose text may cite something. */
const CITING = ['.ts', '.js', '.md', '.yaml', '.sh'];
/** What is recorded or copied is not ours to word. */
const NOT_OURS = [/^test\/replay\/histories\//, /^test\/samples\//, /^deploy\/crds\//];

/** A page of Markdown as citations see it. */
export interface Page {
  path: string;
  text: string;
}

/** Files of the repository that may cite something. */
export function citingFiles(root: string): Page[] {
  return repositoryFiles(root)
    .filter((path) => CITING.some((end) => path.endsWith(end)))
    .filter((path) => !NOT_OURS.some((pattern) => pattern.test(path)))
    .map((path) => ({ path, text: readFileSync(join(root, path), 'utf8') }));
}

/**
 * What files cite that is not there, as `<file>: <citation>`: a rule `S3.4`, `T9.2` or `SEC5`; in code also a page such as
 * `docs/security.md#seals`. A section sign is a citation of something that is not in the repository.
 *
 * @param ids of all rules
 */
export function brokenCitations(files: readonly Page[], ids: ReadonlySet<string>): string[] {
  const headings = new Map(
    files.filter(({ path }) => path.endsWith('.md')).map(({ path, text }) => [path, anchorsOf(text)]),
  );
  return files.flatMap(({ path, text }) => {
    const rules = [...text.matchAll(/\b(?:[ST]\d+\.\d+|SEC\d+)\b/g)]
      .map(([id]) => id)
      .filter((id) => !ids.has(id));
    const isPage = path.endsWith('.md');
    // Links of pages are checked with the pages.
    const pages = isPage
      ? []
      : [...text.matchAll(/\bdocs\/[\w/-]+\.md(?:#[\w-]+)?/g)].map(([cited]) => cited);
    const lost = pages.filter((cited) => {
      const [page = '', anchor] = cited.split('#');
      const known = headings.get(page);
      return known === undefined || (anchor !== undefined && !known.has(anchor));
    });
    const signs = isPage ? [] : [...text.matchAll(/\u00a7\w*/g)].map(([sign]) => sign);
    return [...new Set([...rules, ...lost, ...signs])].map((cited) => `${path}: ${cited}`);
  });
}

/** The names that headings of a page can be led to by. */
export function anchorsOf(page: string): Set<string> {
  return new Set([...page.matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) => anchorOf(heading)));
}

/** What a link to a heading has behind its `#`. */
export const anchorOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-');
