/** What an engine sees of its host: built, not inherited (T5.4). */
import { readFile, writeFile } from 'node:fs/promises';
import type { Variable } from '../api/terraform/operation-terms.js';
import type { RunnerOrder } from '../api/terraform/runner-order.js';
import { type FolderPaths } from './folder.js';
import { PRIVATE_FILE, makePrivate } from '../runtime/durable-files.js';

/** Of the runner's own variables, those that an engine gets where they are set. */
const TAKEN_OVER = ['LANG', 'SSL_CERT_FILE', 'SSL_CERT_DIR'] as const;
const DEFAULT_PATH = '/usr/local/bin:/usr/bin:/bin';

/**
 * The variables of an engine: ours, then those that the host passes on, then those of the workspace. Names were checked
 * when the workspace was; ours win all the same.
 *
 * @param own the runner's
 */
export function engineEnvironment(options: {
  paths: FolderPaths;
  passed: readonly string[];
  variables: readonly Variable[];
  own: NodeJS.ProcessEnv;
}): Record<string, string> {
  const { paths, passed, variables, own } = options;
  const ours: Record<string, string> = {
    PATH: own.PATH ?? DEFAULT_PATH,
    LANG: 'C.UTF-8',
    ...pick(own, TAKEN_OVER),
    HOME: paths.home,
    TMPDIR: paths.temp,
    TF_IN_AUTOMATION: '1',
    TF_INPUT: '0',
    TF_CLI_CONFIG_FILE: paths.cliConfig,
    CHECKPOINT_DISABLE: '1',
  };
  const names = passed.includes('*')
    ? Object.keys(own).filter((name) => !name.startsWith('DROVER_'))
    : passed;
  const workspace = variables.filter(({ variableType }) => variableType === 'environment');
  return {
    ...pick(own, names),
    ...Object.fromEntries(workspace.map(({ key, value }) => [key, value])),
    ...ours,
  };
}

const pick = (from: NodeJS.ProcessEnv, names: readonly string[]): Record<string, string> =>
  Object.fromEntries(
    names.flatMap((name): [string, string][] => {
      const value = from[name];
      return value === undefined ? [] : [[name, value]];
    }),
  );

/** Makes what the environment points to: home, temporary folder, and a CLI configuration that asks nobody for news. */
export async function makeEngineHome(
  paths: FolderPaths,
  order: Pick<RunnerOrder, 'cliConfigFile'>,
): Promise<void> {
  await Promise.all([makePrivate(paths.home), makePrivate(paths.temp)]);
  const given = order.cliConfigFile === undefined ? '' : await readFile(order.cliConfigFile, 'utf8');
  const own = /^\s*disable_checkpoint\s*=/m.test(given) ? '' : 'disable_checkpoint = true\n';
  await writeFile(paths.cliConfig, own + given, { mode: PRIVATE_FILE });
}
