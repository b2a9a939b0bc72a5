/**
 * What the site is made of: the pages of the manual, and whatever files and folders of the repository they lead to, so that
 * a reader who has only the site misses nothing.
 */
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { posix } from 'node:path';
import { fileOfLink, linksOf } from '../rules/links.js';

/** Something that has a place in the site. */
export type Place =
  | {
      /** `page`: of the manual; `listing`: a file or a folder of the repository, shown. */
      kind: 'page' | 'listing';
      /** In the repository, as links resolve against it, with slashes. */
      source: string;
      /** In the site. */
      output: string;
      /** Markdown. */
      text: string;
    }
  | { kind: 'picture'; source: string; output: string };

/** All places, by the path in the repository that links name. */
export type Places = ReadonlyMap<string, Place>;

/** Where readers begin; all else is there because one of these leads to it. */
const BEGINNINGS = ['README.md', 'CHANGELOG.md'];
const PICTURES = /\.(png|svg)$/;

/**
 * Finds the pages of the manual and all that they lead to.
 *
 * @param root folder of the repository
 * @throws Error that names every link to a file that is not there
 */
export function findPlaces(root: string): Places {
  const places = new Map<string, Place>();
  const missing: string[] = [];
  const queue = [...BEGINNINGS, ...pagesBelow(root, 'docs')];
  for (let path = queue.shift(); path !== undefined; path = queue.shift()) {
    if (places.has(path)) continue;
    const place = placeOf(root, path);
    places.set(path, place);
    if (place.kind === 'picture') continue;
    for (const link of linksOf(place.text)) {
      const target = fileOfLink(place.source, link);
      if (existsSync(posix.join(root, target))) queue.push(target);
      else missing.push(`${place.source}: ${link}`);
    }
  }
  if (missing.length > 0) throw new Error(`links that lead nowhere:\n  ${missing.join('\n  ')}`);
  return places;
}

/** Pages of Markdown below a folder, relative to the root. */
export function pagesBelow(root: string, folder: string): string[] {
  return readdirSync(posix.join(root, folder), { recursive: true, encoding: 'utf8' })
    .map((name) => posix.join(folder, name.replaceAll('\\', '/')))
    .filter((path) => path.endsWith('.md'))
    .sort();
}

function placeOf(root: string, path: string): Place {
  if (PICTURES.test(path)) return { kind: 'picture', source: path, output: path };
  const file = posix.join(root, path);
  if (statSync(file).isDirectory()) return folderPlace(root, path);
  const text = readFileSync(file, 'utf8');
  if (path.endsWith('.md')) return { kind: 'page', source: path, output: outputOf(path), text };
  return { kind: 'listing', source: path, output: `${path}.html`, text: fileText(path, text) };
}

/** A folder is its README, if it has one, with what else is in it. */
function folderPlace(root: string, path: string): Place {
  const source = posix.join(path, 'README.md');
  const entries = readdirSync(posix.join(root, path)).sort();
  const list = entries
    .filter((name) => name !== 'README.md')
    .map((name) => `- [\`${name}\`](${name})`)
    .join('\n');
  const output = outputOf(source);
  if (!entries.includes('README.md'))
    return { kind: 'listing', source, output, text: `# ${path}\n\n${list}\n` };
  const text = readFileSync(posix.join(root, source), 'utf8');
  return { kind: 'page', source, output, text: `${text}\n## Files in this folder\n\n${list}\n` };
}

function fileText(path: string, text: string): string {
  const fence = '`'.repeat(Math.max(3, ...[...text.matchAll(/`+/g)].map(([run]) => run.length + 1)));
  return `# ${posix.basename(path)}\n\n\`${path}\`\n\n${fence}\n${text.trimEnd()}\n${fence}\n`;
}

/** `docs/concepts.md` is at `docs/concepts.html`; a README is what its folder shows. */
const outputOf = (source: string): string =>
  source.replace(/(^|\/)README\.md$/, '$1index.md').replace(/\.md$/, '.html');

/** The first heading, without marks. */
export const titleOf = (text: string): string =>
  (/^# (.+)$/m.exec(text)?.[1] ?? '').replaceAll(/[`*]|\]\([^)]*\)|\[/g, '').trim();
