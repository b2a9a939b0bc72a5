/** What an installation is made of: pinned packages, a bill of materials, and pods that need no privilege. */
import { execFile } from 'node:child_process';
import { readFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
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
  it('are pinned by version and digest, all of them [SEC14]', async () => {
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

  it('stand in the bill of materials [SEC14]', async () => {
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

interface Workflow {
  on: Record<string, unknown>;
  permissions?: Record<string, string>;
  jobs: Record<
    string,
    {
      permissions?: Record<string, string>;
      steps: { uses?: string; run?: string; with?: Record<string, unknown> }[];
    }
  >;
}

const WORKFLOWS = '.github/workflows';
const readWorkflow = async (file: string): Promise<Workflow> =>
  parse(await readFile(join(WORKFLOWS, file), 'utf8')) as Workflow;
const stepsOf = ({ jobs }: Workflow) => Object.values(jobs).flatMap(({ steps }) => steps);
/** What a workflow does, one line a step: the action without its version, or the command. */
const doings = (workflow: Workflow): string[] =>
  stepsOf(workflow).map(({ uses, run: command }) => uses?.split('@', 1)[0] ?? command ?? '');

describe('workflows', () => {
  it('may read and nothing more, but for the steps of a release and the report of a scan [SEC14]', async () => {
    const files = await readdir(WORKFLOWS);
    for (const file of files) {
      const workflow = await readWorkflow(file);
      expect(workflow.permissions, file).toEqual({ contents: 'read' });
      // A pull request of a stranger must not run with the rights of the repository.
      expect(Object.keys(workflow.on), file).not.toContain('pull_request_target');
      for (const [name, { permissions = {} }] of Object.entries(workflow.jobs)) {
        const writes = Object.keys(permissions).filter((scope) => permissions[scope] !== 'read');
        if (file === 'release.yaml') continue;
        expect(writes, `${file}: ${name}`).toEqual(name === 'code' ? ['security-events'] : []);
      }
      for (const { uses, with: options } of stepsOf(workflow)) {
        if (uses?.startsWith('actions/checkout@') === true)
          expect(options, file).toMatchObject({ 'persist-credentials': false });
      }
      // Nothing that somebody else may write stands in a command.
      expect(doings(workflow).join('\n')).not.toMatch(/\$\{\{\s*github\.(event|head_ref|actor)/);
    }
    expect(files).toEqual(expect.arrayContaining(['ci.yaml', 'release.yaml']));
  });

  it('let nothing in and nothing out with a known hole [SEC14]', async () => {
    for (const file of ['ci.yaml', 'release.yaml']) {
      expect(doings(await readWorkflow(file)), file).toContain('npm run audit');
    }
    const ci = await readWorkflow('ci.yaml');
    expect(doings(ci)).toEqual(
      expect.arrayContaining(['npm audit signatures', 'github/codeql-action/analyze']),
    );
    // Holes are found without a commit.
    expect(ci.on).toHaveProperty('schedule');
    const { scripts } = JSON.parse(await readFile('package.json', 'utf8')) as {
      scripts: Record<string, string>;
    };
    expect(scripts.audit).toMatch(/^npm audit --omit dev --audit-level (low|moderate|high)$/);
  });

  it('release an image with its bill of materials and where it comes from, signed without a key [SEC14]', async () => {
    const release = await readWorkflow('release.yaml');
    const done = doings(release);
    const isImage = (command: string): boolean => command.includes('docker buildx bake');
    expect(done.find(isImage)).toContain('--file deploy/docker-bake.hcl --push');
    const bake = await readFile('deploy/docker-bake.hcl', 'utf8');
    expect(bake).toMatch(/^ +attest = \["type=sbom", "type=provenance,mode=max"\]$/m);
    expect(bake).toMatch(/^ +platforms +=.*"linux\/amd64", "linux\/arm64"/m);
    for (const what of ['actions/attest-build-provenance', 'actions/attest-sbom']) {
      const step = stepsOf(release).find(({ uses }) => uses?.startsWith(`${what}@`));
      expect(step?.with).toMatchObject({ 'push-to-registry': true });
      expect(String(step?.with?.['subject-digest'])).toContain('.outputs.digest');
    }
    // What is known to be bad is not built.
    expect(done.indexOf('npm run audit')).toBeLessThan(done.findIndex(isImage));
    expect(done.indexOf('npm ci')).toBeLessThan(done.indexOf('npm run audit'));
    const isMade = (command: string): boolean => command.includes('npm run release -- ');
    expect(done.indexOf('npm run audit')).toBeLessThan(done.findIndex(isMade));
    expect(
      stepsOf(release).some(({ with: options }) => options?.['subject-checksums'] === 'release/SHA256SUMS'),
    ).toBe(true);
    expect(release.jobs.release?.permissions).toMatchObject({ 'id-token': 'write', attestations: 'write' });
  });

  it('use every action by the digest of a commit: a tag can be moved [SEC14]', async () => {
    for (const file of await readdir(WORKFLOWS)) {
      const used = (await readFile(join(WORKFLOWS, file), 'utf8')).matchAll(/uses: (\S+)(.*)/g);
      for (const [, action, note] of used) {
        expect(action, file).toMatch(/^[\w.-]+\/[\w./-]+@[0-9a-f]{40}$/);
        expect(note, `${file}: ${action}`).toMatch(/^ # v\d+\.\d+\.\d+$/);
      }
    }
  });
});

describe('the image', () => {
  it('is built on a digest, with the lockfile, and runs as nobody in particular [SEC14]', async () => {
    const lines = (await readFile('deploy/Dockerfile', 'utf8')).split('\n');
    const from = lines.filter((line) => line.startsWith('FROM '));
    expect(from.length).toBeGreaterThan(1);
    for (const line of from)
      expect(line).toMatch(/^FROM (--platform=\$BUILDPLATFORM )?\S+:\S+@sha256:[0-9a-f]{64}( AS \w+)?$/);
    // No shell and no package manager for whoever gets in.
    expect(from.at(-1)).toMatch(/^FROM gcr\.io\/distroless\/nodejs\d+-debian\d+:nonroot@/);
    // An address may serve something else tomorrow.
    expect(lines.filter((line) => line.startsWith('ADD '))).toEqual([]);
    expect(lines.some((line) => line.startsWith('RUN npm ci '))).toBe(true);
    const last = lines.slice(lines.lastIndexOf(from.at(-1) ?? ''));
    expect(last.filter((line) => line.startsWith('USER '))).toEqual(['USER 1000:1000']);
    expect(last.findIndex((line) => line.startsWith('USER '))).toBeLessThan(
      last.findIndex((line) => line.startsWith('ENTRYPOINT ')),
    );
    // What runs first passes signals on, and reaps.
    expect(last.find((line) => line.startsWith('ENTRYPOINT '))).toContain('["/usr/bin/tini", "--", ');
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

  it.each(['bridge', 'worker'])(
    'of the %s pass the restricted pod security standard [SEC14]',
    async (program) => {
      const objects = await documents(`deploy/programs/${program}.yaml`);
      const deployment = objects.find(({ kind }) => kind === 'Deployment') as unknown as {
        spec: {
          template: { spec: { serviceAccountName?: string; containers: { securityContext: unknown }[] } };
        };
      };
      const { spec } = deployment.spec.template;
      expect(spec).toMatchObject({
        securityContext: { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } },
      });
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
    },
  );

  it('reach nothing and are reached by nothing that no policy names [SEC14]', async () => {
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
