import { delimiter, dirname, join } from 'node:path';
import { fileDigest, findEngines, type InstalledEngine } from '../runtime/engines.js';
import { buildFolder, isExecutable } from './binaries-lookup.js';
import type { Finding } from './finding.js';

/**
 * An environment in which the OpenTofu that `drover engines build` has made is found too, after all that
 * `DROVER_ENGINES` names.
 */
export async function withBuiltEngine(env: NodeJS.ProcessEnv): Promise<NodeJS.ProcessEnv> {
  const program = join(await buildFolder('opentofu', env), 'tofu');
  if (!(await isExecutable(program))) return env;
  const places = [env.DROVER_ENGINES ?? '', dirname(program)].filter((place) => place !== '');
  return { ...env, DROVER_ENGINES: places.join(delimiter) };
}

/** What `doctor` says of engines: which are there, of what version and digest, and what to do where none is. */
export async function engineFindings(env: NodeJS.ProcessEnv): Promise<Finding[]> {
  const { engines, passedOver } = await findEngines(await withBuiltEngine(env));
  const found = await Promise.all(engines.map(describeEngine));
  return [
    ...found.map((message): Finding => ({ subject: 'engine', level: 'ok', message })),
    ...passedOver.map(({ path, reason }): Finding => ({
      subject: 'engine',
      level: 'warning',
      message: `${path} is not used: ${reason}`,
      advice: 'correct DROVER_ENGINES: it lists programs, and folders of programs called terraform… or tofu…',
    })),
    ...(engines.length > 0
      ? []
      : [
          {
            subject: 'engine',
            level: 'warning',
            message: 'no terraform and no tofu, neither in DROVER_ENGINES nor on the PATH',
            advice:
              'only Terraform runs need one: install one, or build OpenTofu with "drover engines build"',
          } satisfies Finding,
        ]),
  ];
}

/** `terraform 1.11.4, /usr/local/bin/terraform, sha256 0123456789ab`. */
export async function describeEngine({ name, version, path }: InstalledEngine): Promise<string> {
  const digest = await fileDigest(path).catch(() => undefined);
  return `${name} ${version}, ${path}, ${digest === undefined ? 'unreadable' : `sha256 ${digest.slice(0, 12)}`}`;
}
