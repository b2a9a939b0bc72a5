/** Archives of the command line: one for each platform, as the native part of the SDK of Temporal differs. */
import { chmod, copyFile, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Platform } from '../layout/packages.js';
import { layOut, type ProgramName } from '../layout/programs.js';
import { pack } from './archive.js';

/** A platform as archives, krew and images name it, and as Node does. */
export interface Target {
  /** `linux-amd64`. */
  name: string;
  os: Platform['os'];
  arch: 'amd64' | 'arm64';
  platform: Platform;
}

const ARCHITECTURES = { amd64: 'x64', arm64: 'arm64' } as const;

/** Windows is not among them: the embedded default needs processes as POSIX knows them. */
export const TARGETS: readonly Target[] = (['linux', 'darwin'] as const).flatMap((os) =>
  (['amd64', 'arm64'] as const).map((arch) => ({
    name: `${os}-${arch}`,
    os,
    arch,
    platform: { os, arch: ARCHITECTURES[arch] },
  })),
);

/** `up` starts all of them. */
const PROGRAMS: readonly ProgramName[] = ['drover', 'crd-bridge', 'worker', 'clusternet'];
/** What the command line and the embedded default read, and what hints tell people to apply. */
const FILES = [
  ...['bin/drover.js', 'deploy/crds', 'deploy/programs', 'deploy/rbac', 'deploy/webhook'],
  ...['local/build', 'local/clusternet/crds', 'examples/minimal', 'examples/switchover'],
];
/** How it may be called: `kubectl dr` finds the second one. */
const NAMES = ['drover', 'kubectl-dr'];

/**
 * Makes one archive.
 *
 * @returns its name
 */
export async function packCommandLine(options: {
  root: string;
  version: string;
  target: Target;
  folder: string;
  time: number;
}): Promise<string> {
  const { root, version, target, folder, time } = options;
  const name = `drover-${version}-${target.name}`;
  const scratch = await mkdtemp(join(tmpdir(), 'drover-release-'));
  try {
    const to = join(scratch, name);
    await mkdir(to);
    await layOut({ root, to, platform: target.platform, programs: PROGRAMS, also: FILES });
    await writeFile(join(to, 'bin', 'kubectl-dr.js'), "import './drover.js';\n");
    for (const launcher of NAMES) {
      await copyFile(join(root, 'scripts', 'release', 'launchers', 'posix.sh'), join(to, launcher));
      await chmod(join(to, launcher), 0o755);
    }
    await pack({ parent: scratch, folder: name, to: join(folder, `${name}.tar.gz`), time });
    return `${name}.tar.gz`;
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}
