/**
 * Runs one operation: `runner FOLDER`, where `FOLDER/op.json` says what is to be done. It ends with code 0 when it has
 * nothing more to do, also where another runner has the folder; with 2 where it was called wrongly; else with 1.
 */
import { resolve } from 'node:path';
import { createLog } from '../runtime/log.js';
import { run } from './run.js';

const [folder, ...more] = process.argv.slice(2);
if (folder === undefined || more.length > 0 || folder.startsWith('-')) {
  process.stderr.write('usage: runner FOLDER\nFOLDER is that of an operation, with op.json in it.\n');
  process.exit(folder === '--help' ? 0 : 2);
}
const log = createLog({ component: 'runner' });
process.exit(await run({ folder: resolve(folder), log, env: process.env, process }));
