import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { buildFolder, downloadFolder, lookup } from './binaries-lookup.js';

let folder: string;
let env: NodeJS.ProcessEnv;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'drover-lookup-'));
  await mkdir(join(folder, 'bin'));
  env = { PATH: `${join(folder, 'bin')}:/no/such/folder`, XDG_CACHE_HOME: join(folder, 'cache') };
});
afterEach(() => rm(folder, { recursive: true, force: true }));

async function program(path: string, prints: string): Promise<void> {
  await mkdir(join(path, '..'), { recursive: true });
  await writeFile(path, `#!/bin/sh\necho '${prints}'\n`);
  await chmod(path, 0o755);
}
const onPath = (name: string, prints: string): Promise<void> => program(join(folder, 'bin', name), prints);
const trio = ['kube-apiserver', 'kube-controller-manager', 'kube-scheduler'] as const;

describe('lookup', () => {
  it('finds nothing on a bare machine', async () => {
    expect(await lookup(['etcd', 'temporal', ...trio], env)).toEqual({ found: {}, rejected: [] });
  });

  it('prefers the PATH over the cache', async () => {
    await program(join(downloadFolder('temporal', env), 'temporal'), '');
    const cached = await lookup(['temporal'], env);
    expect(cached.found.temporal?.source).toBe('cache');
    await onPath('temporal', 'temporal version 1.5.0');
    const { found } = await lookup(['temporal'], env);
    expect(found.temporal).toEqual({
      path: join(folder, 'bin', 'temporal'),
      version: '1.5.0',
      source: 'path',
    });
  });

  it('uses the cache when the PATH has too old a program, and says so', async () => {
    await onPath('etcd', 'etcd Version: 3.4.1');
    await program(join(await buildFolder('kubernetes', env), 'etcd'), '');
    const { found, rejected } = await lookup(['etcd'], env);
    expect(found.etcd?.source).toBe('cache');
    expect(rejected).toEqual([
      { name: 'etcd', path: join(folder, 'bin', 'etcd'), reason: 'version 3.4.1 is older than 3.5.0' },
    ]);
  });

  it('finds Helm, which only tests and scripts use, on the PATH or as it was built', async () => {
    await onPath('helm', 'v3.17.4+gabcdef0');
    await program(join(await buildFolder('helm', env), 'helm'), '');
    const { found, rejected } = await lookup(['helm'], env);
    expect(rejected.map(({ reason }) => reason)).toEqual(['version 3.17.4 is older than 3.18.0']);
    expect(found.helm?.source).toBe('cache');
    await onPath('helm', 'v4.2.0+gabcdef0');
    expect((await lookup(['helm'], env)).found.helm).toMatchObject({ version: '4.2.0', source: 'path' });
  });

  it('takes the control plane from the PATH only as a whole', async () => {
    await onPath('kube-apiserver', 'Kubernetes v1.36.0');
    await onPath('kube-scheduler', 'Kubernetes v1.36.0');
    const partly = await lookup(trio, env);
    expect(partly.found).toEqual({});
    expect(partly.rejected.map((r) => r.name)).toEqual(['kube-apiserver', 'kube-scheduler']);
    await onPath('kube-controller-manager', 'Kubernetes v1.36.9');
    expect(Object.keys((await lookup(trio, env)).found)).toHaveLength(3);
  });

  it('does not mix minor versions', async () => {
    for (const name of trio)
      await onPath(name, name === 'kube-scheduler' ? 'Kubernetes v1.37.0' : 'Kubernetes v1.36.0');
    expect((await lookup(trio, env)).found).toEqual({});
  });
});
