/**
 * Makes the manual as a site of plain files: `npm run site` writes `site/`, which opens from the disk as well as from any
 * web server. `--to FOLDER` writes elsewhere. A link or an anchor that leads nowhere fails the build.
 */
import { join, relative } from 'node:path';
import { parseArgs } from 'node:util';
import { packageRoot } from '../runtime/package-root.js';
import { buildSite } from './site/build.js';

const { values } = parseArgs({ options: { to: { type: 'string', default: 'site' } } });
// Paths of the generator are relative to where it runs.
process.chdir(packageRoot());
try {
  const { pages, sections } = await buildSite(values.to);
  console.log(`${pages} pages, ${sections} sections that search finds: ${join(values.to, 'index.html')}`);
} catch (error) {
  console.error(`error: ${error instanceof Error ? error.message : String(error)}`);
  console.error(`${relative('.', values.to)} is not complete`);
  process.exitCode = 1;
}
