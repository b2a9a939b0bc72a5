import { spawn } from 'node:child_process';
import { constants, devNull } from 'node:os';
import { lookup } from '../../../../local/index.js';
import { chooseKubeconfig } from '../cluster.js';
import { CliError } from '../cli-error.js';
import type { CommandContext } from '../context.js';

/** Takes `--data-dir` out of kubectl's arguments: the hints of other commands end with it. */
export function takeDataDir(args: readonly string[]): { args: string[]; dataDir?: string } {
  const rest: string[] = [];
  let dataDir: string | undefined;
  for (let index = 0; index < args.length; index += 1) {
    const arg = args[index] ?? '';
    // What follows "--" is a command for kubectl to run elsewhere.
    if (arg === '--')
      return { args: [...rest, ...args.slice(index)], ...(dataDir !== undefined && { dataDir }) };
    if (arg === '--data-dir') {
      index += 1;
      dataDir = args[index];
    } else if (arg.startsWith('--data-dir=')) {
      dataDir = arg.slice('--data-dir='.length);
    } else {
      rest.push(arg);
    }
  }
  return { args: rest, ...(dataDir !== undefined && { dataDir }) };
}

/** Whether these arguments only ask kubectl for help. */
export function asksForHelp(args: readonly string[]): boolean {
  const [first] = args;
  const end = args.indexOf('--');
  const own = end === -1 ? args : args.slice(0, end);
  return first === undefined || first === 'help' || own.includes('--help') || own.includes('-h');
}

/** Runs kubectl for the chosen cluster; gives kubectl's exit code. */
export async function passOn(context: CommandContext, given: readonly string[]): Promise<number> {
  const { environment } = context;
  const { args, dataDir } = takeDataDir(given);
  const options = dataDir === undefined ? context.options : { ...context.options, dataDir };
  const source = await chooseKubeconfig(options, environment).catch((error: unknown) => {
    if (asksForHelp(args)) return undefined;
    throw error;
  });
  const { found } = await lookup(['kubectl'], environment.env);
  if (found.kubectl === undefined) {
    throw new CliError('there is no kubectl on the PATH or in the cache', {
      hints: ['install kubectl, or run "drover up", which brings one along where it builds Kubernetes'],
    });
  }
  const env = { ...environment.env };
  // Help needs no cluster; kubectl is kept from finding one that was not chosen.
  if (source === undefined) env['KUBECONFIG'] = devNull;
  if (source?.kind === 'file') env['KUBECONFIG'] = source.file;
  if (source?.kind === 'embedded') env['KUBECONFIG'] = source.paths.kubeconfig;
  const flags = [
    ...(options.context === undefined ? [] : ['--context', options.context]),
    ...(options.namespace === undefined ? [] : ['--namespace', options.namespace]),
  ];
  return runAttached(found.kubectl.path, [...flags, ...args], env);
}

/** Runs a program on this terminal and gives its exit code. Ctrl-C reaches it by the terminal itself. */
async function runAttached(path: string, args: string[], env: NodeJS.ProcessEnv): Promise<number> {
  const ignore = (): void => undefined;
  process.on('SIGINT', ignore);
  try {
    return await new Promise<number>((resolve, reject) => {
      const child = spawn(path, args, { stdio: 'inherit', env });
      child.once('error', reject);
      child.once('exit', (code, signal) => {
        const SIGNAL_BASE = 128;
        resolve(code ?? SIGNAL_BASE + (signal === null ? 0 : constants.signals[signal]));
      });
    });
  } finally {
    process.off('SIGINT', ignore);
  }
}
