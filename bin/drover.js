#!/usr/bin/env node
/**
 * Starts the command line from dist/. In a source tree dist/ is built first when it is missing or older than a source,
 * so that `npm ci` alone leaves a program that runs.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import module from 'node:module';
import { homedir } from 'node:os';
import { dirname, isAbsolute, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const [major, minor] = process.versions.node.split('.').map(Number);
if (major < 20 || (major === 20 && minor < 19)) {
  console.error(`error: Node.js ${process.versions.node} is too old; install 20.19 or newer`);
  process.exit(3);
}

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const main = join(root, 'dist', 'programs', 'drover.js');
const config = join(root, 'tsconfig.build.json');

/** An installed package has no sources: what is in dist/ is all there is. */
if (existsSync(config) && isOutdated()) build();
keepCompiled();
const { main: run } = await import(pathToFileURL(main).href);
await run(process);

/** What Node has compiled is kept for the next start, where this Node can (22.8). Nothing is lost where it cannot be kept. */
function keepCompiled() {
  const cache = process.env.XDG_CACHE_HOME;
  const base = cache !== undefined && isAbsolute(cache) ? cache : join(homedir(), '.cache');
  module.enableCompileCache?.(join(base, 'drover', 'compiled'));
}

function isOutdated() {
  if (!existsSync(main)) return true;
  const built = statSync(main).mtimeMs;
  const rooms = JSON.parse(readFileSync(config, 'utf8')).include;
  return [config, ...rooms.flatMap((room) => sourcesIn(join(root, room)))].some(
    (file) => statSync(file).mtimeMs > built,
  );
}

function sourcesIn(folder) {
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.ts') && !entry.name.endsWith('.test.ts'))
    .map((entry) => join(entry.parentPath, entry.name));
}

function build() {
  const compiler = join(root, 'node_modules', 'typescript');
  if (!existsSync(compiler)) {
    console.error(
      'error: the package is not built and TypeScript is not installed; run "npm ci" in it first',
    );
    process.exit(3);
  }
  const release = lock();
  try {
    // Another process may have built it while this one waited.
    if (!isOutdated()) return;
    console.error('drover: building (once after each change of the sources) …');
    const started = Date.now();
    const result = spawnSync(process.platform === 'win32' ? 'npm.cmd' : 'npm', ['run', '--silent', 'build'], {
      cwd: root,
      stdio: ['ignore', 2, 2],
    });
    if (result.status !== 0) {
      console.error(
        `error: the build failed${result.error ? `: ${result.error.message}` : ''}; run "npm run build"`,
      );
      process.exit(3);
    }
    // The compiler leaves a file alone that did not change.
    const now = new Date();
    utimesSync(main, now, now);
    console.error(`drover: built in ${((Date.now() - started) / 1000).toFixed(1)} s`);
  } finally {
    release();
  }
}

/** One build at a time; a lock whose holder has died is taken over. */
function lock() {
  const file = join(root, 'node_modules', '.drover-build.lock');
  const release = () => rmSync(file, { force: true });
  for (;;) {
    try {
      writeFileSync(file, String(process.pid), { flag: 'wx' });
      process.once('exit', release);
      return release;
    } catch (error) {
      if (error.code !== 'EEXIST') throw error;
      if (isAbandoned(file)) release();
      else Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 200);
    }
  }
}

function isAbandoned(file) {
  try {
    const pid = Number(readFileSync(file, 'utf8'));
    // Just made and not written yet: give its maker a moment.
    if (pid === 0) return Date.now() - statSync(file).mtimeMs > 10_000;
    process.kill(pid, 0);
    return false;
  } catch (error) {
    return error.code === 'ESRCH';
  }
}
