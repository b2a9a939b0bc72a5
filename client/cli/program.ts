import { Command, Option } from 'commander';
import { DEFAULT_DATA_DIR, type ClusterEnvironment } from './core/cluster.js';
import { addAnswer } from './plan/commands/answer.js';
import { addBackup } from './plan/commands/backup.js';
import { addCancel } from './plan/commands/cancel.js';
import { addCheck } from './plan/commands/check.js';
import { addCodec } from './core/commands/codec.js';
import { addDescribe } from './plan/commands/describe.js';
import { addDoctor } from './core/commands/doctor.js';
import { addDown } from './core/commands/down.js';
import { addEngines } from './terraform/commands/engines.js';
import { addGet } from './plan/commands/get.js';
import { addImport } from './plan/commands/import.js';
import { addKubectl } from './core/commands/kubectl.js';
import { addLogs } from './plan/commands/logs.js';
import { addPreflight } from './plan/commands/preflight.js';
import { addResolve } from './plan/commands/resolve.js';
import { addRestore } from './plan/commands/restore.js';
import { addRevert } from './plan/commands/revert.js';
import { addRun } from './plan/commands/run.js';
import type { Perform } from './core/commands/shared.js';
import { addStatus } from './core/commands/status.js';
import { addUninstall } from './core/commands/uninstall.js';
import { addUp } from './core/commands/up.js';
import { addUpgrade } from './plan/commands/upgrade.js';
import { addValidate } from './plan/commands/validate.js';
import { addWatch } from './plan/commands/watch.js';
import { createContext, type GlobalOptions } from './core/context.js';
import { EXIT_CODE_HELP } from './core/exit-codes.js';
import { programName } from './core/program-name.js';
import type { Terminal } from './core/terminal.js';

/** What the command line is built from. */
export interface ProgramParts {
  version: string;
  environment: ClusterEnvironment;
  /** The terminal, once it is known whether colours are wanted. */
  terminal(options: { color?: boolean }): Terminal;
  /** Takes the exit code of the command that ran. */
  exit(code: number): void;
  /** Does what a command is for (default: with a context of its options); a check of command lines does nothing. */
  perform?: Perform;
}

/** The whole command line. */
export function buildProgram(parts: ProgramParts): Command {
  const { environment } = parts;
  const name = programName(environment);
  const carryOut: Perform = async (command, work) => {
    const options = command.optsWithGlobals<GlobalOptions>();
    const terminal = parts.terminal({ ...(options.color !== undefined && { color: options.color }) });
    parts.exit(await work(createContext({ terminal, environment, options })));
  };

  const { perform = carryOut } = parts;
  const program = new Command(name)
    .description(
      'Durable disaster recovery for Kubernetes: plans run as Temporal workflows and report back in their resources.',
    )
    .version(parts.version, '--version', 'print the version')
    .helpOption('-h, --help', 'show help')
    .configureHelp({ showGlobalOptions: true })
    .showSuggestionAfterError()
    .exitOverride()
    .addOption(
      new Option('--data-dir <dir>', `folder of the embedded default (default "${DEFAULT_DATA_DIR}")`),
    )
    .addOption(new Option('--kubeconfig <file>', 'use the cluster of this kubeconfig'))
    .addOption(new Option('--context <name>', 'context of the kubeconfig'))
    .addOption(
      new Option(
        '--use-current-cluster',
        'use the cluster that kubectl would use (KUBECONFIG, ~/.kube/config)',
      ),
    )
    .addOption(new Option('-n, --namespace <name>', "namespace (default: the context's)"))
    .addOption(new Option('--temporal <host:port>', 'address of Temporal'))
    .addOption(
      new Option(
        '--encryption-keys <dir|secret:ns/name>',
        'keys of encrypted Temporal payloads (also: DROVER_ENCRYPTION_KEYS)',
      ),
    )
    .addOption(new Option('--no-color', 'no colours (also: NO_COLOR=1)'));

  program.commandsGroup('The embedded default:');
  for (const add of [addUp, addDown, addStatus, addDoctor]) add(program, perform);
  program.commandsGroup('Runs:');
  for (const add of [addRun, addWatch, addCancel, addRevert, addResolve, addAnswer]) add(program, perform);
  program.commandsGroup('Looking:');
  for (const add of [addGet, addDescribe, addLogs, addCodec, addCheck, addKubectl]) add(program, perform);
  program.commandsGroup('The cluster:');
  for (const add of [addUpgrade, addBackup, addRestore, addUninstall]) add(program, perform);
  program.commandsGroup('Terraform:');
  addEngines(program, perform);
  program.commandsGroup('Files:');
  for (const add of [addValidate, addPreflight, addImport]) add(program, perform);
  for (const command of program.commands) command.copyInheritedSettings(program);

  return program.addHelpText('after', () => rootHelp(name, environment.asKubectlPlugin));
}

function rootHelp(name: string, asKubectlPlugin: boolean): string {
  const clusters = asKubectlPlugin
    ? 'The cluster is the one kubectl uses, unless --kubeconfig, --context or --data-dir says otherwise.'
    : 'The cluster is that of --kubeconfig, --context or --use-current-cluster, else that of the data dir when it is up.\nA KUBECONFIG in the environment alone is never used.';
  return `
${clusters}

Examples:
  # from nothing to a first run
  ${name} up
  ${name} kubectl apply -f examples/minimal/plan.yaml
  ${name} run hello --watch

  # look back, and undo; the name is the one that "run" has printed
  ${name} describe hello-x7k2p
  ${name} revert hello-x7k2p --watch

${EXIT_CODE_HELP}`;
}
