/** A folder in which a reader follows a page: the repository as it is after `npm ci`, and commands as the page writes them. */
import { spawn } from 'node:child_process';
import {
  closeSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { delimiter, join, resolve } from 'node:path';
import type { Step, Walk } from '../../../scripts/manual/blocks.js';
import { shellBlocks, yamlBlocks } from '../../../scripts/manual/blocks.js';

/** Of one block. */
const LIMIT_MS = 8 * 60_000;
/** What is made by use and not a part of the repository. */
const NOT_LINKED = new Set(['.git', '.drover', '.drover-demo', 'site']);

/** Where things are on this machine. */
export interface Machine {
  kubectl: string;
  temporal: string;
  helm: string;
  /** Kubeconfig of a cluster of the reader's own. */
  ownCluster: string;
}

export interface Folder {
  /** Runs a block; resolves to what it wrote. @throws Error with all of that when it fails */
  run(text: string, step: Step): Promise<string>;
  /** Ends what blocks have left running. */
  close(): Promise<void>;
}

/** Makes the folder, with the files that a page tells to write. */
export function openFolder(path: string, walk: Walk, machine: Machine): Folder {
  mkdirSync(path, { recursive: true });
  for (const name of readdirSync('.'))
    if (!NOT_LINKED.has(name)) symlinkSync(resolve(name), join(path, name));
  const page = readFileSync(walk.page, 'utf8');
  for (const [name, at] of Object.entries(walk.files ?? {}))
    writeFileSync(join(path, name), yamlBlocks(page)[at] ?? '');
  const programs = join(path, '.programs');
  mkdirSync(programs);
  for (const [name, text] of Object.entries(stands(machine)))
    writeFileSync(join(programs, name), `#!/bin/sh\n${text}\n`, { mode: 0o755 });
  const env = {
    ...process.env,
    PATH: `${programs}${delimiter}${process.env.PATH}`,
    NO_COLOR: '1',
    HELM_CACHE_HOME: join(path, '.helm'),
    HELM_CONFIG_HOME: join(path, '.helm'),
    HELM_DATA_HOME: join(path, '.helm'),
    // Whoever runs these tests may have set them.
    TEMPORAL_ADDRESS: undefined,
    DROVER_TEST_DATA_DIR: undefined,
  };
  const groups: number[] = [];
  const exported: string[] = [];

  const sh = async (script: string, step: Step): Promise<string> => {
    const file = join(path, '.output');
    const output = openSync(file, 'w');
    const child = spawn('sh', ['-ec', [...exported, script].join('\n')], {
      cwd: path,
      env: { ...env, KUBECONFIG: step.ownCluster ? machine.ownCluster : join(path, '.drover/kubeconfig') },
      stdio: ['ignore', output, output],
      // What it leaves in the background is ended with its group.
      detached: true,
    });
    closeSync(output);
    if (child.pid !== undefined) groups.push(child.pid);
    const timer = setTimeout(() => child.kill('SIGKILL'), LIMIT_MS);
    const code = await new Promise<number | null>((done, fail) => {
      child.once('error', fail);
      child.once('exit', done);
    });
    clearTimeout(timer);
    const text = readFileSync(file, 'utf8');
    if (code !== 0)
      throw new Error(`${walk.page}: ended with ${code}:\n${script}\n---\n${text.slice(-6000)}`);
    return text;
  };

  return {
    async run(text, step) {
      if (step.before !== undefined) await sh(step.before, step);
      const script = Object.entries(step.with ?? {}).reduce((whole, [from, to]) => {
        if (!whole.includes(from)) throw new Error(`${walk.page}: no "${from}" in\n${whole}`);
        return whole.replaceAll(from, to);
      }, text);
      const output = await sh(script, step);
      // A reader has one shell for a page.
      exported.push(...script.split('\n').filter((line) => line.startsWith('export ')));
      return output;
    },
    async close() {
      await sh('drover down; drover down --data-dir .drover-demo', { begins: '' }).catch(() => undefined);
      for (const group of groups) {
        try {
          process.kill(-group, 'SIGTERM');
        } catch {
          // Nothing was left.
        }
      }
    },
  };
}

/** Blocks of a page that are run, with their steps. */
export const stepsOf = (walk: Walk): { text: string; step: Step }[] =>
  shellBlocks(walk.page, readFileSync(walk.page, 'utf8'))
    .filter(({ reason }) => reason === undefined)
    .map(({ text }, at) => ({ text, step: walk.steps[at] ?? { begins: '' } }));

/** Programs as the page calls them. Questions are answered with yes; nothing else is different. */
function stands({ kubectl, temporal, helm }: Machine): Record<string, string> {
  const real = (name: string): string =>
    `PATH=$(printf %s "$PATH" | tr ${delimiter} '\\n' | grep -v /.programs$ | paste -sd ${delimiter} -) exec ${name} "$@"`;
  return {
    drover: `case "$1" in up|run|revert|cancel|approve|check|uninstall) set -- "$@" --yes ;; esac
exec '${process.execPath}' '${resolve('bin/drover.js')}' "$@"`,
    npx: `if [ "$1" = drover ]; then shift; exec drover "$@"; fi\n${real('npx')}`,
    // The folder has what it would install.
    npm: `if [ "$1" = ci ]; then exit 0; fi\n${real('npm')}`,
    kubectl: `exec '${kubectl}' "$@"`,
    helm: `exec '${helm}' "$@"`,
    temporal: `TEMPORAL_ADDRESS=$('${process.execPath}' -p "JSON.parse(require('fs').readFileSync('.drover/endpoints.json', 'utf8')).temporal") exec '${temporal}' "$@"`,
  };
}
