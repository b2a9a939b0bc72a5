import { Client } from '@temporalio/client';
import type { DataConverter } from '@temporalio/common';
import type { NativeConnection } from '@temporalio/worker';
import { SEARCH_ATTRIBUTES } from '../workflows/plan/contract.js';
import { readTemporalIdentity } from '../client/runs/temporal-identity.js';
import type { TemporalIdentity } from '../client/runs/temporal-identity.js';
import { isRefusedByTemporal } from '../runtime/refused-by-temporal.js';
import { connectToTemporal } from '../runtime/temporal/connect.js';
import { traceStarts } from '../runtime/tracing/temporal.js';
import type { Tracing } from '../runtime/tracing/tracing.js';
import { traceHeaders } from '../workflows/core/contract-trace.js';
import type { Log } from './core/log.js';
import { isElsewhere } from './core/temporal-identity.js';

/** A connected Temporal namespace. */
export interface TemporalLink {
  connection: NativeConnection;
  client: Client;
  dataConverter: DataConverter;
  namespace: string;
  /** Kept up to date by {@link TemporalLink.look}. */
  namespaceId: string;
  /** Absent where the server does not report it. */
  clusterId?: string;
  /** Whether every search attribute is registered. */
  searchAttributes: boolean;
  /**
   * Checks that the server answers, and takes over its ids when it is another one than before: a new server may have
   * been set up behind the same address.
   *
   * @throws Error when it does not answer or does not know the namespace
   */
  look(timeoutMs: number): Promise<void>;
  close(): Promise<void>;
}

const KEYWORD = 2;

/**
 * Connects by the standard `TEMPORAL_*` variables or profile, with one connection for client and worker.
 *
 * @throws Error in one sentence when the configuration is wrong, the server cannot be reached, or does not know the namespace
 */
export async function connectTemporal(options: {
  log: Log;
  dataConverter: DataConverter;
  tracing: Tracing;
}): Promise<TemporalLink> {
  const { log, dataConverter, tracing } = options;
  const { connection, namespace } = await connectToTemporal();
  const read = (): ReturnType<typeof readTemporalIdentity> =>
    readTemporalIdentity(connection.workflowService, namespace);
  const client = new Client({
    connection,
    namespace,
    dataConverter,
    ...(tracing.isOn && { interceptors: { workflow: [traceStarts(tracing, traceHeaders)] } }),
  });
  const link: TemporalLink = {
    connection,
    client,
    dataConverter,
    namespace,
    ...toIds(await read()),
    searchAttributes: await registerAttributes(connection, namespace, log),
    async look(timeoutMs) {
      const found = toIds(await client.withDeadline(Date.now() + timeoutMs, read));
      if (!isElsewhere(link, found)) return;
      log.warn(
        { before: toIds(link), now: found },
        'another Temporal answers at the same address; runs that were started in the one before are left as they are',
      );
      delete link.clusterId;
      Object.assign(link, found, {
        searchAttributes: await registerAttributes(connection, namespace, log),
      });
    },
    close: () => connection.close(),
  };
  return link;
}

const toIds = ({
  namespaceId = '',
  clusterId,
}: TemporalIdentity): { namespaceId: string; clusterId?: string } => ({
  namespaceId,
  ...(clusterId !== undefined && { clusterId }),
});

/** Registers missing search attributes. Where that fails, runs do without them: they are found by id all the same. */
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
    const refused = isRefusedByTemporal(error);
    log.warn(
      { err: error, attributes: SEARCH_ATTRIBUTES },
      refused
        ? 'may not register search attributes: runs go without them; an administrator can register them as Keyword'
        : 'could not register search attributes: runs go without them until the next start',
    );
    return false;
  }
}
