import { existsSync } from 'node:fs';
import { join } from 'node:path';
import {
  down,
  supervise,
  up,
  type ChildCommand,
  UpInterrupted,
  type UpOptions,
  type UpResult,
} from '../../../../local/index.js';
import { nodeProgram } from '../../../../local/node-program.js';
import { packageRoot } from '../../../../runtime/package-root.js';
import { CliError, usageError } from '../cli-error.js';
import { confirmIntent } from '../confirm.js';
import type { CommandContext } from '../context.js';
import { EXIT } from '../exit-codes.js';
import { onInterrupt } from '../interrupt.js';
import { printProgress } from '../local-progress.js';
import { printValue } from '../output.js';
import type { OutputFormat } from '../output-format.js';
import { fieldLines } from '../render/fields.js';

/** Options of `drover up`. */
export interface UpFlags {
  ephemeral?: boolean;
  foreground?: boolean;
  temporalNamespace?: string;
  yes?: boolean;
  output?: OutputFormat;
}

/** Brings up the embedded default; with `--foreground` stays until Ctrl-C. */
export async function bringUp(context: CommandContext, flags: UpFlags): Promise<number> {
  const { terminal, options: global } = context;
  if (global.context !== undefined) {
    throw usageError(
      'up takes the current context of a kubeconfig; --context does not go with it',
      'choose it with "kubectl config use-context NAME", or give a --kubeconfig that has it as its current one',
    );
  }
  const root = packageRoot();
  const options: UpOptions = {
    dataDir: context.dataDir,
    crdDir: join(root, 'deploy', 'crds'),
    bridge: programOf(root, 'crd-bridge'),
    worker: programOf(root, 'worker'),
    progress: printProgress(terminal),
    env: context.environment.env,
    ...(flags.ephemeral === true && { ephemeral: true }),
    ...(global.kubeconfig !== undefined && { kubeconfig: global.kubeconfig }),
    ...(global.useCurrentCluster === true && { useCurrentCluster: true }),
    ...(global.temporal !== undefined && { temporal: global.temporal }),
    ...(flags.temporalNamespace !== undefined && { temporalNamespace: flags.temporalNamespace }),
    async confirm(what) {
      await confirmIntent(terminal, { question: 'Go ahead?', facts: [['change', what]] }, flags.yes === true);
      return true;
    },
  };
  const interrupt = onInterrupt();
  const result = await upUnlessInterrupted(context, options, interrupt);
  if (flags.output === undefined) tell(context, result);
  else
    await printValue(
      terminal,
      { kubeconfig: result.kubeconfig, kubectl: result.kubectl, ...result.endpoints },
      flags.output,
    );
  if (flags.foreground !== true) {
    interrupt.dispose();
    return EXIT.ok;
  }

  terminal.note('staying; Ctrl-C takes all of it down');
  const end = await supervise({ ...options, signal: interrupt.signal });
  interrupt.dispose();
  if (end === 'aborted') await down({ dataDir: context.dataDir, progress: options.progress });
  return EXIT.ok;
}

/** Ctrl-C in the middle leaves nothing behind that was not there before. */
async function upUnlessInterrupted(
  { terminal }: CommandContext,
  options: UpOptions,
  interrupt: ReturnType<typeof onInterrupt>,
): Promise<UpResult> {
  const tellAbort = (): void => {
    if (!interrupt.interrupted()) return;
    terminal.note(
      'interrupted: stopping what was started; a second Ctrl-C ends at once and leaves it running, for "down" to stop',
    );
  };
  interrupt.signal.addEventListener('abort', tellAbort);
  try {
    return await up({ ...options, signal: interrupt.signal });
  } catch (error) {
    if (!(error instanceof UpInterrupted)) throw error;
    throw new CliError(error.message, { exitCode: EXIT.interrupted, cause: error });
  } finally {
    interrupt.signal.removeEventListener('abort', tellAbort);
  }
}

function programOf(root: string, room: 'crd-bridge' | 'worker'): ChildCommand {
  const main = join(root, 'dist', 'programs', `${room}.js`);
  if (!existsSync(main)) {
    throw new CliError(`${main} is not there: the package has not been built`, {
      hints: ['run "npm run build"'],
    });
  }
  return nodeProgram(room, main);
}

function tell(context: CommandContext, result: UpResult): void {
  const { terminal } = context;
  const { endpoints, kubeconfig, started, elapsedSeconds } = result;
  const style = terminal.outStyle;
  const head = started.length === 0 ? 'all was up already' : `up after ${elapsedSeconds} s`;
  terminal.out(`${style.sign('Succeeded')} ${style.bold(head)}`);
  const lines = fieldLines(
    [
      ['kubeconfig', kubeconfig],
      ['Kubernetes', endpoints.kubernetes],
      ['Temporal', `${endpoints.temporal}, namespace ${endpoints.temporalNamespace}`],
      ['Web UI', endpoints.temporalUi ?? undefined],
    ],
    style,
  );
  for (const line of lines) terminal.out(`  ${line}`);
  terminal.out('Next:');
  terminal.out(`  ${context.say('kubectl apply -f examples/minimal/plan.yaml')}`);
  terminal.out(`  ${context.say('run hello --watch')}`);
  terminal.out(`  export KUBECONFIG=${kubeconfig}   # for kubectl itself`);
}
