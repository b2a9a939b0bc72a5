/** The fault harness: `npm run faults -- --help`. */
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { makeRoot, removeLeftovers } from '../support/leftovers.js';
import { mountSmallDisk } from './disk.js';
import { readSession } from './options.js';
import { runSession } from './session.js';
import { isLong } from './schedule.js';
import { emptyCells, tables } from './table.js';

const options = readSession(process.argv.slice(2), process.env);
if ('help' in options) {
  process.stdout.write(options.help);
  process.exit(options.code);
}

const begun = Date.now();
const log = (line: string): void => {
  const seconds = ((Date.now() - begun) / 1000).toFixed(1).padStart(7);
  process.stdout.write(`${seconds}  ${line}\n`);
};
const abort = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => abort.abort());

await removeLeftovers();
const root = options.dataDir === undefined ? await makeRoot() : undefined;
const dataDir = options.dataDir ?? join(root ?? '', 'data');
await mkdir(dataDir, { recursive: true });
const unmount = mountSmallDisk(dataDir);
if (unmount === undefined) log('the disk is not filled: this user may not mount a small one');
const outcome = await runSession(
  { ...options, dataDir, disk: unmount !== undefined },
  log,
  abort.signal,
).finally(() => unmount?.());
for (const folder of [dataDir, root ?? dataDir]) await rm(folder, { recursive: true, force: true });
const { struck, missed, violations, journeys, pieces, notes } = outcome;

process.stdout.write(`\n${tables(struck)}\n\n`);
for (const note of notes) process.stdout.write(`note: ${note}\n`);
for (const { boundary, side, strike } of missed) {
  process.stdout.write(`found nothing to strike: ${JSON.stringify(strike)} ${side} ${boundary}\n`);
}
for (const violation of violations) process.stdout.write(`VIOLATION ${violation}\n`);
process.stdout.write(
  `\n${struck.length} faults struck ${journeys} plans in ${Math.round((Date.now() - begun) / 1000)} s: ${violations.length} violations (seed ${options.seed})\n`,
);
// A long session is one that has struck everywhere.
const empty = isLong({ count: options.faults, only: options.only }) ? emptyCells(struck) : [];
for (const { boundary, role } of empty) process.stdout.write(`NEVER STRUCK ${boundary}×${role}\n`);
if (pieces.length > 0) process.stdout.write(`\nset pieces played: ${pieces.join(', ')}\n`);
const failed = violations.length > 0 || struck.length + pieces.length === 0 || empty.length > 0;
if (options.report !== undefined) {
  await writeFile(
    options.report,
    JSON.stringify({
      numPassedTests: struck.length - (failed ? 1 : 0),
      numFailedTests: failed ? Math.max(1, violations.length) : 0,
      testResults: [],
    }),
  );
}
// 1: something was wrong. 3: too little was struck to say so.
process.exit(violations.length > 0 ? 1 : failed ? 3 : 0);
