import type { Client } from '@temporalio/client';
import type { DRPlanExecution } from '../../../api/plan/types.js';
import { CliError } from './cli-error.js';
import type { Cluster } from './cluster.js';
import type { CommandContext } from './context.js';
import { clientDataConverter } from './encryption.js';
import type { Runs } from '../../runs/runs.js';

/** A Temporal that a command talks to. */
export interface TemporalAccess {
  client: Client;
  runs: Runs;
  address: string;
  close(): Promise<void>;
}

/** Where a run's Temporal is. */
export interface TemporalTarget {
  address: string;
  namespace: string;
  /** Whether the standard TEMPORAL_* configuration gives the rest: TLS, API key, headers. */
  fromEnvironment: boolean;
}

const CONNECT_TIMEOUT_MS = 3000;
const DEFAULT_NAMESPACE = 'default';

/**
 * Finds the Temporal of a run: `--temporal`, else the one of the data dir, else the standard TEMPORAL_* variables.
 * Undefined when none of them names one.
 */
export function temporalTarget(
  context: Pick<CommandContext, 'options' | 'environment'>,
  cluster: Cluster,
  execution: DRPlanExecution,
): TemporalTarget | undefined {
  const { env } = context.environment;
  const recorded = execution.status?.temporal?.namespace;
  if (context.options.temporal !== undefined) {
    return {
      address: context.options.temporal,
      namespace: recorded ?? env['TEMPORAL_NAMESPACE'] ?? DEFAULT_NAMESPACE,
      fromEnvironment: true,
    };
  }
  if (cluster.embedded !== undefined) {
    const { temporal, temporalNamespace } = cluster.embedded.endpoints;
    return { address: temporal, namespace: recorded ?? temporalNamespace, fromEnvironment: false };
  }
  const address = env['TEMPORAL_ADDRESS'];
  if (!address) return undefined;
  return {
    address,
    namespace: recorded ?? env['TEMPORAL_NAMESPACE'] ?? DEFAULT_NAMESPACE,
    fromEnvironment: true,
  };
}

/**
 * Connects to a run's Temporal.
 *
 * @throws CliError when it is not known or does not answer.
 */
export async function openTemporal(
  context: Pick<CommandContext, 'options' | 'environment' | 'terminal'>,
  cluster: Cluster,
  execution: DRPlanExecution,
): Promise<TemporalAccess> {
  const target = temporalTarget(context, cluster, execution);
  if (target === undefined) {
    throw new CliError(`it is not known where the Temporal of execution "${execution.metadata.name}" is`, {
      hints: ['pass --temporal HOST:PORT, or set TEMPORAL_ADDRESS (and TEMPORAL_NAMESPACE)'],
    });
  }
  // Loaded on demand: most commands need Kubernetes alone.
  const [{ Client, Connection }, { loadClientConnectConfig }, { createRuns }] = await Promise.all([
    import('@temporalio/client'),
    import('@temporalio/envconfig'),
    import('../../runs/runs.js'),
  ]);
  const dataConverter = await clientDataConverter(context, () => Promise.resolve(cluster.kube));
  const standard = target.fromEnvironment ? loadClientConnectConfig().connectionOptions : {};
  const connection = Connection.lazy({ ...standard, address: target.address });
  try {
    await connection.withDeadline(Date.now() + CONNECT_TIMEOUT_MS, () => connection.ensureConnected());
  } catch (error) {
    await connection.close();
    throw new CliError(
      `Temporal at ${target.address} does not answer: ${error instanceof Error ? error.message : String(error)}`,
      { hints: ['check the address, and that it runs ("drover status", "drover doctor")'], cause: error },
    );
  }
  const client = new Client({ connection, namespace: target.namespace, dataConverter });
  return { client, runs: createRuns(client), address: target.address, close: () => connection.close() };
}

/** The Temporal workflow id of a run; throws CliError when it has not started. */
export function workflowIdOf(execution: DRPlanExecution): string {
  const workflowId = execution.status?.temporal?.workflowId;
  if (workflowId !== undefined) return workflowId;
  throw new CliError(
    `execution "${execution.metadata.name}" has no run in Temporal (phase ${execution.status?.phase ?? 'Pending'})`,
    { hints: execution.status?.message === undefined ? [] : [execution.status.message] },
  );
}
