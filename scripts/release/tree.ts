/** Reads from a tree what its state is judged by. */
import { execFile } from 'node:child_process';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { parse } from 'yaml';
import type { TreeState } from './state.js';

const run = promisify(execFile);

/** Files with the name of the image, and how it stands there. */
const IMAGES: Readonly<Record<string, RegExp>> = {
  'deploy/programs/bridge.yaml': /image: drover:(\S+)/,
  'deploy/programs/worker.yaml': /image: drover:(\S+)/,
  'deploy/kustomize/drover.yaml': /image: "drover:([^"]+)"/,
  'docker-compose.yml': /image: drover:\$\{DROVER_VERSION:-([^}]+)\}/,
};

/** @param tag - tag that is to be released */
export async function readTree(root: string, tag: string | undefined): Promise<TreeState> {
  const read = (path: string): Promise<string> => readFile(join(root, path), 'utf8');
  const { version } = JSON.parse(await read('package.json')) as { version: string };
  const lock = JSON.parse(await read('package-lock.json')) as { version: string };
  const chart = parse(await read('deploy/chart/Chart.yaml')) as { version: string; appVersion: string };
  const images = await Promise.all(
    Object.entries(IMAGES).map(async ([path, form]) => [path, form.exec(await read(path))?.[1]] as const),
  );
  return {
    version,
    ...(tag !== undefined && { tag }),
    stated: {
      'package-lock.json': lock.version,
      'deploy/chart/Chart.yaml, version': chart.version,
      'deploy/chart/Chart.yaml, appVersion': chart.appVersion,
      ...Object.fromEntries(images),
    },
    changelog: await read('CHANGELOG.md'),
    histories: await readdir(join(root, 'test', 'replay', 'histories')),
    uncommitted: await uncommittedIn(root),
  };
}

async function uncommittedIn(root: string): Promise<string[]> {
  const { stdout } = await run('git', ['status', '--porcelain'], { cwd: root });
  return stdout
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => line.slice(3));
}

/** The commit that is released, and its time in seconds since the epoch. */
export async function readCommit(root: string): Promise<{ commit: string; time: number }> {
  const { stdout } = await run('git', ['log', '-1', '--format=%H %ct'], { cwd: root });
  const [commit = '', time = ''] = stdout.trim().split(' ');
  return { commit, time: Number(time) };
}
