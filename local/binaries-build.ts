import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cp, mkdir, mkdtemp, readFile, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { packageRoot } from '../runtime/package-root.js';
import { versions } from './versions.js';

/** A program that `go build` makes from a module committed here. */
export interface BuildRecipe {
  /** Name of the program, and of the folder under `local/build/`. */
  name: 'kubernetes' | 'kwok' | 'helm' | 'opentofu' | 'promtool';
  version: string;
  /** The Go package to build. */
  target: string;
  ldflags: string;
  /** Build tags. */
  tags?: string;
  /** Names under which the program is to be found besides its own; it acts by the name it is called by. */
  aliases: readonly string[];
  /** For a person who waits: what a first build takes. */
  expectation: string;
}

const [major, minor] = versions.kubernetes.split('.');
const versionPackage = 'k8s.io/component-base/version';

/** The recipes, by name. */
export const recipes: Readonly<Record<BuildRecipe['name'], BuildRecipe>> = {
  kubernetes: {
    name: 'kubernetes',
    version: versions.kubernetes,
    target: '.',
    // Without its version the API server calls itself v0.0.0 and clients misbehave.
    ldflags: [
      '-s -w',
      `-X ${versionPackage}.gitVersion=v${versions.kubernetes}`,
      `-X ${versionPackage}.gitMajor=${major}`,
      `-X ${versionPackage}.gitMinor=${minor}`,
    ].join(' '),
    aliases: ['etcd', 'kube-apiserver', 'kube-controller-manager', 'kube-scheduler', 'kubectl'],
    expectation: 'a first build takes 4 to 10 minutes, about 2.5 GB of disk and 3 GB of memory',
  },
  kwok: {
    name: 'kwok',
    version: versions.kwok,
    target: 'sigs.k8s.io/kwok/cmd/kwok',
    ldflags: '-s -w',
    aliases: [],
    expectation: 'a first build takes 1 to 3 minutes',
  },
  helm: {
    name: 'helm',
    version: versions.helm,
    target: 'helm.sh/helm/v4/cmd/helm',
    ldflags: `-s -w -X helm.sh/helm/v4/internal/version.version=v${versions.helm}`,
    aliases: [],
    expectation: 'a first build takes 2 to 7 minutes',
  },
  opentofu: {
    name: 'opentofu',
    version: versions.opentofu,
    target: 'github.com/opentofu/opentofu/cmd/tofu',
    ldflags: '-s -w',
    aliases: ['tofu'],
    expectation: 'a first build takes 3 to 10 minutes',
  },
  promtool: {
    name: 'promtool',
    version: versions.prometheus,
    target: 'github.com/prometheus/prometheus/cmd/promtool',
    ldflags: `-s -w -X github.com/prometheus/common/version.Version=${versions.prometheus}`,
    // It finds no targets here: what it would need for that is left out.
    tags: 'remove_all_sd',
    aliases: [],
    expectation: 'a first build takes 3 to 6 minutes',
  },
};

/** Where a recipe's committed module is. */
export function recipeFolder(recipe: BuildRecipe): string {
  return join(packageRoot(), 'local', 'build', recipe.name);
}

/** A short digest of everything that decides what a recipe builds, so that a changed recipe is built anew. */
export async function recipeDigest(recipe: BuildRecipe): Promise<string> {
  const hash = createHash('sha256').update(JSON.stringify(recipe.ldflags));
  if (recipe.tags !== undefined) hash.update(recipe.tags);
  const folder = recipeFolder(recipe);
  for (const file of (await readdir(folder)).sort()) {
    hash.update(file).update(await readFile(join(folder, file)));
  }
  return hash.digest('hex').slice(0, 8);
}

/**
 * Builds a recipe into `output`. Go's own module and build caches are used, so
 * that a second build is quick.
 *
 * @throws Error with the last lines of Go's output.
 */
export async function goBuild(recipe: BuildRecipe, output: string): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'drover-build-'));
  try {
    // Built from a copy: the package's folder may be read-only.
    await cp(recipeFolder(recipe), folder, { recursive: true });
    await mkdir(join(output, '..'), { recursive: true });
    await run(
      'go',
      [
        ...['build', '-trimpath', '-buildvcs=false', '-ldflags', recipe.ldflags],
        ...(recipe.tags === undefined ? [] : ['-tags', recipe.tags]),
        ...['-o', output, recipe.target],
      ],
      folder,
    );
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function run(command: string, args: string[], cwd: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const env = { ...process.env, CGO_ENABLED: '0', GOFLAGS: '', GOWORK: 'off' };
    const child = spawn(command, args, { cwd, env, stdio: ['ignore', 'ignore', 'pipe'] });
    let tail = '';
    child.stderr.on('data', (chunk: Buffer) => (tail = (tail + chunk.toString()).slice(-2000)));
    child.once('error', (error: NodeJS.ErrnoException) =>
      reject(error.code === 'ENOENT' ? new Error('Go is not installed (https://go.dev/dl)') : error),
    );
    child.once('close', (code, signal) =>
      code === 0
        ? resolve()
        : reject(new Error(`go build ended with ${signal ?? `code ${code}`}: ${tail.trim()}`)),
    );
  });
}
