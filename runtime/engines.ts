/** Which engines this machine has (T2.4): in the places that `DROVER_ENGINES` names, then on the PATH. */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { constants, createReadStream } from 'node:fs';
import { access, readdir, realpath, stat } from 'node:fs/promises';
import { basename, delimiter, join } from 'node:path';

/** A program that says that it is an engine. */
export interface InstalledEngine {
  name: 'terraform' | 'opentofu';
  /** Such as `1.11.4`. */
  version: string;
  path: string;
  /** Where it was looked for. */
  source: 'DROVER_ENGINES' | 'PATH';
}

/** A place or a program that is of no use, and why. */
export interface PassedOver {
  path: string;
  reason: string;
}

/** Names that engines have in a folder, such as `terraform`, `terraform_1.5.7`, `tofu`. */
const ENGINE_FILE = /^(terraform|tofu|opentofu)([_-]?v?\d[\w.+-]*)?$/;
const VERSION_LINE = /^(Terraform|OpenTofu) v(\d+\.\d+\.\d+(?:-[\w.]+)?)/;
const VERSION_TIMEOUT_MS = 20_000;

/**
 * Looks for engines and asks each for its version. `DROVER_ENGINES` lists programs and folders, separated as in PATH; in a
 * folder programs count that are called `terraform…`, `tofu…`; on the PATH `terraform` and `tofu`.
 */
export async function findEngines(
  env: NodeJS.ProcessEnv,
): Promise<{ engines: InstalledEngine[]; passedOver: PassedOver[] }> {
  const passedOver: PassedOver[] = [];
  const candidates: { path: string; source: InstalledEngine['source'] }[] = [];
  for (const place of (env.DROVER_ENGINES ?? '').split(delimiter).filter((each) => each !== '')) {
    const found = await programsIn(place);
    if ('reason' in found) passedOver.push(found);
    else candidates.push(...found.paths.map((path) => ({ path, source: 'DROVER_ENGINES' as const })));
  }
  for (const folder of (env.PATH ?? '').split(delimiter).filter((each) => each !== '')) {
    for (const name of ['terraform', 'tofu']) {
      const path = join(folder, name);
      if (await isProgram(path)) candidates.push({ path, source: 'PATH' });
    }
  }
  const engines: InstalledEngine[] = [];
  const seen = new Set<string>();
  for (const { path, source } of candidates) {
    const real = await realpath(path);
    if (seen.has(real)) continue;
    seen.add(real);
    const told = await askVersion(path, env);
    if (told === undefined) passedOver.push({ path, reason: 'it does not tell the version of an engine' });
    else engines.push({ ...told, path, source });
  }
  return { engines, passedOver };
}

async function programsIn(place: string): Promise<{ paths: string[] } | PassedOver> {
  const found = await stat(place).catch(() => undefined);
  if (found === undefined) return { path: place, reason: 'there is nothing there' };
  if (!found.isDirectory()) {
    return (await isProgram(place)) ? { paths: [place] } : { path: place, reason: 'it cannot be executed' };
  }
  const paths = (await readdir(place)).sort().map((name) => join(place, name));
  const programs = await Promise.all(
    paths.map(async (path) => ENGINE_FILE.test(basename(path)) && (await isProgram(path))),
  );
  return { paths: paths.filter((_, index) => programs[index]) };
}

async function isProgram(path: string): Promise<boolean> {
  const found = await stat(path).catch(() => undefined);
  if (found?.isFile() !== true) return false;
  return access(path, constants.X_OK).then(
    () => true,
    () => false,
  );
}

/** Asks a program for its name and version; undefined where it is no engine. */
function askVersion(
  path: string,
  env: NodeJS.ProcessEnv,
): Promise<Pick<InstalledEngine, 'name' | 'version'> | undefined> {
  // Neither a user's configuration nor a question to the makers' server has a say in this.
  const own = {
    PATH: env.PATH ?? '',
    HOME: '/nonexistent',
    CHECKPOINT_DISABLE: '1',
    TF_CLI_CONFIG_FILE: '/dev/null',
  };
  return new Promise((resolve) => {
    execFile(path, ['version'], { timeout: VERSION_TIMEOUT_MS, env: own }, (error, stdout) => {
      const [, name, version] = (error === null ? VERSION_LINE.exec(stdout) : null) ?? [];
      resolve(
        version === undefined ? undefined : { name: name === 'OpenTofu' ? 'opentofu' : 'terraform', version },
      );
    });
  });
}

/** SHA-256 of a program's file, in hexadecimal digits. */
export async function fileDigest(path: string): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of createReadStream(path, { highWaterMark: 1 << 20 })) hash.update(chunk as Buffer);
  return hash.digest('hex');
}
