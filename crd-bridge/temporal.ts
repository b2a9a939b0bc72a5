import { Client, isGrpcServiceError } from '@temporalio/client';
import { NativeConnection } from '@temporalio/worker';
import { loadClientConnectConfig } from '@temporalio/envconfig';
import { SEARCH_ATTRIBUTES } from '../workflows/contract.js';
import type { Log } from './core/log.js';

/** A connected Temporal namespace. */
export interface TemporalLink {
  connection: NativeConnection;
  client: Client;
  namespace: string;
  namespaceId: string;
  /** Absent where the server does not tell. */
  clusterId?: string;
  /** Whether every search attribute is registered. */
  searchAttributes: boolean;
  close(): Promise<void>;
}

const KEYWORD = 2;
const PERMISSION_DENIED = 7;
const UNIMPLEMENTED = 12;
const UNAUTHENTICATED = 16;

/**
 * Connects by the standard `TEMPORAL_*` variables or profile, with one connection for client and worker.
 *
 * @throws Error when the server cannot be reached or does not know the namespace
 */
export async function connectTemporal(log: Log): Promise<TemporalLink> {
  const { connectionOptions, namespace = 'default' } = loadClientConnectConfig();
  const connection = await NativeConnection.connect(connectionOptions);
  const described = await connection.workflowService.describeNamespace({ namespace });
  const namespaceId = described.namespaceInfo?.id ?? '';
  const clusterId = await readClusterId(connection);
  const searchAttributes = await registerAttributes(connection, namespace, log);
  return {
    connection,
    client: new Client({ connection, namespace }),
    namespace,
    namespaceId,
    ...(clusterId !== undefined && { clusterId }),
    searchAttributes,
    close: () => connection.close(),
  };
}

/** A server may keep its id to itself; then the namespace's id has to do. */
async function readClusterId(connection: NativeConnection): Promise<string | undefined> {
  try {
    const { clusterId } = await connection.workflowService.getClusterInfo({});
    return clusterId === '' ? undefined : clusterId;
  } catch (error) {
    if (isRefused(error)) return undefined;
    throw error;
  }
}

const isRefused = (error: unknown): boolean =>
  isGrpcServiceError(error) && [PERMISSION_DENIED, UNIMPLEMENTED, UNAUTHENTICATED].includes(error.code);

/** Registers what is missing. Where that is refused, runs go without: they are found by id all the same. */
async function registerAttributes(
  connection: NativeConnection,
  namespace: string,
  log: Log,
): Promise<boolean> {
  try {
    const { customAttributes } = await connection.operatorService.listSearchAttributes({ namespace });
    const missing = SEARCH_ATTRIBUTES.filter((name) => customAttributes[name] === undefined);
    if (missing.length === 0) return true;
    await connection.operatorService.addSearchAttributes({
      namespace,
      searchAttributes: Object.fromEntries(missing.map((name) => [name, KEYWORD])),
    });
    log.info({ missing, namespace }, 'registered search attributes');
    return true;
  } catch (error) {
    const refused = isRefused(error);
    log.warn(
      { err: error, attributes: SEARCH_ATTRIBUTES },
      refused
        ? 'may not register search attributes: runs go without them; an administrator can register them as Keyword'
        : 'could not register search attributes: runs go without them until the next start',
    );
    return false;
  }
}
