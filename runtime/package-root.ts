import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/**
 * The package's own root folder, found from this module upwards: so files that are not part of a program (definitions, Go
 * modules, workflow bundles) are found from the sources, from `dist/` and from a bundled program alike.
 *
 * @throws Error when no folder above has a package.json
 */
export function packageRoot(from: string = dirname(fileURLToPath(import.meta.url))): string {
  for (let folder = from; ; folder = dirname(folder)) {
    if (existsSync(join(folder, 'package.json'))) return folder;
    if (dirname(folder) === folder) throw new Error(`no package.json found above ${from}`);
  }
}
