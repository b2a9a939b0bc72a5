import { isGrpcServiceError } from '@temporalio/client';
import { NativeConnection } from '@temporalio/worker';
import { readTemporalConfig } from './config.js';
import type { TemporalConfig } from './config.js';
import { namespaceTrouble } from './namespace.js';
import { explainUnreachable } from './unreachable.js';

/**
 * Connects as the standard TEMPORAL_* variables or profile say, with one connection for client and worker, and sees that
 * the namespace is there.
 *
 * @throws Error in one sentence: what is wrong, and what to do
 */
export async function connectToTemporal(): Promise<TemporalConfig & { connection: NativeConnection }> {
  const config = readTemporalConfig();
  const { address, connectionOptions, namespace } = config;
  let connection: NativeConnection;
  try {
    connection = await NativeConnection.connect(connectionOptions);
  } catch (error) {
    const why = (await explainUnreachable(config)) ?? messageOf(error);
    throw new Error(`Temporal at ${address} cannot be reached: ${why}`, { cause: error });
  }
  try {
    await connection.workflowService.describeNamespace({ namespace });
  } catch (error) {
    const why = namespaceTrouble(error, { address, namespace });
    if (why === undefined) return { ...config, connection };
    await connection.close();
    throw new Error(why, { cause: error });
  }
  return { ...config, connection };
}

function messageOf(error: unknown): string {
  if (isGrpcServiceError(error)) return error.details;
  return error instanceof Error ? error.message : String(error);
}
