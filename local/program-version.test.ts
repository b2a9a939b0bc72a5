import { describe, expect, it } from 'vitest';
import { refuseVersion } from './binaries-lookup.js';
import { compareVersions, parseVersion } from './program-version.js';

describe('parseVersion', () => {
  it.each([
    ['Kubernetes v1.36.3', [1, 36, 3]],
    ['etcd Version: 3.6.14\nGit SHA: abc\nGo Version: go1.26.8', [3, 6, 14]],
    ['kwok version v0.7.0 go1.26.8 (linux/amd64)', [0, 7, 0]],
    ['temporal version 1.9.1 (Server 1.32.0, UI 2.54.1)', [1, 9, 1]],
    ['Client Version: v1.32.4-dispatcher', [1, 32, 4]],
  ])('%s', (text, version) => expect(parseVersion(text)).toEqual(version));

  it('finds nothing where there is nothing', () => {
    expect(parseVersion('usage: etcd')).toBeUndefined();
    expect(parseVersion('127.0.0.1')).toBeUndefined();
  });
});

describe('compareVersions', () => {
  it('compares numbers, not letters', () => {
    expect(compareVersions([1, 10, 0], [1, 9, 9])).toBeGreaterThan(0);
    expect(compareVersions([1, 9, 9], [2, 0, 0])).toBeLessThan(0);
    expect(compareVersions([1, 2, 3], [1, 2, 3])).toBe(0);
  });
});

describe('a program on the PATH', () => {
  it('is accepted from the oldest version on', () => {
    expect(refuseVersion('kube-apiserver', [1, 34, 0])).toBeUndefined();
    expect(refuseVersion('kube-apiserver', [1, 40, 1])).toBeUndefined();
    expect(refuseVersion('temporal', [1, 0, 0])).toBeUndefined();
  });

  it('is refused with the reason when it is older, of another major, or says nothing', () => {
    expect(refuseVersion('kube-apiserver', [1, 33, 9])).toBe('version 1.33.9 is older than 1.34.0');
    expect(refuseVersion('temporal', [2, 0, 0])).toBe('version 2.0.0: only 1.x is known to work');
    expect(refuseVersion('etcd', undefined)).toBe('it does not tell its version');
  });
});
