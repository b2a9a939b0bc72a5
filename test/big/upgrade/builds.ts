/** Builds of Drover other than the one under test, each in a tree of its own, from real sources by the real build. */
import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { packageRoot } from '../../../runtime/package-root.js';

const run = promisify(execFile);
const MAX_BUFFER = 256 << 20;
/** What a build does not read. */
const LEFT_OUT = new Set(['node_modules', 'dist', '.git', '.drover', 'test']);

/** A built tree. */
export interface Build {
  /** For tables. */
  called: string;
  version: string;
  root: string;
}

/** Builds once, however often it is asked for. */
export function lazily(make: () => Promise<Build>): () => Promise<Build> {
  let made: Promise<Build> | undefined;
  return () => (made ??= make());
}

/** The tree that is under test, as it was built before. */
export async function thisBuild(): Promise<Build> {
  const root = packageRoot();
  return { called: 'this', version: await versionOf(root), root };
}

/** The same sources under another version, as a release with nothing but fixes would be. */
export async function buildAs(version: string): Promise<Build> {
  const root = await mkdtemp(join(tmpdir(), 'drover-build-'));
  await cp(packageRoot(), root, {
    recursive: true,
    filter: (path) => !LEFT_OUT.has(path.slice(packageRoot().length + 1).split('/')[0] ?? ''),
  });
  await mkdir(join(root, 'test'), { recursive: true });
  return build(root, { called: version, version });
}

/** An older commit, under a version of its own. */
export async function buildOlder(revision: string, version: string): Promise<Build> {
  const root = await mkdtemp(join(tmpdir(), 'drover-older-'));
  const archive = join(root, 'archive.tar');
  await git('archive', '--format=tar', '--output', archive, revision);
  await run('tar', ['-xf', archive, '-C', root]);
  return build(root, { called: revision.slice(0, 8), version });
}

/**
 * The last release, else the commit before there was a chart, which is the oldest whose programs and packages fit those of today.
 *
 * @returns undefined where this tree has no history that goes back so far, as a shallow clone
 */
export async function olderRevision(): Promise<string | undefined> {
  const tried = [
    () => git('describe', '--tags', '--match', 'v*', '--abbrev=0', 'HEAD^'),
    async () => {
      const first = await git('log', '--diff-filter=A', '--format=%H', '--', 'deploy/chart/Chart.yaml');
      const commit = first.split('\n').at(-1) ?? '';
      return commit === '' ? '' : git('rev-parse', '--verify', `${commit}^`);
    },
  ];
  for (const find of tried) {
    const found = await find().catch(() => '');
    if (found !== '') return found;
  }
  return undefined;
}

const git = async (...args: string[]): Promise<string> => {
  const { stdout } = await run('git', args, { cwd: packageRoot(), maxBuffer: MAX_BUFFER });
  return stdout.trim();
};

async function build(root: string, { called, version }: Omit<Build, 'root'>): Promise<Build> {
  const file = join(root, 'package.json');
  const manifest = JSON.parse(await readFile(file, 'utf8')) as object;
  await writeFile(file, JSON.stringify({ ...manifest, version }));
  // Hard links: the bundler looks for packages inside the tree.
  await run('cp', ['-al', join(packageRoot(), 'node_modules'), join(root, 'node_modules')]).catch(() =>
    run('cp', ['-a', join(packageRoot(), 'node_modules'), join(root, 'node_modules')]),
  );
  // Not by a script of its package.json: an older one may be called otherwise.
  for (const command of [
    ['node_modules/.bin/tsc', '-p', 'tsconfig.build.json', '--noCheck'],
    ['node', 'dist/scripts/bundle.js'],
  ] as const) {
    const [program, ...args] = command;
    await run(program, args, { cwd: root, maxBuffer: MAX_BUFFER });
  }
  return { called, version, root };
}

const versionOf = async (root: string): Promise<string> =>
  (JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as { version: string }).version;
