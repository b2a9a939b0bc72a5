import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { availableParallelism, cpus, loadavg, totalmem } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { packageRoot } from '../../runtime/package-root.js';
import type { System } from './system.js';

/** What was measured, and with what beneath it. */
export interface Versions {
  drover: string;
  /** Commit of the sources, with `+changes` where the tree was not clean; absent outside of a repository. */
  commit?: string;
  node: string;
  kubernetes: string;
  temporal?: string;
  /** Version of another controller, as it was told; absent for Drover. */
  peer?: string;
}

/** The machine that it was measured on. */
export interface Machine {
  cpu: string;
  cores: number;
  memoryGiB: number;
  platform: string;
}

const git = async (...args: string[]): Promise<string | undefined> =>
  promisify(execFile)('git', args, { cwd: packageRoot() }).then(
    ({ stdout }) => stdout.trim(),
    () => undefined,
  );

/** Asks everything for its version. */
export async function readVersions(system: System): Promise<Versions> {
  const { version } = JSON.parse(readFileSync(join(packageRoot(), 'package.json'), 'utf8')) as {
    version: string;
  };
  const [commit, changes, kubernetes, temporal] = await Promise.all([
    git('rev-parse', '--short=12', 'HEAD'),
    git('status', '--porcelain'),
    system.kube.raw<{ gitVersion: string }>({ method: 'GET', path: '/version' }),
    system.temporal?.connection.workflowService.getSystemInfo({}),
  ]);
  return {
    drover: version,
    ...(commit !== undefined && { commit: changes ? `${commit}+changes` : commit }),
    node: process.versions.node,
    kubernetes: kubernetes.gitVersion,
    ...(temporal !== undefined && { temporal: temporal.serverVersion }),
  };
}

/** This machine. */
export function readMachine(): Machine {
  return {
    cpu: cpus()[0]?.model.trim() ?? 'unknown',
    cores: availableParallelism(),
    memoryGiB: Math.round((totalmem() / 2 ** 30) * 10) / 10,
    platform: `${process.platform} ${process.arch}`,
  };
}

/** How busy the machine was: load averages over a minute. */
export interface Load {
  before: number;
  mean: number;
  max: number;
}

/** Watches the load average until it is asked for it. */
export function watchLoad(): { end(): Load } {
  const now = (): number => loadavg()[0] ?? 0;
  const before = now();
  const seen = [before];
  const timer = setInterval(() => seen.push(now()), 2000);
  return {
    end() {
      clearInterval(timer);
      seen.push(now());
      const mean = seen.reduce((total, value) => total + value, 0) / seen.length;
      const round = (value: number): number => Math.round(value * 100) / 100;
      return { before: round(before), mean: round(mean), max: round(Math.max(...seen)) };
    },
  };
}
