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
 *
 * @param recorded the namespace that a status names
 */
export function temporalTarget(
  context: Pick<CommandContext, 'options' | 'environment'>,
  cluster: Cluster,
  recorded: string | undefined,
): TemporalTarget | undefined {
  const { env } = context.environment;
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
export const openTemporal = (
  context: Pick<CommandContext, 'options' | 'environment' | 'terminal'>,
  cluster: Cluster,
  execution: DRPlanExecution,
): Promise<TemporalAccess> =>
  openTemporalOf(context, cluster, {
    recordedNamespace: execution.status?.temporal?.namespace,
    whose: `execution "${execution.metadata.name}"`,
  });

/**
 * Connects to a Temporal.
 *
 * @param of.recordedNamespace the namespace that a status names; absent: that of the configuration
 * @param of.whose for messages
 * @throws CliError when it is not known or does not answer.
 */
export async function openTemporalOf(
  context: Pick<CommandContext, 'options' | 'environment' | 'terminal'>,
  cluster: Cluster,
  of: { recordedNamespace: string | undefined; whose: string },
): Promise<TemporalAccess> {
  const target = temporalTarget(context, cluster, of.recordedNamespace);
  if (target === undefined) {
    throw new CliError(`it is not known where the Temporal of ${of.whose} is`, {
      hints: ['pass --temporal HOST:PORT, or set TEMPORAL_ADDRESS (and TEMPORAL_NAMESPACE)'],
    });
  }
  // Loaded on demand: most commands need Kubernetes alone.
  const [
    { Client, Connection },
    { readTemporalConfig },
    { explainUnreachable },
    { namespaceTrouble },
    { createRuns },
  ] = await Promise.all([
    import('@temporalio/client'),
    import('../../../runtime/temporal/config.js'),
    import('../../../runtime/temporal/unreachable.js'),
    import('../../../runtime/temporal/namespace.js'),
    import('../../runs/runs.js'),
  ]);
  const dataConverter = await clientDataConverter(context, () => Promise.resolve(cluster.kube));
  const { address, namespace } = target;
  const standard = target.fromEnvironment ? readTemporalConfig().connectionOptions : {};
  const connection = Connection.lazy({ ...standard, address, connectTimeout: CONNECT_TIMEOUT_MS });
  const within = <T>(work: () => Promise<T>): Promise<T> =>
    connection.withDeadline(Date.now() + CONNECT_TIMEOUT_MS, work);
  try {
    await within(() => connection.ensureConnected());
  } catch (error) {
    await connection.close();
    const why =
      (await explainUnreachable({ address, connectionOptions: standard }, CONNECT_TIMEOUT_MS)) ??
      (error instanceof Error ? error.message : String(error));
    throw new CliError(`Temporal at ${address} does not answer: ${why}`, {
      hints: ['check the address, and that it runs ("drover status", "drover doctor")'],
      cause: error,
    });
  }
  try {
    await within(() => connection.workflowService.describeNamespace({ namespace }));
  } catch (error) {
    const trouble = namespaceTrouble(error, { address, namespace });
    if (trouble !== undefined) {
      await connection.close();
      throw new CliError(trouble, { cause: error });
    }
  }
  const client = new Client({ connection, namespace, dataConverter });
  return { client, runs: createRuns(client), address, close: () => connection.close() };
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
