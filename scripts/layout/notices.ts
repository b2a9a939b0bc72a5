/** The licences under which packages are passed on, whether bundled or beside. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { InstalledPackage } from './packages.js';

const LICENCE = /^(licen[cs]e|notice|copying)/i;

/** One text with the licence of each package; packages with the same text share it. */
export function noticesOf(root: string, packages: readonly InstalledPackage[]): string {
  const byText = new Map<string, string[]>();
  for (const one of packages) {
    const text = licenceOf(root, one);
    byText.set(text, [...(byText.get(text) ?? []), `${one.name} ${one.version}`]);
  }
  const parts = [...byText].map(([text, names]) => `${names.sort().join(', ')}\n\n${text}`);
  return ['Drover contains these packages, under these licences:', ...parts.sort()].join(
    `\n\n${'-'.repeat(80)}\n\n`,
  );
}

function licenceOf(root: string, { path }: InstalledPackage): string {
  const folder = join(root, path);
  const files = readdirSync(folder, { withFileTypes: true }).filter(
    (entry) => entry.isFile() && LICENCE.test(entry.name),
  );
  const texts = files.map(({ name }) => readFileSync(join(folder, name), 'utf8').trim());
  if (texts.length > 0) return texts.join('\n\n');
  const { license, author } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as {
    license?: string;
    author?: string | { name?: string };
  };
  const by = typeof author === 'string' ? author : author?.name;
  return [`Licence: ${license ?? 'not stated'}`, ...(by === undefined ? [] : [`Author: ${by}`])].join('\n');
}
