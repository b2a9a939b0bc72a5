import { chmod, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { fileDigest, findEngines } from './engines.js';

let folder: string;
let env: NodeJS.ProcessEnv;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'drover-engines-'));
  env = { PATH: join(folder, 'bin') };
});
afterEach(() => rm(folder, { recursive: true, force: true }));

async function program(path: string, prints: string): Promise<string> {
  const full = join(folder, path);
  await mkdir(join(full, '..'), { recursive: true });
  await writeFile(full, `#!/bin/sh\necho '${prints}'\n`);
  await chmod(full, 0o755);
  return full;
}

const found = async () =>
  (await findEngines({ ...env, PATH: `${env.PATH}:/usr/bin:/bin` })).engines.filter(({ path }) =>
    path.startsWith(folder),
  );

it('engines are those of DROVER_ENGINES, files and folders, then those of the PATH [T2.4]', async () => {
  await program('bin/terraform', 'Terraform v1.9.8');
  await program('bin/tofu', 'OpenTofu v1.12.6');
  const one = await program('one/of-our-own', 'Terraform v1.5.7');
  await program('many/terraform_1.11.4', 'Terraform v1.11.4');
  await program('many/tofu-1.9.0-rc1', 'OpenTofu v1.9.0-rc1');
  await program('many/terraform-docs', 'terraform-docs version v0.19.0');
  await program('many/README', 'Terraform v9.9.9');
  env.DROVER_ENGINES = `${one}:${join(folder, 'many')}`;
  expect((await found()).map(({ name, version, source }) => `${name} ${version} ${source}`)).toEqual([
    'terraform 1.5.7 DROVER_ENGINES',
    'terraform 1.11.4 DROVER_ENGINES',
    'opentofu 1.9.0-rc1 DROVER_ENGINES',
    'terraform 1.9.8 PATH',
    'opentofu 1.12.6 PATH',
  ]);
});

it('one program is found once, by its first name', async () => {
  const real = await program('bin/terraform', 'Terraform v1.9.8');
  await mkdir(join(folder, 'links'));
  await symlink(real, join(folder, 'links', 'terraform'));
  env.DROVER_ENGINES = join(folder, 'links');
  expect((await found()).map(({ path }) => path)).toEqual([join(folder, 'links', 'terraform')]);
});

it('what is named and is none is passed over, and it is said why [T2.4]', async () => {
  const text = join(folder, 'text');
  await writeFile(text, 'x');
  const other = await program('terraform', 'nothing of the kind');
  env.DROVER_ENGINES = [join(folder, 'absent'), text, other].join(':');
  const { passedOver } = await findEngines(env);
  expect(passedOver).toEqual([
    { path: join(folder, 'absent'), reason: 'there is nothing there' },
    { path: text, reason: 'it cannot be executed' },
    { path: other, reason: 'it does not tell the version of an engine' },
  ]);
});

it('a version is asked for without the secrets of the environment', async () => {
  await program('bin/terraform', 'Terraform v1.9.8');
  await writeFile(
    join(folder, 'bin/terraform'),
    `#!/bin/sh\necho "Terraform v1.9.8"; env > '${folder}/seen'\n`,
  );
  await findEngines({ PATH: `${folder}/bin:/usr/bin:/bin`, SECRET: 'canary' });
  const { readFile } = await import('node:fs/promises');
  expect(await readFile(join(folder, 'seen'), 'utf8')).not.toContain('canary');
});

it('the digest of a file is its SHA-256', async () => {
  const file = join(folder, 'file');
  await writeFile(file, 'abc');
  expect(await fileDigest(file)).toBe('ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad');
});
