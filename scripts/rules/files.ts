import { readdirSync } from 'node:fs';
import { join, relative } from 'node:path';

const LEFT_OUT = new Set(['node_modules', 'dist', '.git', '.drover', 'coverage']);
/** What `npm run site` makes; a folder of this name elsewhere is ours. */
const MADE = 'site';

/** Paths of all files that belong to the repository, relative to `root`, with slashes. */
export function repositoryFiles(root: string): string[] {
  const filesIn = (folder: string): string[] =>
    readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
      if (LEFT_OUT.has(entry.name)) return [];
      const path = join(folder, entry.name);
      if (relative(root, path) === MADE) return [];
      if (entry.isDirectory()) return filesIn(path);
      return entry.isFile() ? [relative(root, path).replaceAll('\\', '/')] : [];
    });
  return filesIn(root);
}
