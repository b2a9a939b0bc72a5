import { existsSync } from 'node:fs';
import type { KubeConfig } from '@kubernetes/client-node';
import type { KubeClient } from '../../../kube/client.js';
import { type Endpoints, readEndpoints } from '../../../local/endpoints.js';
import { type DataPaths, dataPaths } from '../../../local/paths.js';
import { CliError, usageError } from './cli-error.js';
import { programName } from './program-name.js';

/** How the command line says which cluster is meant. */
export interface ClusterChoice {
  dataDir?: string;
  kubeconfig?: string;
  context?: string;
  useCurrentCluster?: boolean;
  namespace?: string;
  /** `HOST:PORT` of Temporal. */
  temporal?: string;
}

/** The cluster a command works on. */
export interface Cluster {
  kube: KubeClient;
  context: string;
  namespace: string;
  /** The embedded default it belongs to, when it was found through a data dir. */
  embedded: { paths: DataPaths; endpoints: Endpoints } | undefined;
}

/** Data dir when none is given. */
export const DEFAULT_DATA_DIR = '.drover';

/** Where a command looks for its cluster. */
export interface ClusterEnvironment {
  env: NodeJS.ProcessEnv;
  /** Whether the program was started as `kubectl dr`: then kubectl's own configuration counts. */
  asKubectlPlugin: boolean;
}

/** What kubeconfig a choice leads to, before anything is read. */
export type KubeconfigSource =
  | { kind: 'file'; file: string }
  | { kind: 'user' }
  | { kind: 'embedded'; paths: DataPaths; endpoints: Endpoints };

/**
 * Finds the cluster: what the flags say, else the data dir when it is up, else (as `kubectl dr`) what kubectl would
 * use. A KUBECONFIG in the environment alone is never used otherwise, so that nobody's production is touched by
 * accident.
 *
 * @throws CliError saying what to do when there is none.
 */
export async function openCluster(choice: ClusterChoice, environment: ClusterEnvironment): Promise<Cluster> {
  const source = await chooseKubeconfig(choice, environment);
  // Loaded on demand: it takes longer than all the rest of a short command.
  const [{ KubeConfig }, { createKubeClient }] = await Promise.all([
    import('../../../kube/client-node.js'),
    import('../../../kube/kubeconfig-client.js'),
  ]);
  const config = new KubeConfig();
  const file = load(config, source, environment.env);
  if (choice.context !== undefined) useContext(config, choice.context, file);
  const context = config.getContextObject(config.getCurrentContext());
  if (context === null || config.getCurrentCluster() === null) {
    throw new CliError(`${file} has no current context`, {
      hints: ['choose one with --context NAME, or "kubectl config use-context NAME"'],
    });
  }
  return {
    kube: createKubeClient(config),
    context: context.name,
    namespace: choice.namespace ?? context.namespace ?? 'default',
    embedded: source.kind === 'embedded' ? { paths: source.paths, endpoints: source.endpoints } : undefined,
  };
}

/**
 * Decides which kubeconfig is used; see {@link openCluster}.
 *
 * @throws CliError when flags contradict each other or nothing is there to use.
 */
export async function chooseKubeconfig(
  choice: ClusterChoice,
  environment: ClusterEnvironment,
): Promise<KubeconfigSource> {
  if (choice.kubeconfig !== undefined && choice.useCurrentCluster === true) {
    throw usageError('--kubeconfig and --use-current-cluster contradict each other', 'give one of them');
  }
  if (choice.kubeconfig !== undefined) return { kind: 'file', file: choice.kubeconfig };
  if (choice.useCurrentCluster === true) return { kind: 'user' };
  // A kubectl plugin acts where kubectl acts: a data dir must be named to be meant.
  if (environment.asKubectlPlugin && choice.dataDir === undefined) return { kind: 'user' };
  const paths = dataPaths(choice.dataDir ?? DEFAULT_DATA_DIR);
  const endpoints = await readEndpoints(paths.endpoints);
  if (endpoints !== undefined && existsSync(paths.kubeconfig)) {
    // A context that the data dir does not have can only be meant for the user's own kubeconfig.
    if (choice.context === undefined || choice.dataDir !== undefined) {
      return { kind: 'embedded', paths, endpoints };
    }
    return { kind: 'user' };
  }
  if (choice.dataDir !== undefined) throw notUp(paths.root, environment);
  if (choice.context !== undefined) return { kind: 'user' };
  throw notUp(paths.root, environment);
}

function notUp(root: string, environment: ClusterEnvironment): CliError {
  const kubeconfig = environment.env['KUBECONFIG'];
  return new CliError(`no cluster to work on: nothing is up in ${root}`, {
    hints: [
      `bring up the embedded default with "${programName(environment)} up", or name the data dir of one with --data-dir DIR`,
      'for your own cluster pass --kubeconfig FILE, --context NAME or --use-current-cluster',
      ...(kubeconfig ? [`KUBECONFIG=${kubeconfig} is not used unless you pass --use-current-cluster`] : []),
    ],
  });
}

/** Loads a kubeconfig and names where it came from. */
function load(config: KubeConfig, source: KubeconfigSource, env: NodeJS.ProcessEnv): string {
  const file =
    source.kind === 'file' ? source.file : source.kind === 'embedded' ? source.paths.kubeconfig : undefined;
  if (file === undefined) {
    const where = env['KUBECONFIG'] ? `KUBECONFIG (${env['KUBECONFIG']})` : '~/.kube/config';
    try {
      config.loadFromDefault();
    } catch (error) {
      throw new CliError(`${where} cannot be read: ${reasonOf(error)}`, { cause: error });
    }
    return where;
  }
  if (!existsSync(file)) {
    throw new CliError(`there is no kubeconfig file ${file}`, {
      hints: ['check the path after --kubeconfig'],
    });
  }
  try {
    config.loadFromFile(file);
  } catch (error) {
    throw new CliError(`kubeconfig ${file} cannot be read: ${reasonOf(error)}`, { cause: error });
  }
  return file;
}

function useContext(config: KubeConfig, name: string, file: string): void {
  const known = config.getContexts().map((context) => context.name);
  if (!known.includes(name)) {
    throw new CliError(`${file} has no context "${name}"`, {
      hints: [known.length === 0 ? 'it has none at all' : `it has: ${known.join(', ')}`],
    });
  }
  config.setCurrentContext(name);
}

const reasonOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
