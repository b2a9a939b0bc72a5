import {
  type Cluster,
  type ClusterChoice,
  type ClusterEnvironment,
  DEFAULT_DATA_DIR,
  openCluster,
} from './cluster.js';
import { programName } from './program-name.js';
import type { Terminal } from './terminal.js';

/** Options that every command takes. */
export type GlobalOptions = ClusterChoice & {
  color?: boolean;
  /** Folder, or `secret:NAMESPACE/NAME`, of the keys of encrypted payloads. */
  encryptionKeys?: string;
};

/** What every command gets. */
export interface CommandContext {
  terminal: Terminal;
  /** How the program is called, such as `drover` or `kubectl dr`. */
  program: string;
  environment: ClusterEnvironment;
  options: GlobalOptions;
  /** Folder of the data dir, chosen or default. */
  dataDir: string;
  readonly now: () => number;
  readonly openCluster: () => Promise<Cluster>;
  /** A command line to type next, with the flags that lead to the same cluster. */
  readonly say: (command: string) => string;
}

/** Builds what a command gets. */
export function createContext(parts: {
  terminal: Terminal;
  environment: ClusterEnvironment;
  options: GlobalOptions;
}): CommandContext {
  const { terminal, environment, options } = parts;
  const program = programName(environment);
  return {
    terminal,
    program,
    environment,
    options,
    dataDir: options.dataDir ?? DEFAULT_DATA_DIR,
    now: () => Date.now(),
    openCluster: () => openCluster(options, environment),
    say: (command) => [program, command, ...clusterFlags(options)].join(' '),
  };
}

/** `HOST:PORT` of Temporal, where an option or a variable gives it. */
export const temporalAddress = ({
  options,
  environment,
}: Pick<CommandContext, 'options' | 'environment'>): string | undefined =>
  options.temporal ?? (environment.env['TEMPORAL_ADDRESS'] || undefined);

function clusterFlags(options: GlobalOptions): string[] {
  const flags: string[] = [];
  const add = (name: string, value: string | undefined): void => {
    if (value !== undefined) flags.push(name, quoted(value));
  };
  add('-n', options.namespace);
  add('--context', options.context);
  add('--kubeconfig', options.kubeconfig);
  add('--data-dir', options.dataDir);
  add('--encryption-keys', options.encryptionKeys);
  if (options.useCurrentCluster === true) flags.push('--use-current-cluster');
  return flags;
}

/** A word as a shell reads it back. */
export const quoted = (word: string): string =>
  /^[A-Za-z0-9_./:@%+,=-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
