import { execFile } from 'node:child_process';

/** A parsed `major.minor.patch`. */
export type Version = readonly [major: number, minor: number, patch: number];

/**
 * Finds the first version number in what a program printed for `--version`
 * (`Kubernetes v1.36.3`, `etcd Version: 3.6.14`, `temporal version 1.9.1 (Server …)`).
 */
export function parseVersion(text: string): Version | undefined {
  const match = /(?:^|[^\d.])v?(\d+)\.(\d+)\.(\d+)(?!\.?\d)/.exec(text);
  return match === null ? undefined : [Number(match[1]), Number(match[2]), Number(match[3])];
}

/** Negative, zero or positive, as `a` is older than, equal to or newer than `b`. */
export function compareVersions(a: Version, b: Version): number {
  return a[0] - b[0] || a[1] - b[1] || a[2] - b[2];
}

/** The usual way to write a version. */
export function formatVersion(version: Version): string {
  return version.join('.');
}

/**
 * Runs a program to learn its version.
 *
 * @returns undefined when it cannot be run within 10 s or prints no version.
 */
export function programVersion(path: string, args: string[] = ['--version']): Promise<Version | undefined> {
  return new Promise((resolve) => {
    execFile(path, args, { timeout: 10_000 }, (error, stdout, stderr) =>
      resolve(error ? undefined : parseVersion(`${stdout}\n${stderr}`)),
    );
  });
}
