import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { statfs } from 'node:fs/promises';
import { dirname } from 'node:path';
import { lookup, oldestVersion, pinnedVersion, programNames, type ProgramName } from './binaries-lookup.js';
import { goTarget } from './binaries-release.js';
import { DATA_DIR_ADVICE, dataDirProblem } from './data-dir.js';
import { engineFindings } from './engines.js';
import type { Finding } from './finding.js';
import { cacheDir, dataPaths } from './paths.js';
import { formatVersion, parseVersion } from './program-version.js';
import { isPortFree } from './ports.js';
import { isAlive, processNames, readState } from './state.js';
import { status } from './status.js';

/** What to examine. */
export interface DoctorOptions {
  dataDir: string;
  /** The definitions that `up` installs; absent: nothing is said about them. */
  crdDir?: string;
  env?: NodeJS.ProcessEnv;
}

const nodeNeeded = [20, 19] as const;
const bytesForBuild = 4e9;
const bytesForData = 1e9;

/** Examines this machine and a data dir: what is missing or unreachable, and what to do. Changes nothing. */
export async function doctor(options: DoctorOptions): Promise<Finding[]> {
  const env = options.env ?? process.env;
  const programs = await lookup(programNames, env);
  const missing = programNames.filter((name) => programs.found[name] === undefined);
  return [
    ...machine(),
    ...programFindings(programs, missing),
    ...(await engineFindings(env)),
    ...(await installers(missing, env)),
    ...(await disk(options.dataDir, missing, env)),
    ...environment(env),
    ...(await dataDirFindings(options)),
  ];
}

function machine(): Finding[] {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
  const fresh = major > nodeNeeded[0] || (major === nodeNeeded[0] && minor >= nodeNeeded[1]);
  const node: Finding = fresh
    ? { subject: 'node', level: 'ok', message: process.versions.node }
    : {
        subject: 'node',
        level: 'problem',
        message: `${process.versions.node} is too old`,
        advice: `install Node.js ${nodeNeeded.join('.')} or newer`,
      };
  try {
    const { os, arch } = goTarget();
    return [node, { subject: 'machine', level: 'ok', message: `${os} ${arch}` }];
  } catch (error) {
    return [
      node,
      {
        subject: 'machine',
        level: 'problem',
        message: (error as Error).message,
        advice: 'use your own cluster and Temporal (--kubeconfig FILE, --temporal HOST:PORT)',
      },
    ];
  }
}

function programFindings(
  programs: Awaited<ReturnType<typeof lookup>>,
  missing: readonly ProgramName[],
): Finding[] {
  const found = programNames.flatMap((name): Finding[] => {
    const program = programs.found[name];
    return program === undefined
      ? []
      : [{ subject: name, level: 'ok', message: `${program.version}, ${program.path}` }];
  });
  const rejected = programs.rejected.map(({ name, path, reason }): Finding => ({
    subject: name,
    level: 'warning',
    message: `${path} is not used: ${reason}`,
    advice: `nothing needs doing: version ${pinnedVersion(name)} is used instead; one of ${oldestVersion(name)} or newer would be taken from the PATH`,
  }));
  const absent = missing.map((name): Finding => ({
    subject: name,
    level: 'warning',
    message: 'neither on the PATH nor in the cache',
    advice: `"drover up" fetches or builds version ${pinnedVersion(name)}`,
  }));
  return [...found, ...rejected, ...absent];
}

/** Go and Python matter only while something is missing that they would bring. */
async function installers(missing: readonly ProgramName[], env: NodeJS.ProcessEnv): Promise<Finding[]> {
  const buildable = missing.some((name) => name !== 'temporal');
  const go = await output('go', ['version'], env);
  const goVersion = parseVersion(
    (go ?? '').replace(/go(\d+\.\d+)(\s|$)/, 'go$1.0 ').replace('go1.', 'go 1.'),
  );
  const findings: Finding[] = [];
  if (goVersion === undefined) {
    findings.push({
      subject: 'go',
      level: buildable ? 'warning' : 'ok',
      message: 'not installed',
      ...(buildable
        ? {
            advice: 'needed only when a download does not work: install Go 1.26 or newer (https://go.dev/dl)',
          }
        : {}),
    });
  } else if (goVersion[1] < 21) {
    findings.push({
      subject: 'go',
      level: buildable ? 'warning' : 'ok',
      message: `${formatVersion(goVersion)} cannot fetch the Go 1.26 that the build asks for`,
      ...(buildable ? { advice: 'install Go 1.26 or newer (https://go.dev/dl)' } : {}),
    });
  } else {
    findings.push({ subject: 'go', level: 'ok', message: formatVersion(goVersion) });
  }
  if (missing.includes('temporal')) {
    const pip = await output('python3', ['-m', 'pip', '--version'], env);
    findings.push(
      pip === undefined
        ? {
            subject: 'python3',
            level: 'warning',
            message: 'python3 with pip is not installed',
            advice:
              'not needed when the Temporal release or the Python package index can be reached directly',
          }
        : { subject: 'python3', level: 'ok', message: pip.trim() },
    );
  }
  return findings;
}

function output(command: string, args: string[], env: NodeJS.ProcessEnv): Promise<string | undefined> {
  return new Promise((resolve) => {
    execFile(command, args, { timeout: 10_000, env }, (error, stdout) => resolve(error ? undefined : stdout));
  });
}

async function disk(
  dataDir: string,
  missing: readonly ProgramName[],
  env: NodeJS.ProcessEnv,
): Promise<Finding[]> {
  const room = async (subject: string, folder: string, needed: number, what: string): Promise<Finding> => {
    let existing = folder;
    while (!existsSync(existing)) existing = dirname(existing);
    const { bavail, bsize } = await statfs(existing);
    const free = bavail * bsize;
    const message = `${(free / 1e9).toFixed(1)} GB free at ${existing}`;
    return free >= needed
      ? { subject, level: 'ok', message }
      : {
          subject,
          level: 'problem',
          message,
          advice: `${what} needs ${(needed / 1e9).toFixed(0)} GB: free some space or choose another folder`,
        };
  };
  return [
    await room('data dir', dataPaths(dataDir).root, bytesForData, 'the data dir'),
    ...(missing.length > 0
      ? [await room('cache', cacheDir(env), bytesForBuild, 'fetching or building the programs')]
      : []),
  ];
}

function environment(env: NodeJS.ProcessEnv): Finding[] {
  const kubeconfig = env['KUBECONFIG'];
  return kubeconfig
    ? [
        {
          subject: 'KUBECONFIG',
          level: 'warning',
          message: `${kubeconfig} is ignored by "drover up"`,
          advice: 'to use that cluster, pass --use-current-cluster or --kubeconfig FILE',
        },
      ]
    : [];
}

/** After an uninstall the programs run on. */
const REINSTALL =
  'to have them again, run "drover up" with the same options; to stop what still runs, "drover down"';

async function dataDirFindings(options: DoctorOptions): Promise<Finding[]> {
  const paths = dataPaths(options.dataDir);
  const problem = await dataDirProblem(paths.root);
  if (problem !== undefined) {
    return [{ subject: 'data dir', level: 'problem', message: problem, advice: DATA_DIR_ADVICE }];
  }
  const state = await readState(paths.state);
  if (state === undefined) {
    return [{ subject: 'data dir', level: 'ok', message: `${paths.root} has not been brought up yet` }];
  }
  const found = await status(options);
  const dead = found.processes.filter((p) => p.state === 'died');
  const findings: Finding[] = [
    ...dead.map((p): Finding => ({
      subject: p.name,
      level: 'problem',
      message: `process ${p.pid} has died; its log is ${p.log}`,
      advice: 'run "drover up" with the same options again: it restarts what has died',
    })),
    ...found.services.map((s): Finding =>
      s.problem === undefined
        ? { subject: s.name, level: 'ok', message: `${s.address} answers` }
        : {
            subject: s.name,
            level: 'problem',
            message: `${s.address}: ${s.problem}`,
            advice: `look at ${paths.logs}, then run "drover up" with the same options again`,
          },
    ),
  ];
  findings.push(
    ...found.installed.map(({ name, problem }): Finding =>
      problem === undefined
        ? { subject: name, level: 'ok', message: 'installed' }
        : { subject: name, level: 'problem', message: problem, advice: REINSTALL },
    ),
  );
  if (found.summary === 'down') findings.push(...(await portFindings(state.ports)));
  for (const name of processNames) if (await isAlive(state.processes[name])) return findings;
  return [
    ...findings,
    { subject: 'data dir', level: 'ok', message: `${paths.root} is down; its data is kept` },
  ];
}

async function portFindings(ports: Partial<Record<string, number>>): Promise<Finding[]> {
  const findings: Finding[] = [];
  for (const [name, port] of Object.entries(ports)) {
    if (port === undefined || (await isPortFree(port))) continue;
    findings.push({
      subject: 'ports',
      level: 'warning',
      message: `port ${port}, used for ${name} before, is taken by another program`,
      advice: 'nothing needs doing: "drover up" chooses another and rewrites kubeconfig and endpoints.json',
    });
  }
  return findings;
}
