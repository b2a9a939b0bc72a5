/** What an installation is made of: pinned packages, a bill of materials, and pods that need no privilege. */
import { execFile } from 'node:child_process';
import { readFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import type { KubeObject } from '../../kube/object.js';
import { openStack } from '../support/stack.js';
import type { Stack } from '../support/stack.js';

const run = promisify(execFile);

interface Lock {
  packages: Record<
    string,
    { version?: string; integrity?: string; dev?: boolean; hasInstallScript?: boolean; link?: boolean }
  >;
}

const readLock = async (): Promise<[string, Lock['packages'][string]][]> => {
  const lock = JSON.parse(await readFile('package-lock.json', 'utf8')) as Lock;
  return Object.entries(lock.packages).filter(([path]) => path !== '');
};

const documents = async (file: string): Promise<KubeObject[]> =>
  parseAllDocuments(await readFile(file, 'utf8'), { merge: true }).map(
    (document) => document.toJSON() as KubeObject,
  );

describe('packages', () => {
  it('are pinned by version and digest, all of them', async () => {
    const loose = (await readLock()).filter(
      ([, { version, integrity }]) => !version || !integrity?.startsWith('sha512-'),
    );
    expect(loose.map(([path]) => path)).toEqual([]);
  });

  it('need no install script to run', async () => {
    const scripted = (await readLock()).filter(
      ([, { hasInstallScript, dev }]) => hasInstallScript === true && dev !== true,
    );
    // protobufjs prints advice in its own, and @swc/core looks for a binary that comes as a package of its own.
    expect(scripted.map(([path]) => path).filter((path) => !/\/(protobufjs|@swc\/core)$/.test(path))).toEqual(
      [],
    );
  });

  it('stand in the bill of materials', async () => {
    const { stdout } = await run('npm', ['sbom', '--sbom-format', 'cyclonedx'], {
      maxBuffer: 64 * 1024 * 1024,
    });
    const bom = JSON.parse(stdout) as { bomFormat: string; components: { purl: string }[] };
    expect(bom.bomFormat).toBe('CycloneDX');
    const listed = new Set(bom.components.map(({ purl }) => decodeURIComponent(purl.split('?')[0] ?? '')));
    for (const name of ['@temporalio/worker', '@kubernetes/client-node', 'undici', 'zod']) {
      const { version } = JSON.parse(await readFile(`node_modules/${name}/package.json`, 'utf8')) as {
        version: string;
      };
      expect(listed).toContain(`pkg:npm/${name}@${version}`);
    }
  });
});

describe('workflows', () => {
  it('use every action by the digest of a commit: a tag can be moved', async () => {
    const folder = '.github/workflows';
    for (const file of await readdir(folder)) {
      const used = (await readFile(join(folder, file), 'utf8')).matchAll(/uses: (\S+)(.*)/g);
      for (const [, action, note] of used) {
        expect(action, file).toMatch(/^[\w.-]+\/[\w./-]+@[0-9a-f]{40}$/);
        expect(note, `${file}: ${action}`).toMatch(/^ # v\d+\.\d+\.\d+$/);
      }
    }
  });
});

describe('pods', () => {
  let stack: Stack;
  beforeAll(async () => {
    stack = await openStack('restricted');
    await stack.kube.patch(
      { apiVersion: 'v1', kind: 'Namespace', name: stack.namespace },
      { metadata: { labels: { 'pod-security.kubernetes.io/enforce': 'restricted' } } },
      { kind: 'merge' },
    );
  });
  afterAll(() => stack.close());

  it.each(['bridge', 'worker'])('of the %s pass the restricted pod security standard', async (program) => {
    const objects = await documents(`deploy/programs/${program}.yaml`);
    const deployment = objects.find(({ kind }) => kind === 'Deployment') as unknown as {
      spec: {
        template: { spec: { serviceAccountName?: string; containers: { securityContext: unknown }[] } };
      };
    };
    const { spec } = deployment.spec.template;
    expect(spec.containers[0]?.securityContext).toMatchObject({
      readOnlyRootFilesystem: true,
      allowPrivilegeEscalation: false,
      capabilities: { drop: ['ALL'] },
    });
    const pod = (change: object): Promise<unknown> =>
      stack.kube.create(
        {
          apiVersion: 'v1',
          kind: 'Pod',
          metadata: { name: program, namespace: stack.namespace },
          spec: { ...spec, serviceAccountName: 'default', ...change },
        },
        { dryRun: true },
      );
    await pod({});
    await expect(pod({ hostNetwork: true })).rejects.toThrow(/violates PodSecurity "restricted/);
  });

  it('reach nothing and are reached by nothing that no policy names', async () => {
    const policies = (await documents('deploy/programs/network-policy.yaml')) as unknown as {
      metadata: { name: string; namespace: string };
      spec: { podSelector: object; policyTypes: string[]; ingress?: unknown; egress?: unknown };
    }[];
    for (const policy of policies) {
      await stack.kube.create(
        { ...policy, metadata: { ...policy.metadata, namespace: stack.namespace } },
        { dryRun: true },
      );
    }
    expect(policies[0]?.spec).toEqual({ podSelector: {}, policyTypes: ['Ingress', 'Egress'] });
  });
});
