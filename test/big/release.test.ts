/** What `npm run release:dry` makes, and what can be installed from that alone. Every night: archives take a minute. */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { lstat, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { homedir, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { keyOf } from '../../kube/client.js';
import { createKubeClient } from '../../kube/kubeconfig-client.js';
import { loadKubeConfig } from '../../kube/config.js';
import type { KubeObject } from '../../kube/object.js';
import { MAX_OPEN_MS, openHelm } from '../../scripts/chart/helm.js';
import { CHART, rendered } from '../../scripts/chart/renders.js';
import { TARGETS } from '../../scripts/release/command-line.js';
import { servers } from '../support/servers.js';

const run = promisify(execFile);
const MAX_BUFFER = 64 << 20;
const ARCHITECTURES: Record<string, string> = { x64: 'amd64', arm64: 'arm64' };
const here = `${process.platform}-${ARCHITECTURES[process.arch] ?? process.arch}`;
const { version } = JSON.parse(await readFile('package.json', 'utf8')) as { version: string };

let scratch: string;
/** The release, and nothing else. */
let release: string;
const file = (name: string): string => join(release, name);
const archiveOf = (target: string): string => `drover-${version}-${target}`;

beforeAll(async () => {
  scratch = await mkdtemp(join(tmpdir(), 'drover-release-test-'));
  release = join(scratch, 'release');
  await run(process.execPath, ['dist/scripts/release.js', '--dry', '--to', release], {
    maxBuffer: MAX_BUFFER,
  });
}, MAX_OPEN_MS);
afterAll(() => rm(scratch, { recursive: true, force: true }));

describe('a release', () => {
  it('has all files, each with its digest, and a signature of these', async () => {
    const names = await readdir(release);
    const checked = ['SHA256SUMS', 'SHA256SUMS.minisig', 'drover.pub'];
    const made = [
      ...TARGETS.map(({ name }) => `${archiveOf(name)}.tar.gz`),
      ...[`drover-${version}-source.tar.gz`, `drover-${version}.tgz`, `drover-crds-${version}.yaml`],
      ...['dr.yaml', 'drover.cdx.json', 'NOTES.md'],
    ];
    expect(names.sort()).toEqual([...made, ...checked].sort());
    const sums = await readFile(file('SHA256SUMS'), 'utf8');
    for (const name of made) {
      const digest = createHash('sha256')
        .update(await readFile(file(name)))
        .digest('hex');
      expect(sums).toContain(`${digest}  ${name}\n`);
    }
  });

  it('is signed as OpenSSL understands it', async () => {
    const [, key = ''] = (await readFile(file('drover.pub'), 'utf8')).split('\n');
    const [, line = ''] = (await readFile(file('SHA256SUMS.minisig'), 'utf8')).split('\n');
    const at = (name: string): string => join(scratch, name);
    // The raw key in the form of X.509, whose beginning is the same for all Ed25519 keys.
    const raw = Buffer.from(key, 'base64').subarray(10);
    await writeFile(at('key.der'), Buffer.concat([Buffer.from('302a300506032b6570032100', 'hex'), raw]));
    await writeFile(at('signature'), Buffer.from(line, 'base64').subarray(10));
    const verify = async (content: Buffer): Promise<string> => {
      await writeFile(at('digest'), createHash('blake2b512').update(content).digest());
      const keyArgs = ['-verify', '-pubin', '-inkey', at('key.der'), '-keyform', 'DER'];
      const { stdout } = await run('openssl', [
        ...['pkeyutl', ...keyArgs, '-rawin', '-in', at('digest'), '-sigfile', at('signature')],
      ]);
      return stdout;
    };
    const sums = await readFile(file('SHA256SUMS'));
    expect(await verify(sums)).toContain('Signature Verified Successfully');
    await expect(verify(Buffer.concat([sums, Buffer.from('\n')]))).rejects.toThrow();
  });

  it('comes out the same when it is made again, but for its signature', async () => {
    const again = join(scratch, 'again');
    const args = ['dist/scripts/release.js', '--dry', '--to', again, '--only', here];
    await run(process.execPath, args, { maxBuffer: MAX_BUFFER });
    for (const name of [`drover-${version}-source.tar.gz`, `drover-crds-${version}.yaml`, 'NOTES.md'])
      expect(await readFile(join(again, name)), name).toEqual(await readFile(file(name)));
  });

  it('names what each archive is made of, and holds the native part of its own platform alone', async () => {
    for (const { name, platform } of TARGETS) {
      const { stdout } = await run('tar', ['-tzf', file(`${archiveOf(name)}.tar.gz`)], {
        maxBuffer: MAX_BUFFER,
      });
      const files = stdout.split('\n');
      const natives = files.filter((path) => path.endsWith('/index.node'));
      expect(natives, name).toHaveLength(1);
      expect(natives[0]).toContain(platform.os === 'linux' ? 'unknown-linux-gnu' : 'apple-darwin');
      expect(natives[0]).toContain(platform.arch === 'x64' ? 'x86_64' : 'aarch64');
      for (const part of ['sbom.cdx.json', 'THIRD-PARTY-NOTICES.txt', 'LICENSE', 'drover', 'kubectl-dr'])
        expect(files, name).toContain(`${archiveOf(name)}/${part}`);
      // Nobody but its owner may change a file, and what only bundles is not passed on.
      expect(files.filter((path) => /node_modules\/(@swc|terser|rolldown|typescript)\//.test(path))).toEqual(
        [],
      );
    }
  });
});

describe('the command line of an archive', () => {
  let folder: string;
  const drover = async (args: string[], program = join(folder, 'drover')): Promise<string> => {
    // Nothing of this tree: Node alone, and what the system has.
    const env = {
      PATH: `${dirname(process.execPath)}:/usr/bin:/bin`,
      HOME: homedir(),
      ...(process.env.XDG_CACHE_HOME !== undefined && { XDG_CACHE_HOME: process.env.XDG_CACHE_HOME }),
    };
    const { stdout } = await run(program, args, { cwd: scratch, env, maxBuffer: MAX_BUFFER });
    return stdout;
  };
  beforeAll(async () => {
    await run('tar', ['-xzf', file(`${archiveOf(here)}.tar.gz`), '-C', scratch]);
    folder = join(scratch, archiveOf(here));
  });

  it('is found through links, also as a plugin of kubectl', async () => {
    await symlink(join(archiveOf(here), 'kubectl-dr'), join(scratch, 'kubectl-dr'));
    await symlink(join(scratch, 'kubectl-dr'), join(scratch, 'kubectl-dr-again'));
    expect((await drover(['--version'])).trim()).toBe(version);
    expect(await drover(['--help'], join(scratch, 'kubectl-dr-again'))).toContain('Usage: kubectl dr ');
    expect((await lstat(join(folder, 'drover'))).mode & 0o777).toBe(0o755);
  });

  it('says what is missing without Node', async () => {
    const args = ['-c', `DROVER_NODE=no-such-node '${join(folder, 'drover')}' --version`];
    await expect(run('/bin/sh', args)).rejects.toMatchObject({
      code: 3,
      stderr: expect.stringContaining('20.19'),
    });
  });

  it('brings up the embedded default, runs a plan, undoes it, and takes all down', async () => {
    const data = ['--data-dir', join(scratch, 'data')];
    await drover(['up', ...data, '--ephemeral', '--yes']);
    try {
      await drover([...data, 'kubectl', 'apply', '-f', join(folder, 'examples', 'minimal', 'plan.yaml')]);
      await drover(['run', 'hello', ...data, '--yes', '--watch', '--name', 'first']);
      const ended = parse(
        await drover(['describe', 'execution/first', ...data, '-o', 'yaml']),
      ) as KubeObject & {
        status: object;
      };
      expect(ended.status).toMatchObject({ phase: 'Succeeded' });
      await drover(['revert', 'first', ...data, '--yes', '--watch']);
    } finally {
      await drover(['down', ...data]);
    }
  });
});

describe('chart and definitions of a release', () => {
  it('are those of the tree, and the API server takes the definitions', async () => {
    const helm = await openHelm({ home: join(scratch, 'helm'), progress: () => undefined });
    const packed = file(`drover-${version}.tgz`);
    const args = ['--namespace', 'drover-system', '--set', 'crds.install=true'];
    expect(await helm.output(['template', 'drover', packed, ...args])).toBe(
      await rendered(helm, '--set', 'crds.install=true'),
    );
    expect(await helm.output(['show', 'chart', packed])).toBe(await helm.output(['show', 'chart', CHART]));
    const kube = createKubeClient(loadKubeConfig({ file: servers.kubeconfig }));
    const documents = parseAllDocuments(await readFile(file(`drover-crds-${version}.yaml`), 'utf8'));
    const definitions = documents.map((document) => document.toJS() as KubeObject);
    expect(definitions.length).toBeGreaterThan(3);
    for (const definition of definitions) {
      const options = { kind: 'apply', dryRun: true, force: true, fieldManager: 'release-test' } as const;
      await kube.patch(keyOf(definition), definition, options);
    }
  });
});
